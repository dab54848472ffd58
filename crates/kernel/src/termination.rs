//! Why a run ended: a closed set.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// Why a run ended. Every run has exactly one, as the last event of its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Termination {
    pub kind: TerminationKind,
    /// For `done` the answer, else what led to the end.
    reason: Text,
    /// A stable name of what led to the end, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Arc<str>>,
}

/// The code of a `done` that the model did not call: its answer was taken from what it said.
pub const FROM_TEXT: &str = "FROM_TEXT";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminationKind {
    Done,
    /// The model said that the goal cannot be reached.
    Blocked,
    TurnsExhausted,
    NoProgress,
    Cancelled,
    Fatal,
    BudgetExhausted,
    TimedOut,
    /// A call went beyond what the run may do, and the run does not bear that.
    Denied,
}

impl Termination {
    pub fn new(kind: TerminationKind, reason: impl Into<Text>) -> Self {
        Self {
            kind,
            reason: reason.into(),
            code: None,
        }
    }

    #[must_use]
    pub fn with_code(mut self, code: &str) -> Self {
        self.code = Some(code.into());
        self
    }

    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    pub fn reason(&self) -> &Text {
        &self.reason
    }

    pub(crate) fn reason_mut(&mut self) -> &mut Text {
        &mut self.reason
    }

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
