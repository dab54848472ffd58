//! One pass over a text that adds up how often a token begins at each of its bytes.

use super::cuts::{CLASSES, START, STATES};
use super::measured::{self, LETTERS, OF_ALL, Tables, UNIT};
use crate::config::Vocabulary;

/// The tokens of a text as they were measured on texts of its kind: near the true count, on either side of it; where
/// nobody knows the vocabulary, the most of those that are measured. Whoever needs room for the text asks a
/// [`Calibration`](super::Calibration) how much to add.
///
/// It is a sum over bytes, so that the time is in proportion to the text, whatever it holds.
pub fn estimate_for(text: &str, vocabulary: Vocabulary) -> u64 {
    let sum = match measured::of(vocabulary) {
        Some(tables) => walk::<OneSum>(text, tables),
        None => walk::<FourSums>(text, &OF_ALL) + UNIT * repeated(text),
    };
    // A token is a byte at least.
    sum.div_ceil(UNIT).min(text.len() as u64)
}

/// Shorter runs are in the tables.
const RUN_BYTES_MIN: usize = 32;
/// So much of a run is a token where nobody knows the vocabulary: some have words of 64 equal letters, others of four.
const RUN_BYTES_PER_TOKEN: u64 = 4;

/// The tokens that runs of one letter add where it is not known how long those are that the vocabulary has. White space is
/// left out: every vocabulary knows indentation.
fn repeated(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (0, 0);
    // A run that counts holds a whole block, wherever it begins, so that most of a text is looked at a block at a time.
    while let Some(block) = bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk::<RUN_BLOCK>())
    {
        if u128::from_ne_bytes(*block) != u128::from_ne_bytes([block[0]; RUN_BLOCK]) {
            at += RUN_BLOCK;
            continue;
        }
        let is_equal = |byte: &&u8| **byte == block[0];
        let before = bytes[..at].iter().rev().take_while(is_equal).count();
        let (blocks, _) = bytes[at..].as_chunks::<RUN_BLOCK>();
        let whole = RUN_BLOCK * blocks.iter().take_while(|it| *it == block).count();
        let from_here = whole + bytes[at + whole..].iter().take_while(is_equal).count();
        let run = before + from_here;
        if run >= RUN_BYTES_MIN && !block[0].is_ascii_whitespace() {
            tokens += run as u64 / RUN_BYTES_PER_TOKEN;
        }
        at += from_here;
    }
    tokens
}

/// Half of the shortest run that counts: one of that length holds a block at any multiple of this.
const RUN_BLOCK: usize = RUN_BYTES_MIN / 2;

/// A token more or less is nothing in a text as long as that.
const HALVED_BYTES: usize = 2_048;

/// Adds up how often tokens begin in the parts of a text.
trait Sums: Default {
    /// How often a token begins at a step, by vocabularies.
    type Begun: Copy;

    /// At each of some bytes, and how much more often because of the letter before it.
    fn add(&mut self, begun: Self::Begun, often: u8, bytes: u32);

    /// After at most [`PART_BYTES`] bytes, so that nothing overflows.
    fn part_is_over(&mut self);

    /// The largest of all sums.
    fn largest(self) -> u64;
}

/// That of one vocabulary.
#[derive(Default)]
struct OneSum(u64);

impl Sums for OneSum {
    type Begun = u8;

    #[inline]
    fn add(&mut self, begun: u8, often: u8, bytes: u32) {
        self.0 += u64::from(u32::from(begun) * u32::from(often) * bytes);
    }

    fn part_is_over(&mut self) {}

    fn largest(self) -> u64 {
        self.0
    }
}

/// Those of the four that are measured, side by side in one word: the product of two bytes has room in 16 bits, and the
/// sum of a part in 32.
#[derive(Default)]
struct FourSums {
    even: u64,
    odd: u64,
    sums: [u64; 4],
}

/// The lower 16 bits of each half of a word.
const EVEN_LANES: u64 = 0x0000_ffff_0000_ffff;

impl Sums for FourSums {
    type Begun = u64;

    #[inline]
    fn add(&mut self, begun: u64, often: u8, bytes: u32) {
        let products = begun * u64::from(often);
        self.even += (products & EVEN_LANES) * u64::from(bytes);
        self.odd += ((products >> 16) & EVEN_LANES) * u64::from(bytes);
    }

    fn part_is_over(&mut self) {
        let (even, odd) = (
            std::mem::take(&mut self.even),
            std::mem::take(&mut self.odd),
        );
        let lower = u64::from(u32::MAX);
        let part = [even & lower, odd & lower, even >> 32, odd >> 32];
        for (sum, part) in self.sums.iter_mut().zip(part) {
            *sum += part;
        }
    }

    fn largest(self) -> u64 {
        self.sums.into_iter().fold(0, u64::max)
    }
}

/// No sum of so many products of two bytes is larger than 32 bits.
const PART_BYTES: usize = 1 << 16;

/// Adds up how often a token begins at each byte.
///
/// The two halves of a longer text are gone through side by side, because each step waits for the one before it; what
/// lies across the middle is about a token.
fn walk<S: Sums>(text: &str, tables: &Tables<S::Begun>) -> u64 {
    let middle = if text.len() < HALVED_BYTES {
        0
    } else {
        text.len() / 2
    };
    let (left, right) = text.as_bytes().split_at(middle);
    let (beside, last) = right.split_at(left.len());
    let (mut one, mut other, mut sums) = (Walk::START, Walk::START, S::default());
    let parts = left
        .chunks(PART_BYTES / 2)
        .zip(beside.chunks(PART_BYTES / 2));
    for (left, right) in parts {
        let (left_blocks, left_rest) = left.as_chunks::<RUN_BLOCK>();
        let (right_blocks, right_rest) = right.as_chunks::<RUN_BLOCK>();
        for (left, right) in left_blocks.iter().zip(right_blocks) {
            if one.rests_in(left, tables) && other.rests_in(right, tables) {
                one.rest(left[0], tables, &mut sums);
                other.rest(right[0], tables, &mut sums);
                continue;
            }
            for (left, right) in left.iter().zip(right) {
                one.step(*left, tables, &mut sums);
                other.step(*right, tables, &mut sums);
            }
        }
        for (left, right) in left_rest.iter().zip(right_rest) {
            one.step(*left, tables, &mut sums);
            other.step(*right, tables, &mut sums);
        }
        sums.part_is_over();
    }
    // Shorter than a part: a text that is not halved, or one byte.
    for byte in last {
        other.step(*byte, tables, &mut sums);
    }
    sums.part_is_over();
    sums.largest()
}

/// Where in a text the automaton is.
struct Walk {
    /// The first entry of its state's row.
    row: u16,
    /// The first entry of the row of the letter before, in the table of pairs.
    before: u16,
}

impl Walk {
    const START: Self = Self {
        row: START as u16 * CLASSES as u16,
        before: 0,
    };

    #[inline(always)]
    fn step<S: Sums>(&mut self, byte: u8, tables: &Tables<S::Begun>, sums: &mut S) {
        let (at, pair, before) = self.at(byte, tables);
        sums.add(tables.begins[at], tables.pairs[pair], 1);
        self.row = tables.next[at];
        self.before = before;
    }

    /// The entries for a byte, and where a pair begins with it.
    #[inline(always)]
    fn at<T>(&self, byte: u8, tables: &Tables<T>) -> (usize, usize, u16) {
        let [class, letter] = tables.of_byte[usize::from(byte)].to_le_bytes();
        // They are below it anyway; the compiler does not know, and would look each time.
        let at = usize::from(self.row | u16::from(class)) % (STATES * CLASSES);
        let pair = usize::from(self.before | u16::from(letter)) % (LETTERS * LETTERS);
        (at, pair, u16::from(letter) * LETTERS as u16)
    }

    /// Whether a block is one byte again and again, which leads from here to here.
    #[inline(always)]
    fn rests_in<T>(&self, block: &[u8; RUN_BLOCK], tables: &Tables<T>) -> bool {
        if block[0] != block[RUN_BLOCK - 1]
            || u128::from_ne_bytes(*block) != u128::from_ne_bytes([block[0]; RUN_BLOCK])
        {
            return false;
        }
        let (at, _, before) = self.at(block[0], tables);
        tables.next[at] == self.row && self.before == before
    }

    /// All steps of a block in which it rests.
    #[inline(always)]
    fn rest<S: Sums>(&self, byte: u8, tables: &Tables<S::Begun>, sums: &mut S) {
        let (at, pair, _) = self.at(byte, tables);
        sums.add(tables.begins[at], tables.pairs[pair], RUN_BLOCK as u32);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokens::measured::of;

    /// Both halves, a byte at a time.
    fn stepped<S: Sums>(text: &str, tables: &Tables<S::Begun>) -> u64 {
        let middle = if text.len() < HALVED_BYTES {
            0
        } else {
            text.len() / 2
        };
        let (left, right) = text.as_bytes().split_at(middle);
        let mut sums = S::default();
        for half in [left, right] {
            let mut walk = Walk::START;
            for part in half.chunks(PART_BYTES / 2) {
                part.iter()
                    .for_each(|byte| walk.step(*byte, tables, &mut sums));
                sums.part_is_over();
            }
        }
        sums.largest()
    }

    proptest! {
        #[test]
        fn a_run_of_one_letter_is_counted_as_if_each_were_looked_at(
            parts in prop::collection::vec(("[a-c0-9 \n.é漢]", 1_usize..4_000), 1..40),
        ) {
            let text: String = parts.iter().map(|(text, times)| text.repeat(*times)).collect();
            let tables = of(Vocabulary::Claude).expect("a known one");
            prop_assert_eq!(walk::<OneSum>(&text, tables), stepped::<OneSum>(&text, tables));
            prop_assert_eq!(walk::<FourSums>(&text, &OF_ALL), stepped::<FourSums>(&text, &OF_ALL));
        }
    }
}
