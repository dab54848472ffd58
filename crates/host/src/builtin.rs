//! What the built-in tools are called.
//!
//! The names themselves come from the crate that has the tools, so that there is one list.

/// Stands for all tools that are built in.
pub const BUILTIN_WORD: &str = "builtin";

pub use bonded_tools::BUILTIN;
