//! What came of a call that was executed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::defaults::{is_free, is_instant, is_zero};
use super::held::Held;
use crate::image::Image;
use crate::money::Money;
use crate::text::Text;
use crate::usage::Usage;

/// What came of a call: what its tool returned, or what the kernel says in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolFinished {
    /// The call's place in its reply, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub call: u32,
    /// The tool that was executed, for who reads the log.
    pub tool: Arc<str>,
    /// Failed too where the output was dropped.
    #[serde(default, skip_serializing_if = "Outcome::is_ok")]
    pub outcome: Outcome,
    /// What the model is shown.
    pub output: Text,
    /// How much the tool had said before its output was cut, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from_bytes: Option<u64>,
    /// What the tool had said before its output was cut, where the run keeps that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Text>,
    /// How long it took; 0 where the kernel answered.
    #[serde(default, skip_serializing_if = "is_instant")]
    pub latency_ms: u64,
    /// What the host's tokenizer counted, where it knows the models' vocabularies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The output that the stub stands for, where no window had room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Box<Dropped>>,
    /// What the call itself spent on models, where it was another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// Whether the call was another agent that took untrusted data in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
    /// What held for the processes that the call started, where it started any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Arc<str>>,
    /// The stable code of what went wrong, where the run keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Arc<str>>,
    /// What the tool gave besides the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Why the model is shown none of the images, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images_withheld: Option<Arc<str>>,
}

impl ToolFinished {
    /// What the kernel itself says of a call: no tool has said how long it took or what it used.
    pub(crate) fn unexecuted(call: u32, tool: Arc<str>, outcome: Outcome, output: Text) -> Self {
        Self {
            call,
            tool,
            outcome,
            output,
            cut_from_bytes: None,
            original: None,
            latency_ms: 0,
            tokens: None,
            dropped: None,
            spent: None,
            marked: false,
            sandbox: None,
            code: None,
            images: vec![],
            images_withheld: None,
        }
    }

    /// The images that the model is shown.
    pub fn images_shown(&self) -> &[Image] {
        match self.images_withheld.is_some() || self.is_dropped() {
            true => &[],
            false => &self.images,
        }
    }

    /// Whether the model is shown nothing of the output.
    pub fn is_dropped(&self) -> bool {
        let dropped = self.dropped.as_ref();
        dropped.is_some_and(|dropped| dropped.shown_bytes.is_none())
    }

    /// Every text that may lie in a blob.
    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        let dropped = self.dropped.as_mut().map(|dropped| &mut dropped.output);
        std::iter::once(&mut self.output)
            .chain(dropped)
            .chain(&mut self.original)
    }
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Of all requests together.
    pub usage: Usage,
    /// Of all requests together; 0 where no price is known.
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: Money,
    /// The part of both that nobody counted.
    #[serde(default, skip_serializing_if = "Held::is_none")]
    pub held: Held,
}

/// An output that was not put before the model as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The whole of it, as the tool returned it.
    pub output: Text,
    /// The room that it would have needed.
    pub tokens: u64,
    /// The room that the sentence in its place needs.
    pub stub_tokens: u64,
    /// What the next request would have held with it, in tokens.
    pub projected: u64,
    /// What the window takes that it exceeds most.
    pub limit: i64,
    /// How much of it is shown all the same, where some of it had room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_bytes: Option<u64>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool did what it was asked to do.
    #[default]
    Ok,
    /// The tool says that it did not; the output says why.
    Failed,
    /// The host ended it for its time.
    TimedOut,
    /// The process died or the run was stopped while the call was under way.
    Interrupted,
}

impl Outcome {
    fn is_ok(&self) -> bool {
        *self == Self::Ok
    }
}
