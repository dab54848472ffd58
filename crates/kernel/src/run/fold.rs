//! How each event changes a run: `apply`, and one function for each thing that can have happened.

use std::sync::Arc;

use super::held::{NOT_KEPT, UNTRUSTED};
use super::{Phase, Review, Run, UnderWay};
use crate::context::DROPPED;
use crate::entry::Entry;
use crate::event::{
    Answer, AttemptFailed, Call, ContextGuarded, ContextSummarised, DecisionMade, Event,
    GuardPoint, Outcome, RejectReason, SkipReason, ToolFinished,
};
use crate::lesson::Lesson;
use crate::model::FailureClass;
use crate::money::{Money, Price};
use crate::own_tools::OwnTool;
use crate::prompt;
use crate::retry::Bearing;
use crate::tool::FINAL_REPORT;
use crate::usage::Usage;

/// What the model is shown for a progress report.
const PROGRESS_TAKEN: &str = r#"{"ok":true}"#;

/// What stands in the conversation for a call before the report that ended the run.
const BESIDE_THE_REPORT: &str =
    "(tool failed: not executed: the report of the same reply ended the run)";

/// Takes one more entry into the run. Total: an event that does not fit changes nothing but the head.
pub fn apply(run: &mut Run, entry: &Entry) {
    run.head = entry.head();
    run.turn = entry.turn;
    match &entry.event {
        Event::RunResumed {} => run.taken_up(entry.at),
        Event::CallReviewed(_) => run.watch.resume(entry.at),
        Event::RunStarted(_)
        | Event::AttemptStarted { .. }
        | Event::AttemptFailed(_)
        | Event::TargetLearned { .. }
        | Event::ReplyRejected { .. }
        | Event::DecisionMade(_)
        | Event::CallRepaired { .. }
        | Event::ContextGuarded(_)
        | Event::ContextCompacted(_)
        | Event::ContextSummarised(_)
        | Event::TurnFailed { .. }
        | Event::ToolInvoked { .. }
        | Event::ToolFinished(_)
        | Event::ProgressReported { .. }
        | Event::ReviewAsked { .. }
        | Event::CallSkipped { .. }
        | Event::MemoryEdited(_)
        | Event::RunEnded(_) => run.watch.observe(entry.at),
    }
    match &entry.event {
        Event::RunStarted(_) | Event::RunResumed {} | Event::CallRepaired { .. } => {}
        Event::CallSkipped { reason, .. } => match reason {
            SkipReason::ContextBudget => run.pass_with(&DROPPED.into(), Outcome::Failed),
            SkipReason::Untrusted => run.denied(UNTRUSTED.into()),
            SkipReason::SecretNotKept => run.denied(NOT_KEPT.into()),
            SkipReason::BesideTheReport => {
                run.pass_with(&BESIDE_THE_REPORT.into(), Outcome::Failed);
            }
            SkipReason::AfterTheEnd => {}
        },
        Event::ReviewAsked { why, .. } => run.review_asked(why),
        Event::CallReviewed(reviewed) => run.reviewed(&reviewed.verdict),
        Event::ToolInvoked { call, .. } => {
            let is_first = !run.has_calls_under_way();
            if let Phase::Acting { under_way, .. } = &mut run.phase {
                *under_way = UnderWay {
                    until: *call as usize + 1,
                    taken_up: under_way.taken_up && !is_first,
                };
            }
        }
        Event::AttemptStarted {
            attempt,
            target,
            reserved,
            context,
            summary,
            ..
        } => {
            run.attempts.started(*attempt, *target);
            run.summary_asked(*summary);
            let estimated = context.and_then(|it| it.estimated);
            run.asked = estimated.map(|estimated| (*target, estimated));
            run.phase = Phase::Asking {
                attempt: *attempt,
                target: *target,
                reserved: *reserved,
            };
        }
        Event::AttemptFailed(failed) => run.failed(failed, entry),
        Event::TargetLearned { target, lesson } => run.learned(*target, lesson),
        Event::ReplyRejected {
            reason,
            answer,
            calls,
        } => run.rejected(*reason, answer, calls),
        Event::DecisionMade(decision) => {
            run.ledger.answered(true);
            run.decided(decision);
        }
        Event::ContextGuarded(guarded) => run.guarded(guarded),
        Event::ContextCompacted(compacted) => run.compacted(compacted),
        Event::ContextSummarised(made) => run.summary_heard(made),
        Event::TurnFailed { .. } => {
            run.progress.turn_failed();
            run.attempts.turn_over();
            run.exchange = None;
            run.phase = Phase::Between;
        }
        Event::ToolFinished(finished) => run.finished(finished),
        Event::ProgressReported { .. } => run.pass_with(&PROGRESS_TAKEN.into(), Outcome::Ok),
        Event::MemoryEdited(edit) => run.memory_edited(edit),
        Event::RunEnded(ended) => {
            run.standing.ended(entry.at);
            run.delivered = ended.report.clone();
            run.say_fallback();
            run.phase = Phase::Ended(Arc::new(ended.termination.clone()));
        }
    }
}

impl Run {
    fn decided(&mut self, decision: &DecisionMade) {
        let answer = &decision.answer;
        self.hear(answer, &decision.calls);
        self.summary_over();
        self.take_back();
        let stays = self.stays_in_last_turn();
        match stays {
            true => self.attempts.answered(),
            false => self.attempts.succeeded(),
        }
        self.compare_counts(answer);
        self.notices.clear();
        if stays {
            self.begin_exchange();
        }
        let edition = self.config().edition;
        let may_be_the_answer = self.standing.decided(decision, edition);
        self.unkept.clear();
        match self.converses() {
            true => self.say(decision),
            false => self.useless = 0,
        }
        self.settle(answer, &decision.calls);
        if let Some(usage) = &answer.usage {
            self.context.counted(usage);
            self.outputs_counted();
        }
        self.count_reports(&decision.calls);
        let own = self.config().own_tools;
        let acts = |call: &Call| own.of(&call.tool).is_none_or(OwnTool::acts);
        // The attempts of the last turn are its limit.
        if !may_be_the_answer && !stays {
            self.progress.decided(&decision.calls, acts);
        }
        self.phase = Phase::Acting {
            calls: decision.calls.clone().into(),
            at: 0,
            under_way: UnderWay::default(),
        };
        self.pass_refused();
    }

    /// Beside what the provider counted for a request, estimates show how far they are off.
    fn compare_counts(&mut self, answer: &Answer) {
        if let (Some((target, estimated)), Some(usage)) = (self.asked.take(), &answer.usage) {
            self.gauge.counted(target, estimated, usage.input);
        }
    }

    /// A report that cannot even be read leaves one more turn.
    fn count_reports(&mut self, calls: &[Call]) {
        if self.standing.count_reports(calls) {
            self.collapse();
        }
    }

    fn collapse(&mut self) {
        self.last_turn = self.last_turn.min(self.turn.saturating_add(1));
    }

    /// Books what a request used: what the provider said, else what was reserved.
    fn settle(&mut self, answer: &Answer, calls: &[Call]) {
        self.standing.stopped(answer, calls);
        self.settle_as(answer.usage, answer.cost);
    }

    fn settle_as(&mut self, reported: Option<Usage>, billed: Option<Money>) {
        if let Phase::Asking {
            target, reserved, ..
        } = self.phase
        {
            let price = self.target_price(target);
            let priced = reported.and_then(|usage| Some(price?.of(&usage)));
            let cost = match (billed, priced) {
                (Some(billed), Some(priced)) if self.doubts(target, billed) => {
                    Some(billed.max(priced))
                }
                _ => billed.or(priced),
            };
            self.ledger.settle(reserved, reported, cost);
            // A request for a summary holds less than the next one does.
            let is_whole = self.is_summing_up().is_none();
            if let Some(usage) = reported
                && (is_whole || !self.started.config.edition.counts_whole())
            {
                self.ledger.counted(target, usage);
            }
        }
    }

    /// Whether a provider's bill is not the last word: a person said what its requests cost, or it says nothing, as a
    /// server does that knows no prices.
    fn doubts(&self, target: u32, billed: Money) -> bool {
        let config = &self.started.config;
        let listed = config
            .targets
            .get(target as usize)
            .map(|it| &it.price_listed);
        let is_said = listed.is_some_and(Option::is_none);
        config.edition.doubts_bills() && (is_said || billed == Money::default())
    }

    /// The attempt that taught something is not the model's fault, and its target is asked again.
    fn learned(&mut self, index: u32, lesson: &Lesson) {
        if let Some(mut target) = self.target(index).cloned() {
            let was_guarded = self.is_guarded();
            lesson.teach(&mut target);
            self.lessons.add(index, lesson.clone(), target);
            if let Lesson::Window { tokens, sent } = lesson {
                self.window_learned(index, *tokens, *sent, was_guarded);
            } else {
                self.attempts.learned();
            }
        }
    }

    fn target_price(&self, target: u32) -> Option<Price> {
        let targets = &self.started.config.targets;
        targets.get(target as usize).and_then(|target| target.price)
    }

    /// Puts the reasons of refused calls before the model, up to the next call that can be invoked.
    fn pass_refused(&mut self) {
        let Phase::Acting {
            calls,
            at,
            under_way,
        } = &self.phase
        else {
            return;
        };
        let (calls, mut at, under_way) = (calls.clone(), *at, *under_way);
        while let Some(call) = calls.get(at) {
            let Some(refusal) = &call.refused else { break };
            self.standing.refused(self.turn, call);
            if self.shows(at, call) {
                self.refuse(call, format!("(tool failed: {})", refusal.message).into());
            }
            at += 1;
        }
        if at == calls.len() {
            self.phase = Phase::Between;
            return self.turn_over();
        }
        self.phase = Phase::Acting {
            calls,
            at,
            under_way,
        };
    }

    fn finished(&mut self, finished: &ToolFinished) {
        let Phase::Acting { calls, at, .. } = &self.phase else {
            return;
        };
        let (calls, at) = (calls.clone(), *at);
        if let Some(spent) = &finished.spent {
            self.ledger.spent_below(spent);
        }
        self.keep(finished);
        if let Some(call) = calls.get(at) {
            self.mark(finished);
            self.standing.finished(self.turn, &calls, at, finished);
            let own = self.config().own_tools.of(&call.tool);
            if own.is_none_or(OwnTool::acts) {
                self.progress
                    .finished(call, finished.outcome, &finished.output);
            }
            // A report that was accepted ends the run: nobody reads an answer to it.
            let is_report = &*call.tool == FINAL_REPORT;
            if is_report && finished.outcome != Outcome::Ok {
                self.standing.report_failed(self.turn);
                self.collapse();
            }
            if !(is_report && finished.outcome == Outcome::Ok && call.tag.is_some()) {
                let (output, tokens) = self.shown(call, finished);
                self.answer_call(call, &output, finished.outcome, finished.latency_ms, tokens);
            }
        }
        self.pass(calls, at);
    }

    pub(super) fn pass(&mut self, calls: Arc<[Call]>, at: usize) {
        self.review = Review::None;
        let under_way = match self.phase {
            Phase::Acting { under_way, .. } => under_way,
            Phase::Between | Phase::Retrying | Phase::Asking { .. } | Phase::Ended(_) => {
                UnderWay::default()
            }
        };
        self.phase = Phase::Acting {
            calls,
            at: at + 1,
            under_way,
        };
        self.pass_refused();
    }

    /// The model gave the summary that it was asked for; the turn that it was asked for in goes on.
    fn summary_heard(&mut self, made: &ContextSummarised) {
        self.settle(&made.answer, &[]);
        self.ledger.answered(true);
        self.attempts.recovered();
        self.summarised(made);
        self.phase = Phase::Retrying;
    }

    fn rejected(&mut self, reason: RejectReason, answer: &Answer, calls: &[Call]) {
        self.settle(answer, calls);
        if self.summary_lost(false) {
            self.ledger.answered(true);
            self.attempts.recovered();
            self.phase = Phase::Retrying;
            return;
        }
        // What a provider withheld is shown to nobody.
        if reason != RejectReason::Filtered {
            self.hear(answer, calls);
        }
        self.compare_counts(answer);
        self.ledger.answered(true);
        self.attempts.rejected();
        self.take_back();
        self.count_reports(calls);
        self.notices = vec![self.profile().rejection(reason, calls)];
        self.notice_again();
        let takes_prose = self.config().edition.takes_prose() && self.is_last(self.turn);
        self.standing.rejected(reason, answer, takes_prose);
        self.phase = Phase::Retrying;
    }

    fn failed(&mut self, failed: &AttemptFailed, entry: &Entry) {
        self.hear_failure(failed);
        if failed.billable {
            self.settle_as(None, None);
        }
        self.ledger
            .answered(failed.class != FailureClass::Interrupted);
        let conduct = self.profile().conduct();
        let bearing = Bearing {
            floor_ms: conduct.retry_after_ms_min,
            backs_off: self.config().edition.backs_off() && conduct.backs_off,
            chance: entry.hash.chance(),
        };
        let failures_before = self.attempts.failures();
        self.attempts.failed(failed, entry.at, bearing);
        let interrupted = failed.class == FailureClass::Interrupted;
        if self.summary_lost(interrupted) {
            if !interrupted {
                self.attempts.uncount();
            }
            self.phase = Phase::Retrying;
            return;
        }
        let pause_ms = self.profile().pause_ms(failures_before);
        if let Some(pause_ms) = pause_ms.filter(|_| !interrupted) {
            self.attempts.hold_until(entry.at.plus(pause_ms));
        }
        let varies = self.config().edition.varies_requests();
        if failed.class == FailureClass::Malformed && (varies || conduct.converses) {
            self.notices = vec![prompt::UNREADABLE.into()];
            self.notice_again();
        }
        self.phase = Phase::Retrying;
    }

    fn guarded(&mut self, guarded: &ContextGuarded) {
        self.over |= !guarded.still_over.is_empty();
        match guarded.at {
            GuardPoint::TurnPreflight => {
                self.force(self.turn);
                // The turn is open from here on, though its target may not be free yet.
                self.phase = Phase::Retrying;
            }
            GuardPoint::ToolPreflight => self.force(self.turn.saturating_add(1)),
        }
    }
}
