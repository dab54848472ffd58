//! The kernel of `bonded`: every rule of the contract, as pure functions over an append-only log.
//!
//! It does no IO, reads no clock, draws no randomness, has no async function, no lock and no thread, and
//! knows no provider, no SQL and no HTTP. Time, ids and token counts enter as inputs; what is to be done
//! leaves as an [`Effect`]. `clippy.toml` beside this crate holds the bans.
//!
//! Four verbs, in the order in which a host calls them:
//!
//! 1. [`start`] makes the first step of a run, or [`replay`] rebuilds one from its log;
//! 2. [`next`] says what to do now;
//! 3. [`step`] takes what came of it and gives the entries to make durable, as one append, and then the
//!    next effect;
//! 4. [`apply`] is the only way in which a run changes; `replay` and `step` both use it.
//!
//! The smallest run is one request whose reply ends it. A host would store the entries and send the request; here both are
//! left out, and the reply is written down.
//!
//! ```
//! use bonded_kernel::{
//!     Catalog, Effect, Input, Millis, Reply, ReplyCall, RunConfig, RunId, RunStarted, Target,
//!     request, start, step,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = RunConfig::new("/tmp", vec![Target::new("local", "http://localhost:8080", "small")]);
//! let catalog = Catalog::of_run([], &config)?;
//! let goal = "What is 6 times 7?".into();
//! let started = RunStarted::new(goal, "Be brief.".into(), config, catalog);
//!
//! let (mut run, first) = start(RunId::new("run-1")?, Millis(0), started);
//! // The store has the entries of the step and says so: only now is the effect given out.
//! let durable = first.after();
//! let Effect::Ask { turn, attempt } = first.release(durable)? else {
//!     unreachable!("a run begins with a request");
//! };
//! assert_eq!(request(&run).map(|it| it.messages.len()), Some(1));
//!
//! let call = ReplyCall {
//!     id: "call-1".into(),
//!     tool: "done".into(),
//!     arguments: r#"{"reason": "42"}"#.into(),
//! };
//! let reply = Box::new(Reply {
//!     calls: vec![call],
//!     ..Reply::default()
//! });
//! let last = step(&mut run, Millis(900), Input::Reply { turn, attempt, reply });
//! let durable = last.after();
//! let Effect::Stop(termination) = last.release(durable)? else {
//!     unreachable!("`done` ends a run");
//! };
//! assert!(termination.is_success());
//! assert_eq!(termination.reason().as_str(), "42");
//! # Ok(())
//! # }
//! ```

#![warn(clippy::wildcard_enum_match_arm, missing_docs)]

mod accepts;
mod audit;
mod batch;
mod blob;
mod budget;
mod check;
mod config;
mod context;
mod decode;
mod edition;
mod entry;
mod event;
mod hash;
mod id;
mod image;
mod image_weights;
mod lesson;
mod mask;
mod memory;
mod model;
mod money;
mod own_tools;
mod paging;
mod plain_schema;
mod policy;
mod profile;
mod progress;
mod prompt;
mod reading;
mod repair;
mod report;
mod retry;
mod run;
mod sandbox;
mod schema;
mod step;
mod termination;
mod text;
mod time;
mod tokens;
mod tool;
mod tool_search;
mod usage;
mod uuid;

pub use accepts::{
    Accepts, CallIds, Effort, OutputLimitField, PenaltyField, Reasoning, SignedThoughts,
    SystemRole, ThinkingForm, ThoughtReturn,
};
pub use audit::{Audit, AuditFault, Divergence, audit, recorded_reply};
pub use blob::Blob;
pub use budget::Spend;
pub use config::{
    AgentConfig, ClientTools, DEFAULT_CONDITION, Dialect, Encoding, HandedDown, HandedOption,
    HeldFile, ItemOfPlan, Limits, LoopConfig, Mode, OfferedSkill, OpenWindow, OverallLimits,
    PAGING_BYTES, PARSER_VERSION, Parent, ReportFormat, ReportSpec, RunConfig, RunFiles, STATES,
    Sampling, Scope, ScopeCode, ScopeViolation, Segment, Served, SubAgent, TAGS, Target,
    ToolChoice, Vocabulary, Window, WindowSource, segments_for,
};
pub use decode::attrless::{
    Element, INSTRUCTION_TAGS, InstructionFault, InstructionRules, Instructions, Problem, RAM_ADD,
    RAM_DELETE, RECORD_ADD, RECORD_ISSUE, RECORD_SEARCH, RECORD_UPDATE, STATE_ADD, STATE_DELETE,
    read_instructions,
};
pub use decode::looped::RecordedReply;
pub use decode::xml::{
    IgnoreReason, IgnoredTag, Slot, StreamFilter, UnclosedFinal, XmlCall, XmlFound, find_tags,
};
pub use edition::Edition;
pub use entry::{BadEntry, Entry, Head, Header};
pub use event::{
    Answer, AttemptFailed, Blocked, Call, CallReviewed, ContextCompacted, ContextGuarded,
    ContextSummarised, Counters, DecisionMade, Digest, Dropped, Event, FORMAT, GoalGiven,
    GuardPoint, Held, Member, Origin, Outcome, Refusal, RefusalCode, RejectReason, RepairStep,
    Reserve, RunEnded, RunStarted, SeedTokens, SkipReason, Spent, Tag, ToolFinished,
};
pub use hash::Hash;
pub use id::{BadRunId, GoalId, RUN_ID_BYTES_MAX, RunId};
pub use image::{
    BadImage, IMAGE_BYTES_MAX, IMAGE_EDGE_MAX, IMAGES_BYTES_MAX, IMAGES_MAX, Image, ImageFormat,
    ImageInput, too_many_images,
};
pub use lesson::{Lesson, Parameter};
pub use mask::{Mask, SecretReach};
pub use memory::{
    Memory, MemoryEdit, RUN_ID_KEY, STATE_KEY, STEPS_KEY, State, THINK_LOG_KEY, USER_REQUEST_KEY,
};
pub use model::{
    Failure, FailureClass, Finish, Message, MessageCall, Offer, Overflow, Reply, ReplyCall, Request,
};
pub use money::{BadMoney, LongPrice, Money, Price};
pub use own_tools::{BATCH, FIND_TOOLS, OUTPUT_KEPT_BYTES_MAX, OwnTools, TOOL_OUTPUT};
pub use paging::paging_hint;
pub use policy::{Permission, Policy, Rule, ToolPattern, Verdict};
pub use profile::{LoopAudit, OperationOutcome, OperationSummary, RunAudit};
pub use prompt::xml::{ToolResponse, XmlNext, tool_response, xml_next};
pub use prompt::{CONVERSATION_SYSTEM, DEFAULT_SYSTEM};
pub use reading::{
    BadMeasure, Fields, FormKind, FormRow, Measure, Mistake, ReadFault, SCHEMA_KEY, SCHEMA_ROW,
    described, did_you_mean, escaped, folded, form_schema, found, nearest, or_null, short, words,
};
pub use repair::{Parsed, REPAIR_BYTES_MAX, RepairFault, parse_arguments};
pub use report::{
    Report, ReportFault, ReportSource, ReportStatus, ReportWarning, Shortfall, SyntheticReason,
    from_call, from_text, from_xml, report_tool_spec, synthetic,
};
pub use run::{
    BadLog, GoalRefused, Run, ToolOutput, WaitingCall, apply, replay, replay_on, request,
};
pub use sandbox::{INERT, ProcessLimits, SandboxConfig, SandboxLevel};
pub use schema::{Misfit, Schema};
pub use step::{
    Effect, Input, Invocation, NotDurable, Step, beside, fork, handed_out, next, start, step,
};
pub use termination::{FROM_TEXT, Termination, TerminationKind};
pub use text::{BlobRef, INLINE_BYTES_MAX, Text};
pub use time::Millis;
pub use tokens::{Calibration, estimate as estimate_tokens, estimate_for as estimate_tokens_for};
pub use tool::{BadCatalog, Catalog, DONE, FINAL_REPORT, PROGRESS_REPORT, ToolEffect, ToolSpec};
pub use tool_search::FoundTools;
pub use usage::Usage;
pub use uuid::{BadId, EventId, ID_PATTERN, NoteId, OperationId, RuleId, UserId, WorkspaceId};
