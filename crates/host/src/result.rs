//! What a run came to.

use bonded_kernel::{GoalId, Run, RunId, Spend, TerminationKind};
use bonded_state::Holder;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A living process drives it.
    Running,
    /// It has not ended and nobody drives it: it can be resumed.
    Interrupted,
    /// A call of it waits for a person, or one of an agent that it called.
    AwaitingReview,
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
    /// It went beyond what it may do, and was ended for that.
    Denied,
}

impl Status {
    pub fn of(ended: Option<TerminationKind>, holder: &Holder) -> Self {
        match ended {
            Some(TerminationKind::Done) => Self::Succeeded,
            Some(TerminationKind::TimedOut) => Self::TimedOut,
            Some(TerminationKind::Cancelled) => Self::Cancelled,
            Some(TerminationKind::Denied) => Self::Denied,
            Some(_) => Self::Failed,
            None if matches!(holder, Holder::Nobody) => Self::Interrupted,
            None => Self::Running,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::AwaitingReview => "awaiting_review",
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
    pub run: RunId,
    pub goal: GoalId,
    pub status: Status,
    pub termination: TerminationKind,
    /// For a run that succeeded its answer, else why it ended.
    pub reason: String,
    pub turns: u32,
    pub spend: Spend,
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
            turns: run.turn(),
            spend: run.spend(),
            elapsed_ms: run.elapsed_ms(),
            last_text,
            last_failure: run.last_failure().map(str::to_owned),
        })
    }

    pub fn is_success(&self) -> bool {
        self.status == Status::Succeeded
    }
}
