//! The handlers, one file for each kind of thing.
//!
//! A handler reads what it needs of the request, asks for permission where it only reads, and hands changes to the
//! store, which decides. It knows neither headers nor statuses: those are in the types that it takes and gives.

pub(super) mod attachments;
pub mod auth;
pub(super) mod health;
pub(super) mod hooks;
pub(super) mod loops;
pub(super) mod members;
pub(super) mod note_versions;
pub(super) mod note_writes;
pub(super) mod notes;
pub(super) mod notices;
pub(super) mod proofs;
pub(super) mod rule_checks;
pub(super) mod rules;
pub(super) mod runs;
pub(super) mod search;
pub(super) mod settings;
pub mod users;
pub(super) mod workspaces;
