//! Trees of files: frozen as they are, kept by content, restored, and copied so that a work item has its own.
//!
//! The tree of the user is read and never written here; everything that is kept lies outside of it.

mod checkpoints;
mod content;
mod copies;
mod error;
mod isolation;
mod looks;
mod namespace;
mod objects;
mod pass;
mod removal;
mod repository;
mod restore;
mod stamp;
mod stat_cache;
mod tree_file;

pub use checkpoints::{Checkpoints, Frozen, tree_of};
pub use copies::{Changed, Copies, TreeCopy};
pub use error::TreeError;
pub use isolation::{Isolation, Isolations, enter};
pub use namespace::enter_namespace;
pub use objects::Content;
pub(crate) use removal::remove_tree;
pub use repository::check_repository;
pub use tree_file::{read_tree, write_tree};
