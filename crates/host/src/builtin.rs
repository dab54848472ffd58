//! What the built-in tools are called.

/// Stands for all tools that are built in.
pub const BUILTIN_WORD: &str = "builtin";

pub use bonded_tools::BUILTIN;
