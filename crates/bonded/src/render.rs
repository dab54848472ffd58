//! How things look: for people as lines and tables, for programs as JSON.
//!
//! Lines are made from entries of the log and from nothing else, but for what is being said at the moment. Nothing
//! here decides anything, and what reaches a stream goes through `output`; what is drawn is made of styled lines,
//! whose texts `masking` has made harmless.

// An event that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

pub(crate) mod call;
pub(crate) mod ending;
mod failures;
pub(crate) mod layout;
pub(crate) mod line;
pub(crate) mod lines;
mod live;
pub(crate) mod narration;
pub(crate) mod pager;
pub(crate) mod progress;
pub(crate) mod run_table;
pub(crate) mod servers;
mod spoken;
pub(crate) mod story;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod trace;
pub(crate) mod work;
