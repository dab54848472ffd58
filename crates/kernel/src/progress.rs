//! No progress: the same thing again and again.

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
    /// Turns without a valid action.
    idle_turns: u32,
}

#[derive(Clone, Debug, Default)]
struct Streak {
    last: Option<Hash>,
    length: u32,
    tool: Text,
}

impl Streak {
    fn push(&mut self, tool: &str, parts: &[&[u8]]) {
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
    }

    fn clear(&mut self) {
        self.last = None;
        self.length = 0;
    }
}

impl Progress {
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
        self.same_results
            .push(&call.tool, &[call.arguments.digest_bytes(), result]);
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
