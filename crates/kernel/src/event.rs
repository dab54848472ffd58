//! Events: facts in the past tense. Entries: events as stored, each bound to the one before by its hash.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::RunConfig;
use crate::hash::Hash;
use crate::id::{GoalId, RunId};
use crate::model::{FailureClass, Finish, Usage};
use crate::money::Money;
use crate::termination::Termination;
use crate::text::Text;
use crate::time::Millis;
use crate::tool::{BadCatalog, Catalog, ToolEffect};

/// The version of the log's format. A log of a newer version is refused, never guessed at.
pub const FORMAT: u16 = 1;

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    RunStarted(Box<RunStarted>),
    /// A process took the run up again after another had stopped driving it.
    RunResumed {},
    /// A request was about to be sent; the worst it can cost was reserved.
    AttemptStarted {
        #[serde(default = "first", skip_serializing_if = "is_first")]
        attempt: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        target: u32,
        reserved: Reserve,
        /// Identifies the request, so that a replay can tell whether it would send the same.
        request: Digest,
    },
    AttemptFailed(Box<AttemptFailed>),
    /// The reply held nothing that could be acted upon or kept.
    ReplyRejected {
        reason: RejectReason,
        answer: Box<Answer>,
    },
    /// The reply was decoded and every call in it checked.
    DecisionMade(Box<DecisionMade>),
    /// The attempts of a turn were used up without a decision.
    TurnFailed {
        attempts: u32,
        reason: Text,
    },
    /// A call was about to be executed.
    ToolInvoked {
        #[serde(default, skip_serializing_if = "is_zero")]
        call: u32,
        tool: Arc<str>,
        #[serde(default, skip_serializing_if = "ToolEffect::is_read")]
        effect: ToolEffect,
    },
    ToolFinished(Box<ToolFinished>),
    /// A call that came after the terminal call of the same reply was not executed.
    CallSkipped {
        call: u32,
        tool: Arc<str>,
    },
    RunEnded(Box<RunEnded>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    pub goal: Text,
    pub system: Text,
    pub config: RunConfig,
    /// The catalogue as JSON; see [`Catalog::from_recorded`].
    tools: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Origin>,
    #[serde(skip)]
    catalog: Option<Catalog>,
}

impl RunStarted {
    pub fn new(goal: Text, system: Text, config: RunConfig, catalog: Catalog) -> Self {
        Self {
            goal,
            system,
            config,
            tools: catalog.text().clone(),
            forked_from: None,
            catalog: Some(catalog),
        }
    }

    pub fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_ref()
    }
}

/// Where a forked run was taken from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    pub run: RunId,
    pub turn: u32,
    /// The hash of the last entry that was taken over.
    pub head: Hash,
    /// How many entries were taken over; a replay takes them as given.
    pub entries: u64,
}

/// What a request may use at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenReserve", into = "WrittenReserve")]
pub struct Reserve {
    pub input: u64,
    pub output: u64,
    pub cost: Money,
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

/// What is usual is left out of the log: a turn shall take less than a kilobyte.
fn first() -> u32 {
    1
}

fn is_first(attempt: &u32) -> bool {
    *attempt == 1
}

fn is_zero(index: &u32) -> bool {
    *index == 0
}

fn is_instant(latency_ms: &u64) -> bool {
    *latency_ms == 0
}

fn is_free(cost: &Money) -> bool {
    cost.0 == 0
}

impl Reserve {
    pub fn usage(&self) -> Usage {
        Usage {
            input: self.input,
            output: self.output,
            cached: 0,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptFailed {
    pub class: FailureClass,
    pub message: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_instant")]
    pub latency_ms: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub billable: bool,
}

/// What is known of a reply besides its calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    #[serde(default, skip_serializing_if = "text_is_empty")]
    pub text: Text,
    #[serde(default, skip_serializing_if = "text_is_empty")]
    pub reasoning: Text,
    /// Absent where the provider did not say; the reserve is booked then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the model stopped, where it is not the usual: for its calls, or because it had said all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// The model that answered, where it is another than the one that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_instant")]
    pub latency_ms: u64,
}

fn text_is_empty(text: &Text) -> bool {
    text.is_resolved() && text.is_empty()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// Neither text, nor reasoning, nor a call.
    Empty,
    /// The provider withheld the reply.
    Filtered,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionMade {
    pub answer: Answer,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
}

/// A call of a decision: accepted, or refused with the reason that the model is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub id: Arc<str>,
    /// As the model wrote it, where the kernel had to give the call another id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_id: Option<Arc<str>>,
    pub tool: Arc<str>,
    /// As the model wrote them.
    pub arguments: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub code: RefusalCode,
    pub message: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    UnknownTool,
    MalformedArguments,
    /// The reply was cut by the output limit in the middle of the arguments.
    CutOff,
    InvalidArguments,
    TooManyCalls,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolFinished {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub call: u32,
    pub tool: Arc<str>,
    #[serde(default, skip_serializing_if = "Outcome::is_ok")]
    pub outcome: Outcome,
    /// What the model is shown.
    pub output: Text,
    /// How much the tool had said before its output was cut, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "is_instant")]
    pub latency_ms: u64,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    #[default]
    Ok,
    Failed,
    TimedOut,
    /// The process died or the run was stopped while the call was under way.
    Interrupted,
}

impl Outcome {
    fn is_ok(&self) -> bool {
        *self == Self::Ok
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    pub termination: Termination,
    pub turns: u32,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: Money,
    pub elapsed_ms: u64,
}

/// A short hash that identifies a request within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub [u8; 8]);

impl From<Hash> for Digest {
    fn from(hash: Hash) -> Self {
        let mut short = [0; 8];
        short.copy_from_slice(&hash.as_bytes()[..8]);
        Self(short)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0u8; 16];
        for (i, byte) in self.0.iter().enumerate() {
            text[2 * i] = HEX[usize::from(byte >> 4)];
            text[2 * i + 1] = HEX[usize::from(byte & 15)];
        }
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let bad = || serde::de::Error::custom("a digest has 16 hexadecimal digits");
        let digits = hex.as_bytes();
        if digits.len() != 16 {
            return Err(bad());
        }
        let mut bytes = [0u8; 8];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let nibble = |b: u8| char::from(b).to_digit(16).ok_or_else(bad);
            *byte = (nibble(pair[0])? * 16 + nibble(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}

impl Event {
    /// The event's name in the log.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run_started",
            Self::RunResumed {} => "run_resumed",
            Self::AttemptStarted { .. } => "attempt_started",
            Self::AttemptFailed(_) => "attempt_failed",
            Self::ReplyRejected { .. } => "reply_rejected",
            Self::DecisionMade(_) => "decision_made",
            Self::TurnFailed { .. } => "turn_failed",
            Self::ToolInvoked { .. } => "tool_invoked",
            Self::ToolFinished(_) => "tool_finished",
            Self::CallSkipped { .. } => "call_skipped",
            Self::RunEnded(_) => "run_ended",
        }
    }

    /// Every text that may lie in a blob.
    pub fn texts_mut(&mut self) -> Vec<&mut Text> {
        match self {
            Self::RunStarted(started) => {
                vec![&mut started.goal, &mut started.system, &mut started.tools]
            }
            Self::AttemptFailed(failed) => vec![&mut failed.message],
            Self::ReplyRejected { answer, .. } => vec![&mut answer.text, &mut answer.reasoning],
            Self::DecisionMade(decision) => {
                let mut texts = vec![&mut decision.answer.text, &mut decision.answer.reasoning];
                for call in &mut decision.calls {
                    texts.push(&mut call.arguments);
                    texts.extend(call.refused.as_mut().map(|refusal| &mut refusal.message));
                }
                texts
            }
            Self::TurnFailed { reason, .. } => vec![reason],
            Self::ToolFinished(finished) => vec![&mut finished.output],
            Self::RunEnded(ended) => vec![ended.termination.reason_mut()],
            Self::RunResumed {}
            | Self::AttemptStarted { .. }
            | Self::ToolInvoked { .. }
            | Self::CallSkipped { .. } => vec![],
        }
    }
}

/// How far a log goes: the sequence number and the hash of its last entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub seq: u64,
    pub hash: Hash,
}

impl Head {
    /// The head of a log that has no entry yet; the first entry has sequence number 1.
    pub const EMPTY: Self = Self {
        seq: 0,
        hash: Hash::ZERO,
    };
}

/// An event as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub format: u16,
    pub run: RunId,
    pub goal: GoalId,
    pub seq: u64,
    pub at: Millis,
    pub turn: u32,
    /// The hash of the entry before.
    pub prev: Hash,
    /// Over `prev` and everything else here.
    pub hash: Hash,
    /// The event as JSON, byte for byte as stored.
    pub body: Arc<[u8]>,
    pub event: Event,
}

/// Everything of an entry but its event: what the hash covers besides the body.
#[derive(Clone, Debug)]
pub struct Header {
    pub format: u16,
    pub run: RunId,
    pub goal: GoalId,
    pub seq: u64,
    pub at: Millis,
    pub turn: u32,
    pub prev: Hash,
}

/// Why stored bytes are not an entry that this build can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    #[error("entry {seq} has format {found}, this build reads up to {FORMAT}")]
    NewerFormat { seq: u64, found: u16 },
    #[error(
        "entry {seq}, or one of its step before it, was changed: the hash is not that of the content"
    )]
    BrokenChain { seq: u64 },
    #[error("entry {seq} refers to blob {blob}, which is missing or changed")]
    MissingBlob { seq: u64, blob: Hash },
    #[error("entry {seq} is not readable: {why}")]
    Unreadable { seq: u64, why: String },
}

impl Header {
    fn hash(&self, body: &[u8]) -> Hash {
        let mut bytes = Vec::with_capacity(128 + body.len());
        bytes.extend_from_slice(self.prev.as_bytes());
        bytes.extend_from_slice(&self.format.to_le_bytes());
        bytes.extend_from_slice(&self.seq.to_le_bytes());
        bytes.extend_from_slice(&self.at.0.to_le_bytes());
        bytes.extend_from_slice(&self.turn.to_le_bytes());
        for id in [self.run.as_str(), self.goal.as_str()] {
            bytes.extend_from_slice(&(id.len() as u64).to_le_bytes());
            bytes.extend_from_slice(id.as_bytes());
        }
        bytes.extend_from_slice(body);
        Hash::of(&bytes)
    }
}

/// Most bodies are shorter.
const BODY_BYTES_USUAL: usize = 384;

impl Entry {
    /// Makes the entry of an event that follows `prev`.
    pub(crate) fn seal(header: Header, event: Event) -> Self {
        // Every event has string keys and no failing serializer, so this cannot fail.
        let mut body = Vec::with_capacity(BODY_BYTES_USUAL);
        serde_json::to_writer(&mut body, &event).unwrap_or_default();
        let hash = header.hash(&body);
        Self {
            format: header.format,
            run: header.run,
            goal: header.goal,
            seq: header.seq,
            at: header.at,
            turn: header.turn,
            prev: header.prev,
            hash,
            body: body.into(),
            event,
        }
    }

    /// Reads a stored entry: checks its format and its hash, then the body, then fetches the blobs.
    /// `hash` is `None` where a store keeps one hash for several entries: then the hash follows from the
    /// entry, and the next one that is stored proves it. `blob` gives the content of a blob, checked
    /// against its hash, or `None`.
    pub fn open(
        header: Header,
        hash: Option<Hash>,
        body: Arc<[u8]>,
        mut blob: impl FnMut(&Hash) -> Option<Arc<str>>,
    ) -> Result<Self, BadEntry> {
        let seq = header.seq;
        if header.format > FORMAT {
            let found = header.format;
            return Err(BadEntry::NewerFormat { seq, found });
        }
        let computed = header.hash(&body);
        if hash.is_some_and(|stored| stored != computed) {
            return Err(BadEntry::BrokenChain { seq });
        }
        let unreadable = |why: String| BadEntry::Unreadable { seq, why };
        let mut event: Event =
            serde_json::from_slice(&body).map_err(|error| unreadable(error.to_string()))?;
        for text in event.texts_mut() {
            let Some(reference) = text.blob().filter(|_| !text.is_resolved()) else {
                continue;
            };
            let content = blob(&reference.hash).ok_or(BadEntry::MissingBlob {
                seq,
                blob: reference.hash,
            })?;
            text.resolve(content);
        }
        if let Event::RunStarted(started) = &mut event {
            let catalog = Catalog::from_recorded(started.tools.clone())
                .map_err(|error: BadCatalog| unreadable(error.to_string()))?;
            started.catalog = Some(catalog);
        }
        Ok(Self {
            format: header.format,
            run: header.run,
            goal: header.goal,
            seq,
            at: header.at,
            turn: header.turn,
            prev: header.prev,
            hash: computed,
            body,
            event,
        })
    }

    pub fn head(&self) -> Head {
        Head {
            seq: self.seq,
            hash: self.hash,
        }
    }
}
