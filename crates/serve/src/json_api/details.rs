//! What a program can act upon when it is refused, whatever it asked: `details` of the envelope of errors.

use serde::Serialize;

/// A body that is too long.
#[derive(Debug, Serialize)]
pub(crate) struct BytesDetails {
    pub(crate) bytes_max: usize,
}

/// A body of too many values.
#[derive(Debug, Serialize)]
pub(crate) struct ValuesDetails {
    pub(crate) values_max: usize,
}

/// Somebody who asks too often.
#[derive(Debug, Serialize)]
pub(crate) struct RateDetails {
    pub(crate) limit: u32,
    pub(crate) window_seconds: u64,
    pub(crate) retry_after_seconds: u64,
}
