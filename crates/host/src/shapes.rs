//! Runs as people and programs read them: the same shapes on the command line, at the servers, in the ledger and in
//! snapshots.

pub mod json;
pub mod listing;
pub mod result;
pub mod text;
pub mod waiting;
