//! The workspace on the command line: a notebook for commands, and what a server of one needs of this process.
//!
//! Rules of a workspace live in other crates, and so does what serves it; here is only what needs this process: its
//! variables, its program, its signals.

pub(crate) mod notebook;
pub(crate) mod opening;
pub(crate) mod place;
pub(crate) mod worker_notes;
