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

mod accepts;
mod agent;
mod audit;
mod batch;
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
mod lesson;
mod looping;
mod mask;
mod memory;
mod model;
mod money;
mod own_tools;
mod paging;
mod plain_schema;
mod policy;
mod progress;
mod prompt;
mod reading;
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
mod uuid;

pub use accepts::{
    Accepts, CallIds, Effort, OutputLimitField, PenaltyField, SignedThoughts, SystemRole,
    ThinkingForm, ThoughtReturn,
};
pub use agent::{AgentConfig, Encoding, HandedDown, HandedOption, SubAgent};
pub use audit::{Audit, AuditFault, Divergence, audit, recorded_reply};
pub use config::{
    Dialect, HeldFile, ItemOfPlan, Kept, Limits, OpenWindow, Parent, Reasoning, RunConfig,
    Sampling, Target, ToolChoice, Vocabulary, Window, WindowSource,
};
pub use decode::attrless::{
    INSTRUCTION_TAGS, InstructionFault, InstructionRules, Instructions, PARSER_VERSION, Problem,
    RAM_ADD, RAM_DELETE, RECORD_ADD, RECORD_ISSUE, RECORD_SEARCH, RECORD_UPDATE, STATE_ADD,
    STATE_DELETE, Written, read_instructions,
};
pub use decode::looped::RecordedReply;
pub use decode::repair::{Parsed, REPAIR_BYTES_MAX, RepairFault, RepairStep, parse_arguments};
pub use decode::xml::{
    IgnoreReason, IgnoredTag, PROGRESS_REPORT, Slot, StreamFilter, UnclosedFinal, XmlCall,
    XmlFound, find_tags,
};
pub use edition::Edition;
pub use entry::{BadEntry, Entry, Head, Header};
pub use event::{
    Answer, AttemptFailed, Blocked, Call, CallReviewed, ContextCompacted, ContextGuarded,
    ContextSummarised, Counters, DecisionMade, Digest, Dropped, Event, FORMAT, GuardPoint, Member,
    Origin, Outcome, Refusal, RefusalCode, RejectReason, Reserve, RunEnded, RunStarted, SeedTokens,
    SkipReason, Spent, Tag, ToolFinished,
};
pub use hash::Hash;
pub use id::{BadRunId, GoalId, RUN_ID_BYTES_MAX, RunId};
pub use lesson::{Lesson, Parameter};
pub use looping::{
    DEFAULT_CONDITION, LoopAudit, LoopConfig, Mode, OperationOutcome, OperationSummary,
    PAGING_BYTES, RunAudit, STATES, Scope, ScopeCode, ScopeViolation, Segment, TAGS, segments_for,
};
pub use mask::{Found, Mask};
pub use memory::{
    Memory, MemoryEdit, RUN_ID_KEY, STATE_KEY, STEPS_KEY, State, THINK_LOG_KEY, USER_REQUEST_KEY,
};
pub use model::{
    Failure, FailureClass, Finish, Message, MessageCall, Offer, Overflow, Reply, ReplyCall,
    Request, Usage,
};
pub use money::{BadMoney, LongPrice, Money, Price};
pub use own_tools::{BATCH, OUTPUT_KEPT_BYTES_MAX, OwnTools, TOOL_OUTPUT};
pub use paging::paging_hint;
pub use policy::{Permission, Policy, Rule, ToolPattern, Verdict, WaitingCall};
pub use prompt::xml::{ToolResponse, XmlNext, tool_response, xml_next};
pub use prompt::{DEFAULT_SYSTEM, request};
pub use reading::{did_you_mean, escaped, folded, nearest, short, type_of};
pub use report::{
    FINAL_REPORT, Report, ReportFault, ReportFormat, ReportSource, ReportSpec, ReportStatus,
    ReportWarning, Shortfall, SyntheticReason, from_call, from_text, from_xml, report_tool_spec,
    synthetic,
};
pub use run::{BadLog, Held, Run, Spend, apply, replay, replay_on};
pub use sandbox::{INERT, ProcessLimits, SandboxConfig, SandboxLevel};
pub use schema::{Misfit, Schema, check_size as check_schema_size};
pub use step::{
    Effect, Input, Invocation, NotDurable, Step, ToolOutput, beside, fork, next, start, step,
};
pub use termination::{FROM_TEXT, Termination, TerminationKind};
pub use text::{BlobRef, INLINE_BYTES_MAX, Text};
pub use time::Millis;
pub use tokens::{Calibration, estimate as estimate_tokens, estimate_for as estimate_tokens_for};
pub use tool::{BadCatalog, Catalog, DONE, ToolEffect, ToolSpec};
pub use uuid::{BadId, EventId, NoteId, OperationId, RuleId, UserId, WorkspaceId};
