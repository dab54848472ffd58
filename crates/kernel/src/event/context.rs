//! What the context guard counted, and how it decided.

use serde::{Deserialize, Serialize};

use super::answer::Answer;

/// What the context guard counts before a request, in tokens: `expected` is their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CountersForm", into = "CountersForm")]
pub struct Counters {
    /// Committed by the last reply.
    pub current: u64,
    /// Said since, notices included.
    pub pending: u64,
    /// The tools that are offered.
    pub schema: u64,
    /// What the whole request is estimated at, before any count of its provider: beside the count that comes with the reply
    /// it tells how far estimates are off. Not known where a reply was kept whose thoughts may or may not be sent again.
    pub estimated: Option<u64>,
}

/// As it stands in the log.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CountersForm {
    Counted([u64; 3]),
    Estimated([u64; 4]),
}

impl Counters {
    /// What the request holds in all.
    pub fn expected(&self) -> u64 {
        self.current
            .saturating_add(self.pending)
            .saturating_add(self.schema)
    }
}

impl From<CountersForm> for Counters {
    fn from(form: CountersForm) -> Self {
        let ([current, pending, schema], estimated) = match form {
            CountersForm::Counted(counted) => (counted, None),
            CountersForm::Estimated([current, pending, schema, estimated]) => {
                ([current, pending, schema], Some(estimated))
            }
        };
        Self {
            current,
            pending,
            schema,
            estimated,
        }
    }
}

impl From<Counters> for CountersForm {
    fn from(counters: Counters) -> Self {
        let Counters {
            current,
            pending,
            schema,
            estimated,
        } = counters;
        match estimated {
            None => Self::Counted([current, pending, schema]),
            Some(estimated) => Self::Estimated([current, pending, schema, estimated]),
        }
    }
}

/// How the context guard decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextGuarded {
    /// What it looked at when it decided.
    pub at: GuardPoint,
    /// The targets whose windows would have been exceeded.
    pub blocked: Vec<Blocked>,
    /// Those that are still over with nothing but the report offered: the run goes on as well as it can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_over: Vec<Blocked>,
}

/// Old outputs were taken out of the conversation to make room. What they said is in the log still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextCompacted {
    /// The messages that hold them, counted from 0.
    pub messages: Vec<u32>,
    /// What the next request would have held, and what it holds now.
    pub before: u64,
    /// In tokens, as it is estimated.
    pub after: u64,
    /// What the window takes that was exceeded most; negative where the reply alone is larger than it.
    pub limit: i64,
}

/// The model summed up what was said; its summary stands in the place of the older messages. What they said is in the log
/// still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextSummarised {
    /// The reply to the request for a summary; its text is the summary.
    pub answer: Answer,
    /// The first message that stays as it is. The goal stays, too.
    pub until: u32,
}

/// Where the guard looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardPoint {
    /// Before a result is put into the conversation.
    ToolPreflight,
    /// Before a request is sent.
    TurnPreflight,
}

/// A target whose window does not take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Its place among the targets of the run, from 0.
    pub target: u32,
    /// What the request would hold there, in tokens.
    pub projected: u64,
    /// Negative where the reply alone is larger than the window.
    pub limit: i64,
}
