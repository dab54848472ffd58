//! The workspace on the command line: its directory, its configuration, and what is composed to be served.
//!
//! Rules of a workspace live in other crates; here is only what needs this process: its variables, its program, its
//! signals.

pub(crate) mod config_file;
mod meaning;
pub(crate) mod notebook;
pub(crate) mod open_workspace;
pub(crate) mod serving;
