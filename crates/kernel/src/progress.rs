//! No progress: the same thing again and again.
//!
//! Hashes of what was done are compared, never its meaning: the same call with the same result, a few calls in turn, the same
//! fault with whatever arguments, turns in which nothing was done. Each is counted by itself and forgotten as soon as
//! something else happens.

use std::collections::VecDeque;

use crate::edition::Edition;
use crate::event::{Call, Outcome};
use crate::hash::Hash;
use crate::text::Text;

/// What happened in a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Equal (call, result) pairs.
    same_results: Streak,
    /// Equal faults, whatever the arguments were.
    same_faults: Streak,
    /// Equal turns of a run that works in loops.
    same_turns: Streak,
    /// Several (call, result) pairs in turn.
    cycles: Option<Cycles>,
    /// Turns without a valid action.
    idle_turns: u32,
}

/// The longest cycle that is seen.
const PERIOD_MAX: usize = 4;

/// The pairs that came last, and by period how many in a row equal the one that came so many before.
#[derive(Clone, Debug, Default)]
struct Cycles {
    last: VecDeque<Hash>,
    equal: [u32; PERIOD_MAX],
}

impl Cycles {
    fn push(&mut self, pair: Hash) {
        for (before, equal) in (0..).zip(&mut self.equal) {
            let is_equal = self.last.get(before) == Some(&pair);
            *equal = if is_equal { *equal + 1 } else { 0 };
        }
        self.last.push_front(pair);
        self.last.truncate(PERIOD_MAX);
    }

    /// The shortest cycle of several pairs that came round so many times, and how often it did.
    fn repeated(&self, max: u32) -> Option<(u32, u32)> {
        let rounds = (1..)
            .zip(self.equal)
            .map(|(period, equal)| (period, equal / period + 1));
        rounds.skip(1).find(|(_, rounds)| *rounds >= max)
    }
}

#[derive(Clone, Debug, Default)]
struct Streak {
    last: Option<Hash>,
    length: u32,
    tool: Text,
}

impl Streak {
    fn push(&mut self, tool: &str, parts: &[&[u8]]) -> Hash {
        let mut bytes = Vec::with_capacity(128);
        for part in [tool.as_bytes()].iter().chain(parts) {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        let fingerprint = Hash::of(&bytes);
        if self.last == Some(fingerprint) {
            self.length += 1;
        } else {
            *self = Self {
                last: Some(fingerprint),
                length: 1,
                tool: tool.into(),
            };
        }
        fingerprint
    }

    fn clear(&mut self) {
        self.last = None;
        self.length = 0;
    }
}

impl Progress {
    pub(crate) fn new(edition: Edition) -> Self {
        Self {
            cycles: edition.sees_cycles().then(Cycles::default),
            ..Self::default()
        }
    }

    /// `acts` says whether a call is something done where it is not refused.
    pub(crate) fn decided(&mut self, calls: &[Call], acts: impl Fn(&Call) -> bool) {
        let acts = calls
            .iter()
            .any(|call| call.refused.is_none() && acts(call));
        // One reply is one occasion: a batch that is wrong in one way has gone wrong once.
        let refused = calls
            .iter()
            .find_map(|call| Some((call, call.refused.as_ref()?)));
        if let Some((call, refusal)) = refused {
            self.same_faults
                .push(&call.tool, &[refusal.message.digest_bytes()]);
        }
        self.idle_turns = if acts { 0 } else { self.idle_turns + 1 };
    }

    /// A turn is over that left these results and this memory.
    pub(crate) fn turn_over(&mut self, results: &str, memory: &str) {
        let parts = [results.as_bytes(), memory.as_bytes()];
        self.same_turns.push("", &parts);
    }

    pub(crate) fn turn_failed(&mut self) {
        self.idle_turns += 1;
    }

    pub(crate) fn finished(&mut self, call: &Call, outcome: Outcome, output: &Text) {
        let result = output.digest_bytes();
        let pair = self
            .same_results
            .push(&call.tool, &[call.arguments.digest_bytes(), result]);
        if let Some(cycles) = &mut self.cycles {
            cycles.push(pair);
        }
        match outcome {
            Outcome::Ok => self.same_faults.clear(),
            Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => {
                self.same_faults.push(&call.tool, &[result]);
            }
        }
    }

    /// Says what repeated `max` times in a row, if something did. 0 switches the check off.
    pub(crate) fn stuck(&self, max: u32) -> Option<String> {
        if max == 0 {
            return None;
        }
        if self.idle_turns >= max {
            return Some(format!(
                "{} turns in a row without a valid action",
                self.idle_turns
            ));
        }
        if self.same_results.length >= max {
            let Streak { length, tool, .. } = &self.same_results;
            return Some(format!(
                "the same call of {tool:?} with the same result {length} times in a row"
            ));
        }
        let cycle = self.cycles.as_ref().and_then(|it| it.repeated(max));
        if let Some((period, rounds)) = cycle {
            return Some(format!(
                "the same {period} calls in turn with the same results {rounds} times"
            ));
        }
        if self.same_turns.length >= max {
            let length = self.same_turns.length;
            return Some(format!(
                "{length} turns in a row with the same results and the same memory"
            ));
        }
        if self.same_faults.length >= max {
            let Streak { length, tool, .. } = &self.same_faults;
            return Some(format!(
                "the same fault of {tool:?} {length} times in a row"
            ));
        }
        None
    }
}
