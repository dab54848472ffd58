//! What the built-in tools are called.

/// Stands for all tools that are built in.
pub const BUILTIN_WORD: &str = "builtin";
/// The tools that are built in, by name.
pub const BUILTIN: [&str; 7] = ["append", "edit", "list", "read", "run", "search", "write"];
