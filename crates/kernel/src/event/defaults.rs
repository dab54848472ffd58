//! What holds where nothing is said is left out of the log: a turn shall take less than a kilobyte.

use crate::money::Money;

pub(super) fn first() -> u32 {
    1
}

pub(super) fn is_first(attempt: &u32) -> bool {
    *attempt == 1
}

pub(super) fn is_zero(index: &u32) -> bool {
    *index == 0
}

pub(super) fn is_instant(latency_ms: &u64) -> bool {
    *latency_ms == 0
}

pub(super) fn is_free(cost: &Money) -> bool {
    cost.0 == 0
}
