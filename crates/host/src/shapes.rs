//! Runs as people and programs read them: the same shapes on the command line, at the servers, in the ledger and in
//! snapshots.
//!
//! There is one place for each shape, so that two surfaces cannot come to differ. Names in JSON are
//! part of the surface and stay.

// An event that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod activity;
pub mod json;
pub mod listing;
pub mod patch;
pub mod result;
pub mod text;
pub mod waiting;
