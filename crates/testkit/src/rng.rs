//! A small generator: the same numbers on every machine and with every version of every library.

use std::time::{SystemTime, UNIX_EPOCH};

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator for one purpose, so that what is drawn for one does not shift what is drawn for another.
    pub fn derive(seed: u64, purpose: &str, numbers: &[u64]) -> Self {
        let mut rng = Self::new(seed);
        let letters = purpose.bytes().map(u64::from);
        for part in letters.chain(numbers.iter().copied()) {
            rng.0 = rng.next_u64() ^ part;
        }
        rng
    }

    /// A generator for one part of a test, each of which draws for itself.
    pub fn of(seed: u64, part: u64) -> Self {
        Self(seed.wrapping_mul(1000).wrapping_add(part))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64().checked_rem(end).unwrap_or_default()
    }

    /// A number from `first` to `last`, both included.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// True this often in a thousand.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// One of the values, which are not empty.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    /// The same without taking it out.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    /// One of the values, each as often as its weight says; the weights are not all 0.
    pub fn weighted<T: Copy>(&mut self, choices: &[(u32, T)]) -> T {
        let total: u64 = choices.iter().map(|(weight, _)| u64::from(*weight)).sum();
        let mut at = self.below(total);
        for (weight, value) in choices {
            match at.checked_sub(u64::from(*weight)) {
                Some(rest) => at = rest,
                None => return *value,
            }
        }
        choices[0].1
    }
}

/// A number that the environment says.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// The seed that this variable says, or another one each time.
pub fn seed(name: &str) -> u64 {
    number(name).unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    })
}

/// Says something past the test harness, such as the seed.
#[expect(
    clippy::print_stderr,
    reason = "the seed must be known to repeat what was found"
)]
pub fn tell(line: &str) {
    eprintln!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut rng = Rng::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(numbers, published);
    }

    #[test]
    fn every_purpose_has_numbers_of_its_own() {
        let first = |purpose, number| Rng::derive(7, purpose, &[number]).next_u64();
        assert_eq!(first("tool", 1), first("tool", 1));
        assert_ne!(first("tool", 1), first("tool", 2));
        assert_ne!(first("tool", 1), first("model", 1));
    }

    #[test]
    fn a_weight_of_zero_is_never_drawn() {
        let mut rng = Rng::new(3);
        assert!((0..1000).all(|_| rng.weighted(&[(0, 'a'), (1, 'b'), (0, 'c'), (3, 'd')]) > 'a'));
        assert!((0..1000).all(|_| rng.weighted(&[(5, 'a'), (0, 'b')]) == 'a'));
    }
}
