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

mod audit;
mod budget;
mod check;
mod config;
mod decode;
mod event;
mod hash;
mod id;
mod model;
mod money;
mod progress;
mod prompt;
mod retry;
mod run;
mod step;
mod termination;
mod text;
mod time;
mod tool;

pub use audit::{Audit, AuditFault, Divergence, audit};
pub use config::{Limits, RunConfig, Target};
pub use event::{
    Answer, AttemptFailed, BadEntry, Call, DecisionMade, Digest, Entry, Event, FORMAT, Head,
    Header, Origin, Outcome, Refusal, RefusalCode, RejectReason, Reserve, RunEnded, RunStarted,
    ToolFinished,
};
pub use hash::Hash;
pub use id::{BadRunId, GoalId, RUN_ID_BYTES_MAX, RunId};
pub use model::{
    Failure, FailureClass, Finish, Message, MessageCall, Reply, ReplyCall, Request, Usage,
};
pub use money::{BadMoney, Money, Price};
pub use prompt::{DEFAULT_SYSTEM, request};
pub use run::{BadLog, Run, Spend, apply, replay, replay_on};
pub use step::{Effect, Input, Invocation, NotDurable, Step, ToolOutput, fork, next, start, step};
pub use termination::{Termination, TerminationKind};
pub use text::{BlobRef, INLINE_BYTES_MAX, Text};
pub use time::Millis;
pub use tool::{BadCatalog, Catalog, DONE, ToolEffect, ToolSpec};
