//! The handlers, one file for each kind of thing.

pub mod auth;
pub(super) mod health;
pub(super) mod members;
pub(super) mod note_writes;
pub(super) mod notes;
pub(super) mod proofs;
pub(super) mod rules;
pub(super) mod runs;
pub(super) mod search;
pub mod users;
pub(super) mod workspaces;
