//! How much is kept.

/// A longer content is not kept: no file tool takes one into memory either.
pub const CONTENT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A record that is longer takes no further contents.
pub const RUN_BYTES_MAX: u64 = 512 * 1024 * 1024;
