//! Why a REST tool cannot be offered, in words that a person can act upon; and the codes of failed calls.

use crate::queue::QueueError;

/// The server answered with a status of 400 or more.
pub(super) const STATUS: &str = "http_status";
/// The server answered with a redirect that is not followed.
pub(super) const REDIRECT: &str = "http_redirect";
/// There was no connection, or it broke.
pub(super) const UNREACHABLE: &str = "http_unreachable";
/// The server's name leads to an address that the tool may not reach.
pub(super) const ADDRESS_REFUSED: &str = "address_refused";
/// The stream of an answer said nothing that could be used.
pub(super) const EMPTY_STREAM: &str = "http_empty_stream";

/// Why a REST tool or an OpenAPI document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestError {
    /// A mistake in the entry of the tool; `key` is where it stands below the entry.
    #[error("{why}")]
    Setting {
        /// Such as `headers.X-Team`.
        key: String,
        /// A whole sentence, without a secret.
        why: String,
    },
    /// No configuration sets it up.
    #[error("the tool is bound to a queue that does not exist: {source}")]
    Queue {
        /// Which, and what there is.
        source: QueueError,
    },
}

impl RestError {
    pub(super) fn at(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Setting {
            key: key.into(),
            why: why.into(),
        }
    }

    /// The key below the entry that must be changed.
    pub fn key(&self) -> &str {
        match self {
            Self::Setting { key, .. } => key,
            Self::Queue { .. } => "queue",
        }
    }
}
