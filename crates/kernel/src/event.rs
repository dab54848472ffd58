//! Events: facts in the past tense.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::RunConfig;
use crate::decode::RepairStep;
use crate::hash::Hash;
use crate::id::RunId;
use crate::model::{FailureClass, Finish, Usage};
use crate::money::Money;
use crate::policy::{self, Verdict};
use crate::sandbox::SandboxLevel;
use crate::termination::Termination;
use crate::text::Text;
use crate::tool::{Catalog, ToolEffect};

/// The version of the log's format. A log of a newer version is refused, never guessed at.
pub const FORMAT: u16 = 3;

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
        /// What the context guard expects the request to hold, where it guards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<Counters>,
    },
    AttemptFailed(Box<AttemptFailed>),
    /// The reply held nothing that could be acted upon or kept.
    ReplyRejected {
        reason: RejectReason,
        answer: Box<Answer>,
        /// The calls that it held, none of which could be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
    },
    /// The reply was decoded and every call in it checked.
    DecisionMade(Box<DecisionMade>),
    /// The arguments of a call of the decision before were no JSON as written, and were mended.
    CallRepaired {
        #[serde(default, skip_serializing_if = "is_zero")]
        call: u32,
        tool: Arc<str>,
        original: Text,
        steps: Vec<RepairStep>,
        result: Text,
    },
    /// The next request would not have fitted; the run goes to its last turn.
    ContextGuarded(Box<ContextGuarded>),
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
        /// What is demanded for the processes that the call starts, where it starts any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<SandboxLevel>,
    },
    ToolFinished(Box<ToolFinished>),
    /// The model said what it does; nothing was executed.
    ProgressReported {
        #[serde(default, skip_serializing_if = "is_zero")]
        call: u32,
        progress: Text,
    },
    /// A call was held back until a person says whether it may be executed.
    ReviewAsked {
        #[serde(default, skip_serializing_if = "is_zero")]
        call: u32,
        tool: Arc<str>,
        why: Text,
    },
    /// A person said whether a call may be executed.
    CallReviewed(Box<CallReviewed>),
    /// A call was not executed although nothing was wrong with it.
    CallSkipped {
        call: u32,
        tool: Arc<str>,
        #[serde(default, skip_serializing_if = "is_after_the_end")]
        reason: SkipReason,
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
    /// What the host's tokenizer counted, where it knows the models' vocabularies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<SeedTokens>,
    /// Why the run ends before its first turn: the host could not give it what it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Text>,
    #[serde(skip)]
    catalog: Option<Catalog>,
}

impl RunStarted {
    pub fn new(goal: Text, system: Text, config: RunConfig, catalog: Catalog) -> Self {
        Self {
            goal,
            system: policy::explained(system, &config),
            config,
            tools: catalog.text().clone(),
            forked_from: None,
            counted: None,
            refused: None,
            catalog: Some(catalog),
        }
    }

    pub fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_ref()
    }

    pub(crate) fn recorded_tools(&self) -> &Text {
        &self.tools
    }

    pub(crate) fn set_catalog(&mut self, catalog: Catalog) {
        self.catalog = Some(catalog);
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

/// The tokens of what a run begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedTokens {
    /// The system text and the goal.
    pub conversation: u64,
    /// All tools of the catalogue.
    pub schema: u64,
}

/// What the context guard counts before a request, in tokens: `expected` is their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 3]", into = "[u64; 3]")]
pub struct Counters {
    /// Committed by the last reply.
    pub current: u64,
    /// Said since, notices included.
    pub pending: u64,
    /// The tools that are offered.
    pub schema: u64,
}

impl Counters {
    pub fn expected(&self) -> u64 {
        self.current
            .saturating_add(self.pending)
            .saturating_add(self.schema)
    }
}

impl From<[u64; 3]> for Counters {
    fn from([current, pending, schema]: [u64; 3]) -> Self {
        Self {
            current,
            pending,
            schema,
        }
    }
}

impl From<Counters> for [u64; 3] {
    fn from(counters: Counters) -> Self {
        [counters.current, counters.pending, counters.schema]
    }
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
            written: 0,
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
    /// See [`Reply::signed`](crate::Reply::signed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Text>,
    /// Absent where the provider did not say; the reserve is booked then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What the provider says that the request cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Why the model stopped, where it is not the usual: for its calls, or because it had said all.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_instant")]
    pub latency_ms: u64,
}

impl Answer {
    /// Why the model stopped, in the provider's own word where that is known. `calls` are those of the reply.
    pub fn stop_reason(&self, calls: &[Call]) -> Arc<str> {
        let has_native = calls.iter().any(Call::is_native);
        let finish = self.finish.unwrap_or_else(|| Finish::usual(has_native));
        let own_word = self.stop_reason.clone();
        own_word.unwrap_or_else(|| finish.as_str().into())
    }
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
    /// Text without a call, from an agent that must call.
    NoCall,
    /// Calls, and none of them readable.
    Malformed,
    /// The report was cut by the output limit.
    CutOff,
}

impl RejectReason {
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
}

fn is_after_the_end(reason: &SkipReason) -> bool {
    *reason == SkipReason::AfterTheEnd
}

/// How the context guard decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextGuarded {
    pub at: GuardPoint,
    /// The targets whose windows would have been exceeded.
    pub blocked: Vec<Blocked>,
    /// Those that are still over with nothing but the report offered: the run goes on as well as it can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_over: Vec<Blocked>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardPoint {
    /// Before a result is put into the conversation.
    ToolPreflight,
    /// Before a request is sent.
    TurnPreflight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub target: u32,
    pub projected: u64,
    /// Negative where the reply alone is larger than the window.
    pub limit: i64,
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
    /// As the model wrote it, where it plainly meant another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_tool: Option<Arc<str>>,
    /// As the model wrote them, or as they were mended; see [`Event::CallRepaired`].
    pub arguments: Text,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The format that a report says it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Arc<str>>,
    /// Whether its end was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclosed: bool,
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
    /// What the tool had said before its output was cut, where the run keeps that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Text>,
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
}

/// What a person said of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReviewed {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub call: u32,
    pub tool: Arc<str>,
    pub verdict: Verdict,
    /// Who said it, as far as the surface knows.
    pub by: Text,
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: Money,
}

/// An output that was not put before the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub output: Text,
    pub tokens: u64,
    pub stub_tokens: u64,
    pub projected: u64,
    pub limit: i64,
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
    /// What an agent delivers, as JSON; see [`Report`](crate::Report).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Text>,
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
            Self::CallRepaired { .. } => "call_repaired",
            Self::ContextGuarded(_) => "context_guarded",
            Self::TurnFailed { .. } => "turn_failed",
            Self::ToolInvoked { .. } => "tool_invoked",
            Self::ToolFinished(_) => "tool_finished",
            Self::ProgressReported { .. } => "progress_reported",
            Self::ReviewAsked { .. } => "review_asked",
            Self::CallReviewed(_) => "call_reviewed",
            Self::CallSkipped { .. } => "call_skipped",
            Self::RunEnded(_) => "run_ended",
        }
    }

    /// Every text that may lie in a blob.
    pub fn texts_mut(&mut self) -> Vec<&mut Text> {
        match self {
            Self::RunStarted(started) => {
                let RunStarted {
                    goal,
                    system,
                    tools,
                    refused,
                    ..
                } = &mut **started;
                [goal, system, tools].into_iter().chain(refused).collect()
            }
            Self::AttemptFailed(failed) => vec![&mut failed.message],
            Self::ReplyRejected { answer, calls, .. } => reply_texts(answer, calls),
            Self::DecisionMade(decision) => reply_texts(&mut decision.answer, &mut decision.calls),
            Self::CallRepaired {
                original, result, ..
            } => vec![original, result],
            Self::TurnFailed { reason, .. } => vec![reason],
            Self::ProgressReported { progress, .. } => vec![progress],
            Self::ToolFinished(finished) => {
                let dropped = finished.dropped.as_mut().map(|it| &mut it.output);
                std::iter::once(&mut finished.output)
                    .chain(dropped)
                    .chain(&mut finished.original)
                    .collect()
            }
            Self::RunEnded(ended) => std::iter::once(ended.termination.reason_mut())
                .chain(&mut ended.report)
                .collect(),
            Self::ReviewAsked { why, .. } => vec![why],
            Self::CallReviewed(reviewed) => {
                let reason = match &mut reviewed.verdict {
                    Verdict::Denied { reason } => Some(reason),
                    Verdict::Approved => None,
                };
                std::iter::once(&mut reviewed.by).chain(reason).collect()
            }
            Self::RunResumed {}
            | Self::ContextGuarded(_)
            | Self::AttemptStarted { .. }
            | Self::ToolInvoked { .. }
            | Self::CallSkipped { .. } => vec![],
        }
    }
}

fn reply_texts<'a>(answer: &'a mut Answer, calls: &'a mut [Call]) -> Vec<&'a mut Text> {
    let mut texts = vec![&mut answer.text, &mut answer.reasoning];
    texts.extend(&mut answer.signed);
    for call in calls {
        texts.push(&mut call.arguments);
        texts.extend(call.refused.as_mut().map(|refusal| &mut refusal.message));
    }
    texts
}
