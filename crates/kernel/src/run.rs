//! A run: the state that folds out of a log. `apply` is the only way in which it changes.

use std::sync::Arc;

use crate::budget::Ledger;
use crate::config::RunConfig;
use crate::event::{
    Call, DecisionMade, Entry, Event, Head, Outcome, RejectReason, Reserve, RunStarted,
};
use crate::id::{GoalId, RunId};
use crate::model::{FailureClass, Message, MessageCall};
use crate::money::Money;
use crate::progress::Progress;
use crate::prompt::{self, Conversation};
use crate::retry::Attempts;
use crate::termination::Termination;
use crate::text::Text;
use crate::time::Millis;
use crate::tool::Catalog;

/// The state of a run, derived from its log and never stored.
#[derive(Clone, Debug)]
pub struct Run {
    pub(crate) id: RunId,
    pub(crate) goal_id: GoalId,
    pub(crate) head: Head,
    pub(crate) turn: u32,
    pub(crate) started: Arc<RunStarted>,
    pub(crate) catalog: Catalog,
    pub(crate) phase: Phase,
    pub(crate) conversation: Conversation,
    pub(crate) notices: Vec<Arc<str>>,
    pub(crate) attempts: Attempts,
    pub(crate) ledger: Ledger,
    pub(crate) progress: Progress,
    pub(crate) watch: Stopwatch,
}

/// Where a run stands between two steps.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// A turn is over and the next has not begun. Seen only inside a step.
    Between,
    /// A turn is open and its next attempt has not begun: it waits for its target.
    Retrying,
    Asking {
        attempt: u32,
        target: u32,
        reserved: Reserve,
    },
    /// Call `at` is under way, or is the next one to be invoked.
    Acting {
        calls: Arc<[Call]>,
        at: usize,
        invoked: bool,
    },
    Ended(Arc<Termination>),
}

/// Time while a process drives the run.
#[derive(Clone, Debug)]
pub(crate) struct Stopwatch {
    pub(crate) last_at: Millis,
    segment_start: Millis,
    earlier_ms: u64,
}

impl Stopwatch {
    fn new(at: Millis) -> Self {
        Self {
            last_at: at,
            segment_start: at,
            earlier_ms: 0,
        }
    }

    fn observe(&mut self, at: Millis) {
        self.last_at = self.last_at.max(at);
    }

    /// What lies between the last entry and a resume is not counted.
    fn resume(&mut self, at: Millis) {
        self.earlier_ms += self.last_at - self.segment_start;
        self.segment_start = at.max(self.last_at);
        self.last_at = self.segment_start;
    }

    pub(crate) fn elapsed_ms(&self, now: Millis) -> u64 {
        self.earlier_ms
            .saturating_add(now.max(self.last_at) - self.segment_start)
    }

    pub(crate) fn instant_of(&self, elapsed_ms: u64) -> Millis {
        self.segment_start
            .plus(elapsed_ms.saturating_sub(self.earlier_ms))
    }
}

/// What a run has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    pub usage: crate::model::Usage,
    pub cost: Money,
    /// Requests that were answered or failed.
    pub requests: u32,
}

/// Why entries are not the log of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLog {
    #[error("the log is empty")]
    Empty,
    #[error("the log does not begin with run_started")]
    NoStart,
    #[error("entry {seq} comes after the end of the run")]
    AfterEnd { seq: u64 },
    #[error("entry {seq} does not follow entry {after}")]
    Gap { seq: u64, after: u64 },
}

impl Run {
    pub fn id(&self) -> &RunId {
        &self.id
    }

    pub fn goal_id(&self) -> &GoalId {
        &self.goal_id
    }

    pub fn goal(&self) -> &Text {
        &self.started.goal
    }

    pub fn config(&self) -> &RunConfig {
        &self.started.config
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub fn head(&self) -> Head {
        self.head
    }

    pub fn turn(&self) -> u32 {
        self.turn
    }

    pub fn messages(&self) -> &[Message] {
        self.conversation.messages()
    }

    pub fn spend(&self) -> Spend {
        self.ledger.spend()
    }

    pub fn elapsed_ms(&self) -> u64 {
        self.watch.elapsed_ms(self.watch.last_at)
    }

    /// When the run's time is over, if it is limited and the run has not ended.
    pub fn deadline(&self) -> Option<Millis> {
        match self.phase {
            Phase::Ended(_) => None,
            _ => self
                .config()
                .limits
                .elapsed_ms_max
                .map(|max| self.watch.instant_of(max)),
        }
    }

    pub fn termination(&self) -> Option<&Termination> {
        match &self.phase {
            Phase::Ended(termination) => Some(termination),
            _ => None,
        }
    }

    /// The last text that the model wrote, for a run that ended without an answer.
    pub fn last_text(&self) -> Option<&str> {
        self.messages()
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::Assistant { text, .. } if !text.is_empty() => Some(text.as_str()),
                _ => None,
            })
    }

    fn begin(entry: &Entry) -> Option<Self> {
        let Event::RunStarted(started) = &entry.event else {
            return None;
        };
        let catalog = started.catalog()?.clone();
        let mut conversation = Conversation::default();
        conversation.push(Message::User {
            text: started.goal.clone(),
        });
        let fixed_bytes = started.system.len() + catalog.text().len();
        Some(Self {
            id: entry.run.clone(),
            goal_id: entry.goal.clone(),
            head: entry.head(),
            turn: entry.turn,
            ledger: Ledger::new(fixed_bytes as u64, &conversation),
            attempts: Attempts::new(started.config.targets.len()),
            started: Arc::new(RunStarted::clone(started)),
            catalog,
            phase: Phase::Between,
            conversation,
            notices: vec![],
            progress: Progress::default(),
            watch: Stopwatch::new(entry.at),
        })
    }

    fn push(&mut self, message: Message) {
        self.ledger.said(&message);
        self.conversation.push(message);
    }

    fn decided(&mut self, decision: &DecisionMade) {
        let answer = &decision.answer;
        self.attempts.succeeded();
        self.notices.clear();
        let calls: Vec<MessageCall> = decision.calls.iter().map(message_call).collect();
        if calls.is_empty() {
            self.notices.push(prompt::NO_CALL.into());
        }
        self.push(Message::Assistant {
            text: answer.text.clone(),
            reasoning: answer.reasoning.clone(),
            calls,
        });
        self.settle(answer.usage);
        self.progress.decided(&decision.calls);
        self.phase = Phase::Acting {
            calls: decision.calls.clone().into(),
            at: 0,
            invoked: false,
        };
        self.pass_refused();
    }

    /// Books what a request used: what the provider said, else what was reserved.
    fn settle(&mut self, reported: Option<crate::model::Usage>) {
        if let Phase::Asking {
            target, reserved, ..
        } = self.phase
        {
            let price = self.target_price(target);
            self.ledger.settle(target, reserved, reported, price);
        }
    }

    fn target_price(&self, target: u32) -> Option<crate::money::Price> {
        let targets = &self.started.config.targets;
        targets.get(target as usize).and_then(|target| target.price)
    }

    /// Puts the reasons of refused calls before the model, up to the next call that can be invoked.
    fn pass_refused(&mut self) {
        let Phase::Acting { calls, at, .. } = &self.phase else {
            return;
        };
        let (calls, mut at) = (calls.clone(), *at);
        while let Some(call) = calls.get(at) {
            let Some(refusal) = &call.refused else { break };
            let text = format!("(tool failed: {})", refusal.message);
            self.push(Message::Tool {
                call_id: call.id.clone(),
                text: text.into(),
            });
            at += 1;
        }
        self.phase = if at == calls.len() {
            Phase::Between
        } else {
            Phase::Acting {
                calls,
                at,
                invoked: false,
            }
        };
    }

    fn finished(&mut self, outcome: Outcome, output: &Text) {
        let Phase::Acting { calls, at, .. } = &self.phase else {
            return;
        };
        let (calls, at) = (calls.clone(), *at);
        if let Some(call) = calls.get(at) {
            self.progress.finished(call, outcome, output);
            self.push(Message::Tool {
                call_id: call.id.clone(),
                text: output.clone(),
            });
        }
        self.phase = Phase::Acting {
            calls,
            at: at + 1,
            invoked: false,
        };
        self.pass_refused();
    }
}

/// Arguments that are no JSON object would make later requests unreadable for some providers.
fn message_call(call: &Call) -> MessageCall {
    let broken = call
        .refused
        .as_ref()
        .is_some_and(|refusal| refusal.code.arguments_unreadable());
    MessageCall {
        id: call.id.clone(),
        tool: call.tool.clone(),
        arguments: if broken || call.arguments.trim().is_empty() {
            "{}".into()
        } else {
            call.arguments.clone()
        },
    }
}

/// Rebuilds a run from its log.
pub fn replay(entries: &[Entry]) -> Result<Run, BadLog> {
    let (first, rest) = entries.split_first().ok_or(BadLog::Empty)?;
    if first.seq != 1 {
        return Err(BadLog::NoStart);
    }
    let mut run = Run::begin(first).ok_or(BadLog::NoStart)?;
    replay_on(&mut run, rest)?;
    Ok(run)
}

/// Goes on with a replay: takes the entries in that follow what the run has.
pub fn replay_on(run: &mut Run, entries: &[Entry]) -> Result<(), BadLog> {
    for entry in entries {
        if run.termination().is_some() {
            return Err(BadLog::AfterEnd { seq: entry.seq });
        }
        if entry.seq != run.head.seq + 1 || entry.prev != run.head.hash {
            return Err(BadLog::Gap {
                seq: entry.seq,
                after: run.head.seq,
            });
        }
        apply(run, entry);
    }
    Ok(())
}

/// Takes one more entry into the run. Total: an event that does not fit changes nothing but the head.
pub fn apply(run: &mut Run, entry: &Entry) {
    run.head = entry.head();
    run.turn = entry.turn;
    match &entry.event {
        Event::RunResumed {} => run.watch.resume(entry.at),
        _ => run.watch.observe(entry.at),
    }
    match &entry.event {
        Event::RunStarted(_) | Event::RunResumed {} | Event::CallSkipped { .. } => {}
        Event::ToolInvoked { .. } => {
            if let Phase::Acting { invoked, .. } = &mut run.phase {
                *invoked = true;
            }
        }
        Event::AttemptStarted {
            attempt,
            target,
            reserved,
            ..
        } => {
            run.attempts.started(*attempt, *target);
            if entry.turn == run.config().limits.turns_max
                && run.notices.iter().all(|n| &**n != prompt::LAST_TURN)
            {
                run.notices.push(prompt::LAST_TURN.into());
            }
            run.phase = Phase::Asking {
                attempt: *attempt,
                target: *target,
                reserved: *reserved,
            };
        }
        Event::AttemptFailed(failed) => {
            if failed.billable {
                run.settle(None);
            }
            run.ledger
                .answered(failed.class != FailureClass::Interrupted);
            run.attempts.failed(failed, entry.at);
            if failed.class == FailureClass::Malformed {
                run.notices = vec![prompt::UNREADABLE.into()];
            }
            run.phase = Phase::Retrying;
        }
        Event::ReplyRejected { reason, answer } => {
            run.settle(answer.usage);
            run.ledger.answered(true);
            run.attempts.rejected();
            run.notices = vec![
                match reason {
                    RejectReason::Empty => prompt::EMPTY_REPLY,
                    RejectReason::Filtered => prompt::FILTERED,
                }
                .into(),
            ];
            run.phase = Phase::Retrying;
        }
        Event::DecisionMade(decision) => {
            run.ledger.answered(true);
            run.decided(decision);
        }
        Event::TurnFailed { .. } => {
            run.progress.turn_failed();
            run.attempts.turn_over();
            run.phase = Phase::Between;
        }
        Event::ToolFinished(finished) => run.finished(finished.outcome, &finished.output),
        Event::RunEnded(ended) => {
            run.phase = Phase::Ended(Arc::new(ended.termination.clone()));
        }
    }
}
