//! How ids, times and enums are written into columns.

use bonded_kernel::Millis;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::StoreFault;

/// Numbers in the file are signed; what is beyond is out of this world anyway.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A negative number can only be damage, and counts as nothing.
pub(super) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Milliseconds since 1970.
pub(super) fn time(at: Millis) -> i64 {
    number(at.0)
}

/// The inverse of `time`.
pub(super) fn at(column: i64) -> Millis {
    Millis(count(column))
}

/// For columns that hold a whole value.
pub(super) fn json(value: &impl Serialize) -> Result<String, StoreFault> {
    Ok(serde_json::to_string(value)?)
}

/// An enum that is a plain word in JSON, as that word.
pub(super) fn word(value: &impl Serialize) -> Result<String, StoreFault> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(word) => Ok(word),
        other => Err(StoreFault::Damaged(format!("{other} is not a known word"))),
    }
}

/// The inverse of `word`; a word that is none is damage.
pub(super) fn from_word<T: DeserializeOwned>(word: &str) -> Result<T, StoreFault> {
    Ok(serde_json::from_value(word.into())?)
}

/// An id's column.
pub(super) fn bytes(column: &[u8]) -> Result<[u8; 16], StoreFault> {
    column
        .try_into()
        .map_err(|_| StoreFault::Damaged(format!("an id of {} bytes", column.len())))
}
