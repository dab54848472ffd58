//! The append-only log of `bonded`: the [`Store`] trait, in SQLite and in memory, and what another store is made of.
//!
//! A store appends entries, loads them with their chain checked, tells who drives a run and wakes those
//! who wait for one to go on. It never updates or deletes an entry, never interprets an event beyond what
//! [`Store::list`] and the release at a run's end need, never retries, and never prints. It knows no
//! model, no tool and no configuration.

#![warn(missing_docs)]

mod append;
mod aside;
mod copies;
pub mod database;
mod error;
mod holder;
mod lease_terms;
mod memory;
mod plan_objects;
mod row;
mod run_queues;
mod server_problem;
pub mod sqlite;
mod store;
mod unreadable;
mod watchers;

pub use append::{Append, ENTRIES_MAX};
pub use aside::RunAside;
pub use copies::{CopiedPart, LogPart, PART_BYTES, QueuedCopy, RunCopies, StoredRun};
pub use error::StoreError;
pub use holder::Holder;
pub use lease_terms::LeaseTerms;
pub use memory::MemoryStore;
pub use plan_objects::{HeldPlan, ObjectPiece, PIECE_BYTES_MAX, PlanObjects};
pub use run_queues::{RunQueues, Submission};
pub use server_problem::ServerProblem;
pub use sqlite::SqliteStore;
pub use store::{Ends, ListFilter, Listed, Store};
pub use watchers::{Watcher, Watchers};
