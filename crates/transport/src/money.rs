//! Amounts as servers and scripts write them: dollars with a point.

use bonded_kernel::Money;

const PICO_PER_DOLLAR: f64 = 1e12;

/// An amount of dollars, if it is one that can be paid.
pub(crate) fn dollars(amount: f64) -> Option<Money> {
    let payable = amount.is_finite() && amount >= 0.0;
    // The conversion saturates, and nothing costs that much.
    payable.then(|| Money((amount * PICO_PER_DOLLAR).round() as u64))
}
