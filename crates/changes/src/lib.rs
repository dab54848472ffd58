//! What runs change in the directories that they work in: recorded before it changes, shown, and undone.
//!
//! A run has one file of its own ([`Record`]) in a directory beside the store ([`Records`]). Before a file tool changes
//! anything, what is there and what will be there is written to that file and synced; so whatever a crash interrupts, both
//! are known. An undo is a change like any other: recorded before, and therefore undone in the same way.
//!
//! It does not see the log, the store or a model, does not know which turn a called agent's run belongs to until it is
//! told, and never decides between a person's edit and a run's: a file that is not as the run left it is not touched.

#![warn(missing_docs)]

mod bounds;
mod dirs;
mod error;
mod frame;
mod history;
mod moment;
mod node;
mod path_text;
mod plan;
mod record;
mod recorder;
mod records;
mod slot;
mod undo;

pub use bounds::{CONTENT_BYTES_MAX, RUN_BYTES_MAX};
pub use error::ChangesError;
pub use frame::{ChangeSet, ChangedBy, Outcome, PathChange};
pub use history::{Conflict, NetChange};
pub use node::{FileNode, Node};
pub use plan::{Obstacle, UndoPlan, Wanted};
pub use record::Record;
pub use recorder::{HoldsSecret, Recorder};
pub use records::Records;
pub use undo::{Leftovers, Settled, Undone};
