//! What every tool is.

use std::fmt;
use std::sync::Arc;

use bonded_kernel::{Image, Invocation, Outcome, ToolSpec};
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::{self, ToolFault};
use crate::queue::Queue;

/// A tool. It keeps nothing between calls and does nothing beyond the effect that its spec declares.
///
/// ```
/// use bonded_kernel::{Invocation, ToolEffect, ToolSpec};
/// use bonded_tools::{Tool, ToolFault, ToolValue};
/// use futures_util::future::BoxFuture;
/// use serde_json::{Value, json};
///
/// struct Shout(ToolSpec);
///
/// impl Shout {
///     fn new() -> Self {
///         Self(ToolSpec {
///             name: "shout".into(),
///             description: "Says a text in capitals.".into(),
///             schema: json!({
///                 "type": "object",
///                 "properties": { "text": { "type": "string" } },
///                 "required": ["text"],
///                 "additionalProperties": false
///             }),
///             effect: ToolEffect::Read,
///             sandbox: None,
///             resource: None,
///             deferred: false,
///         })
///     }
/// }
///
/// impl Tool for Shout {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///
///     fn call<'a>(
///         &'a self,
///         arguments: Value,
///         _call: &'a Invocation,
///     ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
///         // The schema has let the arguments through.
///         let text = arguments["text"].as_str().unwrap_or_default().to_uppercase();
///         Box::pin(async move { Ok(ToolValue::Text(text)) })
///     }
/// }
///
/// assert_eq!(Shout::new().spec().name, "shout");
/// ```
pub trait Tool: Send + Sync {
    /// What a run is offered of it. It stays the same while the tool exists, and its name is the one calls have.
    fn spec(&self) -> &ToolSpec;

    /// The queue that the tool's calls wait in before their time begins; without one, they do not wait.
    fn queue(&self) -> Option<&Queue> {
        None
    }

    /// Whether a run with many tools may leave it to a search to send this one. What is built in is always sent.
    fn may_be_deferred(&self) -> bool {
        false
    }

    /// Whether nothing but a server's word says what the tool does.
    fn is_vouched_by_server(&self) -> bool {
        false
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
    Shortened {
        /// What is kept, and paged through.
        whole: Box<Self>,
        /// What the model is shown of it.
        short: Value,
    },
    /// A text with what the model is shown beside it.
    WithImages {
        /// The model is shown it as it is.
        text: String,
        /// At least one.
        images: Vec<Image>,
    },
}

impl ToolValue {
    /// A text, with images where there are any.
    pub(crate) fn shown(text: String, images: Vec<Image>) -> Self {
        match images.is_empty() {
            true => Self::Text(text),
            false => Self::WithImages { text, images },
        }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Json(_) | Self::Text(_) | Self::WithImages { .. } => Outcome::Ok,
            Self::Failed(_) => Outcome::Failed,
            Self::Shortened { whole, .. } => whole.outcome(),
        }
    }

    pub(crate) fn short(&self) -> Option<String> {
        match self {
            Self::Shortened { short, .. } => Some(short.to_string()),
            Self::Json(_) | Self::Failed(_) | Self::Text(_) | Self::WithImages { .. } => None,
        }
    }

    pub(crate) fn images(&self) -> Vec<Image> {
        match self {
            Self::WithImages { images, .. } => images.clone(),
            Self::Shortened { whole, .. } => whole.images(),
            Self::Json(_) | Self::Failed(_) | Self::Text(_) => vec![],
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
            Self::Text(text) | Self::WithImages { text, .. } => f.write_str(text),
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
