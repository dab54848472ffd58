//! One pass over a text that adds up how often a token begins at each of its bytes.

use super::cuts::{CLASS_OF, CLASSES, NEXT, START};
use super::measured::{self, ALL, Begins, LETTER_OF, LETTERS, PAIRS, UNIT};
use crate::config::Vocabulary;

/// The tokens of a text as they were measured on texts of its kind: near the true count, on either side of it; where
/// nobody knows the vocabulary, the most of those that are measured. Whoever needs room for the text asks a
/// [`Calibration`](super::Calibration) how much to add.
///
/// It is a sum over bytes, so that the time is in proportion to the text, whatever it holds.
pub fn estimate_for(text: &str, vocabulary: Vocabulary) -> u64 {
    let sum = match measured::of(vocabulary) {
        Some(begins) => {
            let mut sum: u64 = 0;
            walk(text, begins, |begun, often| {
                sum += u64::from(u32::from(begun) * often);
            });
            sum
        }
        None => {
            let mut sums = [0_u64; 4];
            walk(text, &ALL, |begun: [u8; 4], often| {
                for (sum, begun) in sums.iter_mut().zip(begun) {
                    *sum += u64::from(u32::from(begun) * often);
                }
            });
            sums.into_iter().fold(0, u64::max)
        }
    };
    // A token is a byte at least.
    sum.div_ceil(UNIT).min(text.len() as u64)
}

/// A token more or less is nothing in a text as long as that.
const HALVED_BYTES: usize = 2_048;

/// Shows, for each byte, how often a token begins there, and how much more often because of the letter before it.
///
/// The two halves of a longer text are gone through side by side, because each step waits for the one before it; what
/// lies across the middle is about a token.
#[inline]
fn walk<T: Copy>(text: &str, begins: &Begins<T>, mut add: impl FnMut(T, u32)) {
    let middle = if text.len() < HALVED_BYTES {
        0
    } else {
        text.len() / 2
    };
    let (left, right) = text.as_bytes().split_at(middle);
    let (mut one, mut other) = (Walk::START, Walk::START);
    for (left, right) in left.iter().zip(right) {
        one.step(*left, begins, &mut add);
        other.step(*right, begins, &mut add);
    }
    for byte in &right[left.len()..] {
        other.step(*byte, begins, &mut add);
    }
}

/// Where in a text the automaton is.
struct Walk {
    state: u8,
    /// The letter before, as [`PAIRS`] has it.
    before: usize,
}

impl Walk {
    const START: Self = Self {
        state: START,
        before: 0,
    };

    #[inline]
    fn step<T: Copy>(&mut self, byte: u8, begins: &Begins<T>, add: &mut impl FnMut(T, u32)) {
        let state = usize::from(self.state);
        // Both are below it; the compiler does not know, and would look each time.
        let class = usize::from(CLASS_OF[usize::from(byte)]) % CLASSES;
        let letter = usize::from(LETTER_OF[usize::from(byte)]) % LETTERS;
        add(begins[state][class], PAIRS[self.before][letter].into());
        self.state = NEXT[state][class];
        self.before = letter;
    }
}
