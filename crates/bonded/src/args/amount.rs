//! Durations and numbers of tokens, as values of flags.
//!
//! What is read is the kernel's: here only the bounds of the command line are added. A bare number counts what it always
//! counted for its flag.

use std::time::Duration;

use bonded_kernel::{BadMeasure, Measure};

/// A hundred years: nothing here waits for longer, and every clock can count it.
const MS_MAX: u64 = 36_500 * 86_400_000;

/// For flags whose bare number is seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, BadMeasure> {
    Measure::Seconds
        .read(text, 0..=MS_MAX)
        .map(Duration::from_millis)
}

/// The same for what cannot be over at once.
pub(super) fn some_seconds(text: &str) -> Result<Duration, BadMeasure> {
    Measure::Seconds
        .read(text, 1..=MS_MAX)
        .map(Duration::from_millis)
}

/// For flags whose bare number is milliseconds.
pub(super) fn milliseconds(text: &str) -> Result<u64, BadMeasure> {
    Measure::Ms.read(text, 0..=MS_MAX)
}

pub(super) fn tokens(text: &str) -> Result<u64, BadMeasure> {
    Measure::Tokens.read(text, 0..=u64::MAX)
}
