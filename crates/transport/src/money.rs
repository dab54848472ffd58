//! Amounts as servers and scripts write them: dollars with a point.
//!
//! An amount is kept as a whole number of millionths of a millionth of a dollar, because the price of one token
//! can be a fraction of a millionth and sums must not drift. What is not finite or is negative is no amount: a
//! server must not be able to lower what a run has spent.

use bonded_kernel::Money;

/// The unit of `Money`.
const PICO_PER_DOLLAR: f64 = 1e12;

/// An amount of dollars, if it is one that can be paid.
pub(crate) fn dollars(amount: f64) -> Option<Money> {
    let payable = amount.is_finite() && amount >= 0.0;
    // The conversion saturates, and nothing costs that much.
    payable.then(|| Money((amount * PICO_PER_DOLLAR).round() as u64))
}
