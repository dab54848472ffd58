//! How things look: for people as lines and tables, for programs as JSON.

// An event that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

mod failures;
pub(crate) mod line;
pub(crate) mod progress;
mod spoken;
pub(crate) mod table;
mod tail;
pub(crate) mod trace;
pub(crate) mod work;
