//! The log of runs on a PostgreSQL server: for runs that several machines drive.
//!
//! [`PostgresStore`] is a [`Store`](bonded_state::Store) like the one in a file, held to the same cases. Who drives a run is
//! a lease by the server's clock, with an epoch that every append of its driver carries: a process that was overtaken
//! cannot write. It knows no model, no tool and no configuration, never retries what may not be done twice, and never
//! prints. Nothing else in the project knows how PostgreSQL is spoken to.

#![warn(missing_docs)]

mod address;
mod append;
mod aside;
mod asking;
mod blobs;
mod body;
mod claim;
mod connection;
mod copied;
mod copying;
mod database;
mod database_server;
mod doubt;
mod fault;
mod fleet;
mod gathering;
mod giving_back;
mod group;
mod initialise;
mod keys;
mod lease;
mod listening;
mod look;
mod objects;
mod offer;
mod parameter;
mod patience;
mod poll;
mod pooling;
mod queue;
mod read;
mod renewal;
mod run_layout;
mod run_news;
mod schema;
mod server;
mod session;
mod store;
mod strays;
mod sweep;
mod take;
mod value;
mod workers;

pub use address::{Address, is_address};
pub use database::PostgresDatabase;
pub use initialise::{Initialised, initialise, initialise_schema};
pub use look::QueueDepth;
pub use offer::WorkerOffer;
pub use queue::{Bounded, QueueState, WaitsFor};
pub use store::PostgresStore;
pub use take::TakenRun;
pub use workers::WorkerRow;
