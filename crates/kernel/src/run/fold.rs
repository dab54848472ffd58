//! How each event changes a run: `apply`, and one function for each thing that can have happened.

use std::sync::Arc;

use super::phase::UnderWay;
use super::review::{NOT_KEPT, UNTRUSTED};
use super::{Review, Run, RunPhase};
use crate::context::DROPPED;
use crate::entry::Entry;
use crate::event::{
    Answer, AttemptFailed, Call, ContextCompacted, ContextGuarded, ContextSummarised, DecisionMade,
    Event, GuardPoint, Outcome, RejectReason, SkipReason, ToolFinished,
};
use crate::lesson::Lesson;
use crate::model::FailureClass;
use crate::money::Money;
use crate::own_tools::OwnTool;
use crate::prompt;
use crate::retry::Bearing;
use crate::tool::FINAL_REPORT;
use crate::tool_search::{named_in, spec_bytes};
use crate::usage::Usage;

/// What the model is shown for a progress report.
const PROGRESS_TAKEN: &str = r#"{"ok":true}"#;

/// What stands in the conversation for a call before the report that ended the run.
const BESIDE_THE_REPORT: &str =
    "(tool failed: not executed: the report of the same reply ended the run)";

/// Takes one more entry into the run. Total: an event that does not fit changes nothing but the head.
///
/// ```
/// # use bonded_kernel::{Catalog, Millis, RunConfig, RunId, RunStarted, Target, start};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = RunConfig::new("/tmp", vec![Target::new("local", "http://localhost:8080", "small")]);
/// # let catalog = Catalog::of_run([], &config)?;
/// # let started = RunStarted::new("What is 6 times 7?".into(), "".into(), config, catalog);
/// use bonded_kernel::{apply, replay};
///
/// let (run, step) = start(RunId::new("run-1")?, Millis(0), started);
/// let (first, rest) = step.entries().split_at(1);
/// let mut again = replay(first)?;
/// rest.iter().for_each(|entry| apply(&mut again, entry));
/// assert_eq!(again.head(), run.head());
/// # Ok(())
/// # }
/// ```
pub fn apply(run: &mut Run, entry: &Entry) {
    run.head = entry.head();
    run.turn = entry.turn;
    let resumes = matches!(
        entry.event,
        Event::RunResumed {} | Event::CallReviewed(_) | Event::GoalGiven(_)
    );
    if !resumes {
        run.tally.watch.observe(entry.at);
    }
    match &entry.event {
        Event::RunStarted(_) | Event::CallRepaired { .. } => {}
        Event::RunResumed {} => run.taken_up(entry.at),
        Event::CallSkipped { reason, .. } => run.skipped(*reason),
        Event::ReviewAsked { why, .. } => run.review_asked(why),
        Event::CallReviewed(reviewed) => {
            run.tally.watch.resume(entry.at);
            run.reviewed(&reviewed.verdict);
        }
        Event::ToolInvoked { call, .. } => run.phase.invoked(*call),
        Event::AttemptStarted {
            attempt,
            target,
            reserved,
            context,
            summary,
            ..
        } => {
            run.targets.attempts.started(*attempt, *target);
            run.dialogue.summaries.asked(*summary);
            let estimated = context.and_then(|it| it.estimated);
            run.meter.sent(*target, estimated);
            run.phase = RunPhase::Asking {
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
            run.tally.ledger.answered(true);
            run.decided(decision);
        }
        Event::ContextGuarded(guarded) => run.guarded(guarded),
        Event::ContextCompacted(compacted) => run.compacted(compacted),
        Event::ContextSummarised(made) => run.summary_heard(made),
        Event::TurnFailed { .. } => run.turn_failed(),
        Event::ToolFinished(finished) => run.finished(finished),
        Event::ProgressReported { .. } => run.pass_with(&PROGRESS_TAKEN.into(), Outcome::Ok),
        Event::MemoryEdited(edit) => run.memory_edited(edit),
        Event::PersonSpoke { text } => run.person_spoke(text),
        Event::GoalGiven(given) => run.goal_given(given, entry.at),
        Event::RunEnded(ended) => {
            run.standing.ended(entry.at);
            run.tally.watch.end(ended.elapsed_ms);
            run.delivery.report = ended.report.clone();
            run.say_fallback();
            run.phase = RunPhase::Ended(Arc::new(ended.termination.clone()));
        }
    }
}

impl Run {
    fn skipped(&mut self, reason: SkipReason) {
        match reason {
            SkipReason::ContextBudget => self.pass_with(&DROPPED.into(), Outcome::Failed),
            SkipReason::Untrusted => self.denied(UNTRUSTED.into()),
            SkipReason::SecretNotKept => self.denied(NOT_KEPT.into()),
            SkipReason::BesideTheReport => {
                self.pass_with(&BESIDE_THE_REPORT.into(), Outcome::Failed);
            }
            SkipReason::AfterTheEnd => {}
        }
    }

    fn decided(&mut self, decision: &DecisionMade) {
        let answer = &decision.answer;
        self.hear(answer, &decision.calls);
        self.dialogue.summaries.over();
        self.take_back();
        let stays = self.stays_in_last_turn();
        match stays {
            true => self.targets.attempts.answered(),
            false => self.targets.attempts.succeeded(),
        }
        self.meter.compare(answer);
        self.dialogue.notices.clear();
        if stays {
            self.dialogue.begin_exchange();
        }
        let edition = self.config().edition;
        let may_be_the_answer = self.standing.decided(decision, edition);
        self.scratch.unkept.clear();
        match self.converses() {
            true => self.say(decision),
            false => self.dialogue.was_useful(),
        }
        self.settle(answer, &decision.calls);
        if let Some(usage) = &answer.usage {
            self.meter.context.counted(usage);
            self.outputs.counted();
        }
        self.count_reports(&decision.calls);
        self.find_called(&decision.calls);
        let own = self.config().own_tools;
        let acts = |call: &Call| own.of(&call.tool).is_none_or(OwnTool::acts);
        // The attempts of the last turn are its limit.
        if !may_be_the_answer && !stays {
            self.tally.progress.decided(&decision.calls, acts);
        }
        self.phase = RunPhase::Acting {
            calls: decision.calls.clone().into(),
            at: 0,
            under_way: UnderWay::default(),
        };
        self.pass_refused();
    }

    /// A tool that is called is sent from then on: a model that calls it otherwise than it wants to be sees how.
    fn find_called(&mut self, calls: &[Call]) {
        if self.config().own_tools.search {
            self.find(calls.iter().map(|call| &*call.tool));
        }
    }

    fn find<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        for spec in self.found.add(&self.setup.catalog, names) {
            self.meter.found(spec);
            self.tally.ledger.found(spec_bytes(spec));
        }
    }

    /// A report that cannot even be read leaves one more turn.
    fn count_reports(&mut self, calls: &[Call]) {
        if self.standing.count_reports(calls) {
            self.collapse();
        }
    }

    fn collapse(&mut self) {
        self.last_turn.no_later_than(self.turn.saturating_add(1));
    }

    /// A provider answered. What it withheld is not given here.
    fn hear(&mut self, answer: &Answer, calls: &[Call]) {
        let converses = self.converses();
        self.delivery.hear(answer, calls.is_empty(), converses);
    }

    /// Books what a request used: what the provider said, else what was reserved.
    fn settle(&mut self, answer: &Answer, calls: &[Call]) {
        self.standing.stopped(answer, calls);
        self.settle_as(answer.usage, answer.cost);
    }

    fn settle_as(&mut self, reported: Option<Usage>, billed: Option<Money>) {
        if let RunPhase::Asking {
            target, reserved, ..
        } = self.phase
        {
            let price = self.setup.price(target);
            let priced = reported.and_then(|usage| Some(price?.of(&usage)));
            let cost = match (billed, priced) {
                (Some(billed), Some(priced)) if self.setup.doubts(target, billed) => {
                    Some(billed.max(priced))
                }
                _ => billed.or(priced),
            };
            self.tally.ledger.settle(reserved, reported, cost);
            // A request for a summary holds less than the next one does.
            let is_whole = self.is_summing_up().is_none();
            if let Some(usage) = reported
                && (is_whole || !self.config().edition.counts_whole())
            {
                self.tally.ledger.counted(target, usage);
            }
        }
    }

    /// The attempt that taught something is not the model's fault, and its target is asked again.
    fn learned(&mut self, index: u32, lesson: &Lesson) {
        let was_guarded = self.is_guarded();
        if !self
            .targets
            .teach(&self.setup.started.config, index, lesson)
        {
            return;
        }
        if let Lesson::Window { tokens, sent } = lesson {
            self.window_learned(index, *tokens, *sent, was_guarded);
        } else {
            self.targets.attempts.learned();
        }
    }

    /// What the run has said is counted from now on, and held against the window that it learned.
    fn window_learned(&mut self, target: u32, tokens: u64, sent: Option<u64>, was_guarded: bool) {
        if !was_guarded {
            let messages = self.dialogue.conversation.messages();
            let (started, catalog) = (&self.setup.started, &self.setup.catalog);
            let found = &self.found;
            self.meter.count_anew(started, catalog, found, messages);
        }
        let offer = self.brief(self.turn).offer;
        self.meter.refused(target, offer, tokens, sent);
        self.outputs.counted();
        self.targets.attempts.learned_window();
    }

    /// Puts the reasons of refused calls before the model, up to the next call that can be invoked.
    fn pass_refused(&mut self) {
        let Some((calls, mut at)) = self.calls_up() else {
            return;
        };
        let under_way = self.phase.under_way();
        while let Some(call) = calls.get(at) {
            let Some(refusal) = &call.refused else { break };
            self.standing.refused(self.turn, call);
            if self.shows(at, call) {
                self.refuse(call, format!("(tool failed: {})", refusal.message).into());
            }
            at += 1;
        }
        if at == calls.len() {
            self.phase = RunPhase::Between;
            return self.turn_over();
        }
        self.phase = RunPhase::Acting {
            calls,
            at,
            under_way,
        };
    }

    fn finished(&mut self, finished: &ToolFinished) {
        let Some((calls, at)) = self.calls_up() else {
            return;
        };
        if let Some(spent) = &finished.spent {
            self.tally.ledger.spent_below(spent);
        }
        self.outputs.keep_cut(&self.setup, self.turn, finished);
        if let Some(call) = calls.get(at) {
            self.oversight.mark(&self.setup, finished);
            self.standing.finished(self.turn, &calls, at, finished);
            let own = self.setup.own_tool(&call.tool);
            if own == Some(OwnTool::Search) {
                self.find(named_in(&finished.output));
            }
            if own.is_none_or(OwnTool::acts) {
                self.tally
                    .progress
                    .finished(call, finished.outcome, &finished.output);
            }
            // A report that was accepted ends the run: nobody reads an answer to it.
            let is_report = &*call.tool == FINAL_REPORT;
            if is_report && finished.outcome != Outcome::Ok {
                self.standing.report_failed(self.turn);
                self.collapse();
            }
            if !(is_report && finished.outcome == Outcome::Ok && call.tag.is_some()) {
                let (output, tokens) = self.shown_with_note(call, finished);
                let shown = (&output, finished.images_shown());
                self.answer_call(call, shown, finished.outcome, finished.latency_ms, tokens);
            }
        }
        self.pass(calls, at);
    }

    /// The calls that are acted upon, and the place of the one that is up.
    pub(super) fn calls_up(&self) -> Option<(Arc<[Call]>, usize)> {
        let (calls, at) = self.phase.calls()?;
        Some((calls.clone(), at))
    }

    pub(super) fn pass(&mut self, calls: Arc<[Call]>, at: usize) {
        self.oversight.review = Review::None;
        let under_way = self.phase.under_way();
        self.phase = RunPhase::Acting {
            calls,
            at: at + 1,
            under_way,
        };
        self.pass_refused();
    }

    fn turn_failed(&mut self) {
        self.tally.progress.turn_failed();
        self.targets.attempts.turn_over();
        self.dialogue.end_exchange();
        self.phase = RunPhase::Between;
        self.hear_person();
    }

    /// The model gave the summary that it was asked for; the turn that it was asked for in goes on.
    fn summary_heard(&mut self, made: &ContextSummarised) {
        self.settle(&made.answer, &[]);
        self.tally.ledger.answered(true);
        self.targets.attempts.recovered();
        self.summarised(made);
        self.phase = RunPhase::Retrying;
    }

    fn rejected(&mut self, reason: RejectReason, answer: &Answer, calls: &[Call]) {
        self.settle(answer, calls);
        if self.dialogue.summaries.lost(false) {
            self.tally.ledger.answered(true);
            self.targets.attempts.recovered();
            self.phase = RunPhase::Retrying;
            return;
        }
        // What a provider withheld is shown to nobody.
        if reason != RejectReason::Filtered {
            self.hear(answer, calls);
        }
        self.meter.compare(answer);
        self.tally.ledger.answered(true);
        self.targets.attempts.rejected();
        self.take_back();
        self.count_reports(calls);
        self.find_called(calls);
        self.dialogue.notices = vec![self.profile().rejection(reason, calls)];
        self.dialogue
            .was_useless(self.setup.config().edition.varies_requests());
        let takes_prose = self.config().edition.takes_prose() && self.is_last(self.turn);
        self.standing.rejected(reason, answer, takes_prose);
        self.phase = RunPhase::Retrying;
    }

    fn failed(&mut self, failed: &AttemptFailed, entry: &Entry) {
        self.delivery.hear_failure(failed);
        if failed.billable {
            self.settle_as(None, None);
        }
        self.tally
            .ledger
            .answered(failed.class != FailureClass::Interrupted);
        let conduct = self.profile().conduct();
        let bearing = Bearing {
            floor_ms: conduct.retry_after_ms_min,
            backs_off: self.config().edition.backs_off() && conduct.backs_off,
            chance: entry.hash.chance(),
        };
        let failures_before = self.targets.attempts.failures();
        self.targets.attempts.failed(failed, entry.at, bearing);
        let interrupted = failed.class == FailureClass::Interrupted;
        if self.dialogue.summaries.lost(interrupted) {
            if !interrupted {
                self.targets.attempts.uncount();
            }
            self.phase = RunPhase::Retrying;
            return;
        }
        let pause_ms = self.profile().pause_ms(failures_before);
        if let Some(pause_ms) = pause_ms.filter(|_| !interrupted) {
            self.targets.attempts.hold_until(entry.at.plus(pause_ms));
        }
        let varies = self.config().edition.varies_requests();
        if failed.class == FailureClass::Malformed && (varies || conduct.converses) {
            self.dialogue.notices = vec![prompt::UNREADABLE.into()];
            self.dialogue
                .was_useless(self.setup.config().edition.varies_requests());
        }
        self.phase = RunPhase::Retrying;
    }

    /// Older outputs made room in the conversation.
    fn compacted(&mut self, compacted: &ContextCompacted) {
        let out = self.outputs.take_out(&self.setup, &compacted.messages);
        for output in &out {
            self.meter.taken_out(output);
            self.tally.ledger.remove(output.saved_bytes());
        }
        let stubs = out.into_iter().map(|it| (it.message, it.stub));
        self.dialogue.conversation.replace(stubs);
    }

    fn guarded(&mut self, guarded: &ContextGuarded) {
        self.last_turn.guarded(guarded);
        match guarded.at {
            GuardPoint::TurnPreflight => {
                self.force(self.turn);
                // The turn is open from here on, though its target may not be free yet.
                self.phase = RunPhase::Retrying;
            }
            GuardPoint::ToolPreflight => self.force(self.turn.saturating_add(1)),
        }
    }
}
