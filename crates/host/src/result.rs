//! What a run came to.
//!
//! A result is read from the run and adds nothing. Surfaces show it in their own words, and the words
//! of a status are stable.

use bonded_kernel::{GoalId, Run, RunId, Spend, TerminationKind};
use bonded_state::Holder;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It waits for a worker to take it.
    Queued,
    /// A living process drives it.
    Running,
    /// It has not ended and nobody drives it: it can be resumed.
    Interrupted,
    /// A call of it waits for a person, or one of an agent that it called.
    AwaitingReview,
    /// It waits for whoever asked for it to execute calls.
    AwaitingClient,
    /// It ended with an answer.
    Succeeded,
    /// It ended in any other way that has no status of its own.
    Failed,
    /// Its time was over.
    TimedOut,
    /// Somebody ended it.
    Cancelled,
    /// It went beyond what it may do, and was ended for that.
    Denied,
}

impl Status {
    /// Whether it waits for a person cannot be known from these two; who needs it asks the log.
    pub fn of(ended: Option<TerminationKind>, holder: &Holder) -> Self {
        match ended {
            Some(TerminationKind::Done) => Self::Succeeded,
            Some(TerminationKind::TimedOut) => Self::TimedOut,
            Some(TerminationKind::Cancelled) => Self::Cancelled,
            Some(TerminationKind::Denied) => Self::Denied,
            Some(_) => Self::Failed,
            None => match holder {
                Holder::Nobody => Self::Interrupted,
                Holder::Queue => Self::Queued,
                Holder::This | Holder::Other => Self::Running,
            },
        }
    }

    /// Part of the surface; these words stay.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::AwaitingReview => "awaiting_review",
            Self::AwaitingClient => "awaiting_client",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
        }
    }
}

/// The result of a run that has ended.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The id of the run.
    pub run: RunId,
    /// The id of its goal, which runs of the same goal have in common.
    pub goal: GoalId,
    /// In the few words that people know.
    pub status: Status,
    /// How it ended, exactly.
    pub termination: TerminationKind,
    /// For a run that succeeded its answer, else why it ended.
    pub reason: String,
    /// How many goals it was given.
    pub goals: u32,
    /// The turns that it has begun, over all its goals, as what follows is.
    pub turns: u32,
    /// With that of the agents that it called.
    pub spend: Spend,
    /// Milliseconds in the time of its log.
    pub elapsed_ms: u64,
    /// What the model said last, where it ended without an answer; see [`Run::last_text`].
    pub last_text: Option<String>,
    /// What a provider failed with last, where it has not answered since.
    pub last_failure: Option<String>,
}

impl RunResult {
    /// `None` while the run goes on.
    pub fn of(run: &Run) -> Option<Self> {
        let termination = run.termination()?;
        let last_text = match termination.kind {
            TerminationKind::Done | TerminationKind::Blocked => None,
            TerminationKind::Fatal
            | TerminationKind::TurnsExhausted
            | TerminationKind::TimedOut
            | TerminationKind::BudgetExhausted
            | TerminationKind::NoProgress
            | TerminationKind::Denied
            | TerminationKind::Cancelled => run.last_text().map(str::to_owned),
        };
        Some(Self {
            run: run.id().clone(),
            goal: run.goal_id().clone(),
            status: Status::of(Some(termination.kind), &Holder::Nobody),
            termination: termination.kind,
            reason: termination.reason().to_string(),
            goals: run.goals(),
            turns: run.turn(),
            spend: run.spend(),
            elapsed_ms: run.elapsed_ms(),
            last_text,
            last_failure: run.last_failure().map(str::to_owned),
        })
    }

    /// Whether it ended with an answer.
    pub fn is_success(&self) -> bool {
        self.status == Status::Succeeded
    }

    /// The report as a text, with line breaks where it is JSON, else the reason that the model gave.
    pub fn answer(&self, run: &Run) -> String {
        let Some(report) = run.report() else {
            return self.reason.clone();
        };
        if let Some(value) = report.content_json.as_ref().or(report.messages.as_ref()) {
            return serde_json::to_string_pretty(value).unwrap_or_default();
        }
        report.content.map(|it| it.to_string()).unwrap_or_default()
    }
}
