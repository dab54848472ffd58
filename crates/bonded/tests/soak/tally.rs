//! What was answered, by door: rightly, with a refusal that was due, or wrongly.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of more wrong answers only the number is told.
const WRONG_SHOWN_MAX: usize = 20;
const WRONG_LETTERS_MAX: usize = 600;

#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    by_door: BTreeMap<(&'static str, String), u64>,
    wrong: Vec<String>,
    wrong_count: u64,
}

impl Tally {
    pub(crate) fn right(&self, door: &'static str) {
        self.count(door, "right");
    }

    /// Something other than an answer that had to be expected: a fault that was made, and what it was called.
    pub(crate) fn count(&self, door: &'static str, what: &str) {
        *self
            .lock()
            .by_door
            .entry((door, what.to_owned()))
            .or_default() += 1;
    }

    pub(crate) fn is_wrong(&self, door: &'static str, what: &str) {
        self.count(door, "WRONG");
        let mut counts = self.lock();
        counts.wrong_count += 1;
        if counts.wrong.len() < WRONG_SHOWN_MAX {
            let what: String = what.chars().take(WRONG_LETTERS_MAX).collect();
            counts.wrong.push(format!("{door}: {what}"));
        }
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        let counts = self.lock();
        let mut wrong = counts.wrong.clone();
        if counts.wrong_count > 0 {
            wrong.push(format!("{} wrong answers", counts.wrong_count));
        }
        wrong
    }

    pub(crate) fn report(&self) -> String {
        let counts = self.lock();
        let mut lines = format!("answers, {} of them wrong\n", counts.wrong_count);
        for ((door, what), count) in &counts.by_door {
            // Writing to a text cannot fail.
            let _ = writeln!(lines, "  {door:<18} {what:<40} {count:>8}");
        }
        lines
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
