//! The calls of a decision: as written, as refused, as reviewed, as passed over.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::defaults::is_zero;
use crate::hash::Hash;
use crate::policy::Verdict;
use crate::text::Text;

/// A call of a decision: accepted, or refused with the reason that the model is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Unique in the reply: results find their calls by it.
    pub id: Arc<str>,
    /// As the model wrote it, where the kernel had to give the call another id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_id: Option<Arc<str>>,
    /// The tool that is executed, where the call is not refused.
    pub tool: Arc<str>,
    /// As the model wrote it, where it plainly meant another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_tool: Option<Arc<str>>,
    /// As the model wrote them, or as they were mended; see [`CallRepaired`](super::Event::CallRepaired).
    pub arguments: Text,
    /// Whether the arguments held a secret, whose name stands here in its place. What is executed is what the
    /// model wrote; what stands here never is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    /// Why it is never executed, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
    /// The tag, where the call was written in the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    /// The batch, where the call was written in one. The batch itself comes after its members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<Member>,
}

impl Call {
    /// Whether the call stands in the provider's own fields.
    pub(crate) fn is_native(&self) -> bool {
        self.tag.is_none() && self.member.is_none()
    }
}

/// A call that was written in a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The id of the batch's own call.
    pub batch: Arc<str>,
    /// Its id there, as the model wrote it.
    pub id: Arc<str>,
}

/// A call that was written as a tag: its slot is the call's id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The format that a report says it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Arc<str>>,
    /// Whether its end was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclosed: bool,
}

/// Why a call is not executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The stable name that programs go by.
    pub code: RefusalCode,
    /// What the model is shown, with what to do about it.
    pub message: Text,
}

/// What was wrong with a call, by stable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The catalogue of the run has no such tool.
    UnknownTool,
    /// The arguments are no JSON object, and could not be mended to one.
    MalformedArguments,
    /// The reply was cut by the output limit in the middle of the arguments.
    CutOff,
    /// The arguments do not fit the tool's schema.
    InvalidArguments,
    /// The reply holds more calls than a turn may.
    TooManyCalls,
    /// The tool is there, but not in the last turn.
    NotOffered,
    /// A batch without a call.
    EmptyBatch,
    /// A batch with a call that does not name itself or its tool.
    InvalidBatch,
    /// What ends a run, or another batch, in a batch.
    NotInBatch,
    /// The policy of the run denies the tool.
    Denied,
    /// The scope of the run does not allow it.
    OutOfScope,
}

/// What a person said of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReviewed {
    /// The call's place in its reply, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub call: u32,
    /// The tool of the call, for who reads the log.
    pub tool: Arc<str>,
    /// What the run goes on with.
    pub verdict: Verdict,
    /// What the person looked at; see [`WaitingCall::digest`](crate::WaitingCall::digest).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Hash>,
    /// Who said it, as far as the surface knows.
    pub by: Text,
}

impl CallReviewed {
    /// Every text that may lie in a blob.
    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        let reason = match &mut self.verdict {
            Verdict::Denied { reason } => Some(reason),
            Verdict::Approved => None,
        };
        std::iter::once(&mut self.by).chain(reason)
    }
}

/// Why a call was passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It came after the call that ended the run.
    #[default]
    AfterTheEnd,
    /// The result of a call before it did not fit into the context any more.
    ContextBudget,
    /// The policy denies it since untrusted data entered the run.
    Untrusted,
    /// Its arguments held a secret, and the process that knew them as they were written is gone, or would be
    /// before a person had spoken.
    SecretNotKept,
    /// It stood before the report that ended the run.
    BesideTheReport,
}

impl SkipReason {
    pub(super) fn is_after_the_end(&self) -> bool {
        *self == Self::AfterTheEnd
    }
}
