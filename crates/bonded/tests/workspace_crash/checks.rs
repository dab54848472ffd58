//! What must hold after the storm.

mod agents;
mod firings;
mod memory;
mod writes;

use crate::remains::Remains;

/// Looks at everything; gives a line about how much that was.
pub(crate) fn all(remains: &Remains) -> String {
    let written = writes::check(remains);
    let fired = firings::check(remains);
    let worked = agents::check(remains);
    let remembered = memory::check(remains);
    let verified = remains.place.bonded(&["verify", "--all"]);
    // Whole, with nothing kept elsewhere.
    assert_eq!(verified.code, Some(7), "{verified:?}");
    let again = remains.sent_again;
    format!("{written} writes ({again} sent again), {fired} runs, {worked} loops, {remembered}")
}
