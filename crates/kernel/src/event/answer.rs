//! What a model answered, and why an answer was not taken.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::call::Call;
use super::defaults::is_instant;
use crate::hash::Hash;
use crate::model::Finish;
use crate::money::Money;
use crate::text::Text;
use crate::usage::Usage;

/// A reply that was decoded, with the calls in it as they were checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionMade {
    /// The reply besides its calls.
    pub answer: Answer,
    /// In the order in which they are executed; a batch comes after its members. Empty where the model only spoke.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
}

/// What is known of a reply besides its calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What the model said. Where calls are tags they stand in it.
    #[serde(default, skip_serializing_if = "text_is_empty")]
    pub text: Text,
    /// What it thought, as far as the provider shows that.
    #[serde(default, skip_serializing_if = "text_is_empty")]
    pub reasoning: Text,
    /// The hash of the text, where the run does not keep what the model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Hash>,
    /// Whether the reply held a secret, so that it is not kept as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    /// See [`Reply::signed`](crate::Reply::signed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Text>,
    /// Absent where the provider did not say; the reserve is booked then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What the provider says that the request cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Why the model stopped, where it is not the default: for its calls, or because it had said all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// The provider's own word for it, where it is not the common one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<Arc<str>>,
    /// The model that answered, where it is another than the one that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// Who answered behind a router.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Arc<str>>,
    /// The provider's own id of the request, for its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Arc<str>>,
    /// From the first byte sent to the last one read.
    #[serde(default, skip_serializing_if = "is_instant")]
    pub latency_ms: u64,
}

impl Answer {
    /// Why the model stopped, in the provider's own word where that is known. `calls` are those of the reply.
    pub fn stop_reason(&self, calls: &[Call]) -> Arc<str> {
        let has_native = calls.iter().any(Call::is_native);
        let finish = self
            .finish
            .unwrap_or_else(|| Finish::default_of(has_native));
        let own_word = self.stop_reason.clone();
        own_word.unwrap_or_else(|| finish.as_str().into())
    }
}

fn text_is_empty(text: &Text) -> bool {
    text.is_resolved() && text.is_empty()
}

/// Why no decision could be made from a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// Neither text, nor reasoning, nor a call.
    Empty,
    /// The provider withheld the reply.
    Filtered,
    /// Text without a call, from an agent that must call.
    NoCall,
    /// Calls, and none of them readable.
    Malformed,
    /// The report was cut by the output limit.
    CutOff,
}

impl RejectReason {
    /// Its stable name, as the log and the docs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Filtered => "filtered",
            Self::NoCall => "no_call",
            Self::Malformed => "malformed",
            Self::CutOff => "cut_off",
        }
    }
}
