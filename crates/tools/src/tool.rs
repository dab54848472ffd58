//! What every tool is.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bonded_kernel::{Invocation, Outcome, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::{self, ToolFault};
use crate::queue::Queue;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool. It keeps nothing between calls and does nothing beyond the effect that its spec declares.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// The queue that the tool's calls wait in before their time begins; without one, they do not wait.
    fn queue(&self) -> Option<&Queue> {
        None
    }

    /// Why the tool must not be called in a run that began with this spec, if it has become another tool
    /// since. What is built in never has.
    fn change_since(&self, _pinned: &ToolSpec) -> Option<ToolFault> {
        None
    }

    /// What holds for the processes that a call starts, where it starts any.
    fn sandbox(&self) -> Option<&Arc<str>> {
        None
    }

    /// Whether all that a call changes lies in the run's working directory.
    fn stays_in_place(&self) -> bool {
        false
    }

    /// Runs a checked call. Ok: its output. Err: a fault that the model is shown as
    /// `(tool failed: <reason>)`. Dropping the future stops the work.
    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>>;
}

/// What a tool puts out.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolValue {
    /// The model is shown it as JSON.
    Json(Value),
    /// The same of work that came to nothing, and says so itself.
    Failed(Value),
    /// The model is shown it as it is.
    Text(String),
    /// What is kept of it, and what the model is shown where that is too much and it can read on in it.
    Shortened { whole: Box<Self>, short: Value },
}

impl ToolValue {
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Json(_) | Self::Text(_) => Outcome::Ok,
            Self::Failed(_) => Outcome::Failed,
            Self::Shortened { whole, .. } => whole.outcome(),
        }
    }

    pub(crate) fn short(&self) -> Option<String> {
        match self {
            Self::Shortened { short, .. } => Some(short.to_string()),
            _ => None,
        }
    }
}

impl From<Value> for ToolValue {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

impl fmt::Display for ToolValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(value) | Self::Failed(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Shortened { whole, .. } => whole.fmt(f),
        }
    }
}

/// Takes arguments that the schema has let through. JSON Schema counts `1.0` as an integer and serde
/// does not, so this can still fail.
pub(crate) fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolFault> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolFault::new(fault::BAD_ARGUMENTS, error.to_string()))
}
