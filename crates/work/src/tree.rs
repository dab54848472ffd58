//! Trees of files: frozen as they are, kept by content, restored, and copied so that a work item has its own.
//!
//! The tree of the user is read and never written here; everything that is kept lies outside of it.
//!
//! `pass` goes over a tree once and is what all looks at files come down to; `stat_cache` and `stamp` keep it
//! from reading what it knows. `objects` keeps contents, `checkpoints` puts the two together. `copies` makes
//! the places in which items work. `lock`, `writers` and `watcher` are about other processes: which of them
//! works on the tree, and which has a file of it open.

mod checkpoints;
mod content;
mod contents;
mod copies;
mod error;
mod isolation;
mod lock;
mod looks;
mod namespace;
mod objects;
mod pass;
mod probe;
mod removal;
mod repository;
mod restore;
mod stamp;
mod stat_cache;
mod tree_file;
mod watcher;
mod writers;

pub(crate) use checkpoints::KeptContents;
pub use checkpoints::{Checkpoints, Frozen, tree_of};
pub use contents::Contents;
pub use copies::{Changed, Copies, TreeCopy};
pub use error::TreeError;
pub use isolation::Isolation;
pub use lock::{LockError, TreeLock};
pub use namespace::enter_namespace;
pub use objects::ContentReader;
pub use probe::{Isolations, enter};
pub(crate) use removal::remove_tree;
pub use repository::check_repository;
pub(crate) use tree_file::{decode_tree, encode_tree};
pub use tree_file::{read_tree, write_tree};
pub use watcher::Watcher;
pub use writers::{FileId, Processes, Writers};
