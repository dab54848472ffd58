//! What is left of a world when it is over: the log, and what really happened.

// An event that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use bonded_kernel::{
    BATCH, Entry, Event, FIND_TOOLS, Head, Lesson, Outcome, RAM_ADD, Run, RunConfig, SkipReason,
    TOOL_OUTPUT, Verdict,
};
use bonded_state::Store as _;

use super::ledger::{Execution, Sent, Tally};
use super::process::Shared;
use super::refusal::Manner;

/// The evidence that the properties are checked against. Its fields are open, so that a test can forge it
/// and see that the forgery is noticed.
#[derive(Clone, Debug)]
pub struct History {
    pub seed: u64,
    pub config: RunConfig,
    /// The provider reported more than it can have used.
    pub provider_lies: bool,
    /// How the service of each target refuses.
    pub manners: Vec<Manner>,
    /// The log of the run as it lies in the store.
    pub entries: Vec<Entry>,
    /// The run as the last driver knew it.
    pub live: Option<Run>,
    pub executions: Vec<Execution>,
    pub requests: Vec<Sent>,
    /// Every head that the store has acknowledged.
    pub acknowledged: Vec<Head>,
    /// What was seen to be wrong while the world went on.
    pub complaints: Vec<String>,
    /// How far the clock was set ahead altogether.
    pub jumped_ms: u64,
    pub tally: Tally,
}

impl History {
    pub(crate) async fn of(shared: &Shared, live: Option<Run>) -> Self {
        let mut ledger = std::mem::take(&mut *shared.ledger());
        let entries = match shared.log.load(&shared.run, 0).await {
            Ok(entries) => entries,
            Err(error) => {
                ledger
                    .complaints
                    .push(format!("the log cannot be loaded: {error}"));
                vec![]
            }
        };
        let mut tally = ledger.tally;
        tally.worlds = 1;
        tally.entries = entries.len() as u64;
        tally.turns = entries.last().map_or(0, |entry| u64::from(entry.turn));
        tally.agents = u64::from(shared.plan.config.agent.is_some());
        let pairs = entries
            .windows(2)
            .filter_map(|pair| feat_of_two(&pair[0], &pair[1]));
        for feat in entries.iter().filter_map(feat).chain(pairs) {
            *tally.feats.entry(feat).or_default() += 1;
        }
        if let Some(termination) = live.as_ref().and_then(Run::termination) {
            tally.endings.insert(termination.kind.as_str(), 1);
        }
        Self {
            seed: shared.seed,
            config: shared.plan.config.clone(),
            provider_lies: shared.plan.provider_lies,
            manners: shared.plan.manners.clone(),
            entries,
            live,
            executions: ledger.executions,
            requests: ledger.sent,
            acknowledged: ledger.acknowledged,
            complaints: ledger.complaints,
            jumped_ms: shared.clock.jumped_forward_ms(),
            tally,
        }
    }
}

/// Names what happens only to agents, in loops, under policies or at services that refuse: a simulation that never sees it proves nothing about it.
fn feat(entry: &Entry) -> Option<&'static str> {
    match &entry.event {
        Event::CallRepaired { .. } => Some("repaired"),
        Event::TargetLearned { lesson, .. } => Some(match **lesson {
            Lesson::LeaveOut(_) => "left out",
            Lesson::LeaveOutCustom(_) => "left out of custom",
            Lesson::Efforts(_) => "other efforts",
            Lesson::Route(_) => "another route",
            Lesson::OutputLimit(_) => "another limit field",
            Lesson::Window { .. } => "another window",
            Lesson::Thinking(_)
            | Lesson::ThoughtReturn(_)
            | Lesson::SignedThoughts(_)
            | Lesson::SystemRole(_)
            | Lesson::Alternate
            | Lesson::NoUserAfterTool
            | Lesson::CallsNeedTools
            | Lesson::CallIds(_) => "another form",
        }),
        Event::ProgressReported { .. } => Some("progress"),
        Event::ToolFinished(finished) if *finished.tool == *BATCH => Some("batched"),
        Event::ToolFinished(finished) if *finished.tool == *FIND_TOOLS => Some("found"),
        Event::ToolFinished(finished) if *finished.tool == *RAM_ADD => Some("remembered"),
        Event::ToolFinished(finished) if finished.code.is_some() => Some("coded"),
        Event::DecisionMade(decision) if decision.answer.withheld.is_some() => Some("withheld"),
        Event::ToolFinished(finished)
            if *finished.tool == *TOOL_OUTPUT && finished.outcome == Outcome::Ok =>
        {
            Some("paged")
        }
        Event::ContextGuarded(guarded) if guarded.still_over.is_empty() => Some("guarded"),
        Event::ContextGuarded(_) => Some("still over"),
        Event::ToolFinished(finished) if finished.dropped.is_some() => Some("dropped"),
        Event::DecisionMade(decision) if decision.calls.iter().any(|call| call.tag.is_some()) => {
            Some("tagged")
        }
        Event::RunEnded(ended) if ended.report.is_some() => Some("reported"),
        Event::GoalGiven(_) => Some("another goal"),
        Event::PersonSpoke { .. } => Some("a person spoke"),
        Event::ContextSummarised(_) => Some("summed up"),
        Event::ContextCompacted(_) => Some("compacted"),
        Event::ReviewAsked { .. } => Some("asked"),
        Event::CallReviewed(reviewed) => Some(match reviewed.verdict {
            Verdict::Approved => "approved",
            Verdict::Denied { .. } => "denied",
        }),
        Event::CallSkipped {
            reason: SkipReason::Untrusted,
            ..
        } => Some("untrusted"),
        Event::RunStarted(_)
        | Event::RunResumed {}
        | Event::AttemptStarted { .. }
        | Event::AttemptFailed(_)
        | Event::ReplyRejected { .. }
        | Event::DecisionMade(_)
        | Event::TurnFailed { .. }
        | Event::ToolInvoked { .. }
        | Event::ToolFinished(_)
        | Event::CallSkipped { .. }
        | Event::MemoryEdited(_)
        | Event::RunEnded(_) => None,
    }
}

/// The shortest wait after a failure that a provider said nothing about.
const BACK_OFF_MS_MIN: u64 = 500;

/// Names what only two entries show together.
fn feat_of_two(first: &Entry, second: &Entry) -> Option<&'static str> {
    match (&first.event, &second.event) {
        (Event::ToolInvoked { .. }, Event::ToolInvoked { .. }) => Some("at the same time"),
        (Event::AttemptFailed(failed), Event::AttemptStarted { .. })
            if failed.retry_after_ms.is_none() && second.at - first.at >= BACK_OFF_MS_MIN =>
        {
            Some("backed off")
        }
        _ => None,
    }
}
