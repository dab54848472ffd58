//! Why a run ended: a closed set.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// Why a run ended. Every run has exactly one, as the last event of its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Termination {
    /// Which of the few ways it was.
    pub kind: TerminationKind,
    /// For `done` the answer, else what led to the end.
    reason: Text,
    /// A stable name of what led to the end, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Arc<str>>,
}

/// The code of a `done` that the model did not call: its answer was taken from what it said.
pub const FROM_TEXT: &str = "FROM_TEXT";

/// The ways in which a run ends; exit codes and summaries go by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminationKind {
    /// The model gave its answer.
    Done,
    /// The model said that the goal cannot be reached.
    Blocked,
    /// The turns were used up without an answer.
    TurnsExhausted,
    /// The same happened again and again.
    NoProgress,
    /// Somebody stopped it.
    Cancelled,
    /// It could not go on: a provider refused for good, the host failed, or something panicked.
    Fatal,
    /// Another request could have cost more tokens or money than are left.
    BudgetExhausted,
    /// Its time was over.
    TimedOut,
    /// A call went beyond what the run may do, and the run does not bear that.
    Denied,
}

impl Termination {
    /// Without a code.
    pub fn new(kind: TerminationKind, reason: impl Into<Text>) -> Self {
        Self {
            kind,
            reason: reason.into(),
            code: None,
        }
    }

    /// The same with a stable name for what led to the end.
    #[must_use]
    pub fn with_code(mut self, code: &str) -> Self {
        self.code = Some(code.into());
        self
    }

    /// A stable name of what led to the end, where it has one.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// For `done` the answer, else what led to the end, in words.
    pub fn reason(&self) -> &Text {
        &self.reason
    }

    pub(crate) fn reason_mut(&mut self) -> &mut Text {
        &mut self.reason
    }

    /// Whether the model gave its answer; that it is blocked is none.
    pub fn is_success(&self) -> bool {
        self.kind == TerminationKind::Done
    }
}

impl TerminationKind {
    /// What an answer ends a plain run as: the model says in it whether the goal cannot be reached.
    pub(crate) fn of_answer(answer: &str) -> Self {
        let answer = answer.trim_start().to_ascii_lowercase();
        match answer.starts_with("blocked:") {
            true => Self::Blocked,
            false => Self::Done,
        }
    }

    /// Every way there is; the order means nothing.
    pub const ALL: [Self; 9] = [
        Self::Done,
        Self::Blocked,
        Self::TurnsExhausted,
        Self::NoProgress,
        Self::Cancelled,
        Self::Fatal,
        Self::BudgetExhausted,
        Self::TimedOut,
        Self::Denied,
    ];

    /// Its stable name, as the log and the docs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::TurnsExhausted => "turns_exhausted",
            Self::NoProgress => "no_progress",
            Self::Cancelled => "cancelled",
            Self::Fatal => "fatal",
            Self::BudgetExhausted => "budget_exhausted",
            Self::TimedOut => "timed_out",
            Self::Denied => "denied",
        }
    }
}
