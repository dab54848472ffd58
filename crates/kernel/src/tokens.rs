//! How many tokens a text has, before they are counted.
//!
//! A request is weighed before it is sent, and no provider counts in advance. So texts are estimated by tables that were
//! measured with the vocabularies themselves, and each count that comes back with a reply corrects the estimates for that
//! model.

mod bytewise;
mod calibration;
mod count;
mod cuts;
mod gauge;
mod measured;

pub use bytewise::bytewise as estimate;
pub use calibration::Calibration;
pub use count::estimate_for;
pub(crate) use gauge::Gauge;

/// What a message costs besides its text: role and separators.
pub(crate) const MESSAGE_TOKENS: u64 = 4;

/// What a call costs besides its name and arguments.
pub(crate) const CALL_TOKENS: u64 = 8;

#[cfg(test)]
mod tests;
