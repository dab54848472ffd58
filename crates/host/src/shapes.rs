//! Runs as people and programs read them: the same shapes on the command line, at the servers, in the ledger and in
//! snapshots.

// An event that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod activity;
pub mod json;
pub mod listing;
pub mod result;
pub mod text;
pub mod waiting;
