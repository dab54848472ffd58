//! A request to a model: what it may use, and how it failed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::defaults::{is_free, is_instant};
use crate::model::{FailureClass, Overflow};
use crate::money::Money;
use crate::text::Text;
use crate::usage::Usage;

/// What a request may use at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenReserve", into = "WrittenReserve")]
pub struct Reserve {
    /// Tokens of the request: an upper bound, as nobody has counted them.
    pub input: u64,
    /// Tokens of the reply: the longest that is asked for.
    pub output: u64,
    /// What both cost at worst; 0 where the price is not known.
    pub cost: Money,
}

impl Reserve {
    /// As it is booked where the provider counts nothing.
    pub fn usage(&self) -> Usage {
        Usage {
            input: self.input,
            output: self.output,
            cached: 0,
            written: 0,
        }
    }
}

/// Two or three numbers: input, output, and the cost where there is one.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenReserve {
    Priced(u64, u64, Money),
    Free(u64, u64),
}

impl From<WrittenReserve> for Reserve {
    fn from(written: WrittenReserve) -> Self {
        let (input, output, cost) = match written {
            WrittenReserve::Priced(input, output, cost) => (input, output, cost),
            WrittenReserve::Free(input, output) => (input, output, Money::default()),
        };
        Self {
            input,
            output,
            cost,
        }
    }
}

impl From<Reserve> for WrittenReserve {
    fn from(reserve: Reserve) -> Self {
        if is_free(&reserve.cost) {
            Self::Free(reserve.input, reserve.output)
        } else {
            Self::Priced(reserve.input, reserve.output, reserve.cost)
        }
    }
}

/// A request that got no reply. What follows is decided by its class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptFailed {
    /// As the transport found it.
    pub class: FailureClass,
    /// The provider's words, or what went wrong on the way.
    pub message: Text,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// After which time the provider wants to be asked again, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The provider's own id of the request, for its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Arc<str>>,
    /// From the first byte sent to the failure; 0 where nobody waited for it.
    #[serde(default, skip_serializing_if = "is_instant")]
    pub latency_ms: u64,
    /// Whether the model may have worked: then all that was reserved is booked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub billable: bool,
    /// What the provider says of its window, where the request was too large for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Overflow>,
}

impl AttemptFailed {
    /// Whether the same request would be refused again: it is wrong, not allowed, or what it asks for is not there.
    pub(crate) fn is_final(&self) -> bool {
        let may_pass = [408, 409, 425, 429];
        let is_refusal = |status: u16| (400..500).contains(&status) && !may_pass.contains(&status);
        match self.class {
            FailureClass::Auth | FailureClass::Quota => true,
            FailureClass::Model => self.status.is_some_and(is_refusal),
            FailureClass::RateLimit
            | FailureClass::Network
            | FailureClass::Timeout
            | FailureClass::Malformed
            | FailureClass::Overflow
            | FailureClass::Interrupted => false,
        }
    }
}
