//! The workspace on the command line: its directory, its configuration, and what is composed to be served.

pub(crate) mod config_file;
mod meaning;
pub(crate) mod notebook;
pub(crate) mod open_workspace;
pub(crate) mod serving;
