//! How things look: for people as lines and tables, for programs as JSON.
//!
//! Lines are made from entries of the log and from nothing else, but for what is being said at the moment. Nothing
//! here decides anything, and what reaches a stream goes through `output`, or through the live line when `output`
//! has made it harmless.

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
