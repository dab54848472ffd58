//! The wall clock.
//!
//! It is here and not in the store, which knows no time of its own.

use std::time::{SystemTime, UNIX_EPOCH};

use bonded_kernel::Millis;

/// The wall clock.
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Millis(u64::try_from(millis).unwrap_or(u64::MAX))
}
