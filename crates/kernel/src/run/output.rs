//! What came of a call, as the host gives it in.

use std::sync::Arc;

use crate::event::{Outcome, Spent};
use crate::image::Image;

/// What a tool returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// How the tool says that the call ended; an interruption is the kernel's alone to say.
    pub outcome: Outcome,
    /// What the model is shown.
    pub text: String,
    /// How long the text was before it was cut, where it was.
    pub cut_from_bytes: Option<u64>,
    /// The text before it was cut, where the call asks for it.
    pub original: Option<String>,
    /// How long it took.
    pub latency_ms: u64,
    /// What the host's tokenizer counted, where it knows the models' vocabularies.
    pub tokens: Option<u64>,
    /// What the call itself spent on models, where it was another agent.
    pub spent: Option<Spent>,
    /// Whether the call was another agent that took untrusted data in.
    pub marked: bool,
    /// What held for the processes that the call started, where it started any.
    pub sandbox: Option<Arc<str>>,
    /// The stable code of what went wrong, where the call asks for it.
    pub code: Option<Arc<str>>,
    /// What the tool gave besides the text.
    pub images: Vec<Image>,
}
