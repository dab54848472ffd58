//! What a provider's own counts say of the estimates for its model.

use crate::config::Vocabulary;

/// Learns from the counts that come with replies, and says how much room an estimated text needs.
///
/// What a provider has counted is known; only what was said since then needs an estimate. How far the estimates of this run
/// are off tells little about the next text, which may be of another kind: so a small difference counts as none, and a
/// table that is measured for the vocabulary is corrected upwards only.
///
/// All of it follows from numbers that are in the log. Nothing that a provider says can make it err by more than a
/// factor of two and the margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    scale: Scale,
    /// The last request that was counted.
    last: Option<CountPair>,
    /// What came to the conversation between counted requests. Nothing that a provider adds to every request is in it.
    grown: CountPair,
}

/// What texts are estimated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Table(Vocabulary),
    /// They are counted with the vocabulary itself.
    Counts,
}

/// The same text, estimated and as its provider counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CountPair {
    estimated: u64,
    reported: u64,
}

/// A table fits its vocabulary, but each text by chance only.
const BEFORE_KNOWN: u64 = 1_200;
/// What is published of this one is from older models; newer ones cut finer.
const BEFORE_CLAUDE: u64 = 1_270;
/// The most of all tables is above most of them already.
const BEFORE_UNKNOWN: u64 = 1_060;
/// What is added to the estimate of a text, once there was a count.
const MARGIN: u64 = 1_025;
/// So far off is a table on a good day.
const CHANCE: u64 = 60;
const RATIO_MIN_KNOWN: u64 = 1_000;
/// The kinds of text differ in how far the most of all tables is above the true one; in code it is least.
const RATIO_MIN_UNKNOWN: u64 = 950;
const RATIO_MAX: u64 = 2_000;

/// Less says more about one text than about the model.
const GROWN_MIN: u64 = 1_000;
/// Beyond that the older half of it is forgotten.
const GROWN_MAX: u64 = 32_768;

impl Calibration {
    /// Nothing is counted yet.
    pub fn of(vocabulary: Vocabulary) -> Self {
        Self::by(Scale::Table(vocabulary))
    }

    /// For texts that are counted with the vocabulary itself: nothing is added, unless the provider counts more.
    pub(crate) fn of_counts() -> Self {
        Self::by(Scale::Counts)
    }

    fn by(scale: Scale) -> Self {
        Self {
            scale,
            last: None,
            grown: CountPair::default(),
        }
    }

    /// A reply came: its request was estimated at so many tokens, as [`estimate_for`](super::estimate_for) says it, and
    /// the provider counted so many, cached ones with them. A count of 0 says nothing.
    pub fn counted(&mut self, estimated: u64, reported: u64) {
        if reported == 0 || estimated == 0 {
            return;
        }
        let reported = reported.clamp(estimated.div_ceil(2), estimated.saturating_mul(2));
        let now = CountPair {
            estimated,
            reported,
        };
        if let Some(growth) = self.last.and_then(|last| now.since(last)) {
            self.grown.add(growth);
        }
        self.last = Some(now);
    }

    /// The room that a text needs which is estimated at so many tokens.
    pub fn text(&self, estimated: u64) -> u64 {
        let room = u128::from(estimated) * u128::from(self.per_million());
        u64::try_from(room.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// What a text has at least that is estimated at so many tokens. A kind of text is off by less where the vocabulary is
    /// known than where the most of all is taken for it.
    pub(crate) fn at_least(&self, estimated: u64) -> u64 {
        let least = match (self.scale, self.seen()) {
            (Scale::Table(Vocabulary::Unknown), None) => 500,
            (Scale::Table(Vocabulary::Unknown), Some(seen)) => seen.per_mille().min(1_000) * 2 / 3,
            (_, None) => 830,
            (_, Some(seen)) => seen.per_mille().clamp(950, 1_100) * 5 / 6,
        };
        let tokens = u128::from(estimated) * u128::from(least) / 1_000;
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// What tells most about the estimates.
    fn seen(&self) -> Option<CountPair> {
        let last = self.last?;
        Some(if self.grown.estimated < GROWN_MIN {
            last
        } else {
            self.grown
        })
    }

    fn per_million(&self) -> u64 {
        let Some(seen) = self.seen() else {
            return 1_000 * self.before();
        };
        let ratio = match seen.per_mille() {
            ratio if ratio.abs_diff(1_000) <= CHANCE => 1_000,
            ratio => ratio,
        };
        let (least, margin) = match self.scale {
            Scale::Table(Vocabulary::Unknown) => (RATIO_MIN_UNKNOWN, MARGIN),
            Scale::Table(_) => (RATIO_MIN_KNOWN, MARGIN),
            Scale::Counts => (RATIO_MIN_KNOWN, 1_000),
        };
        ratio.clamp(least, RATIO_MAX) * margin
    }

    fn before(&self) -> u64 {
        match self.scale {
            Scale::Counts => 1_000,
            Scale::Table(Vocabulary::Unknown) => BEFORE_UNKNOWN,
            Scale::Table(Vocabulary::Claude) => BEFORE_CLAUDE,
            Scale::Table(_) => BEFORE_KNOWN,
        }
    }
}

impl CountPair {
    /// What came to it since an earlier count, if it only grew.
    fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            estimated: self.estimated.checked_sub(earlier.estimated)?,
            reported: self.reported.checked_sub(earlier.reported)?,
        })
    }

    fn add(&mut self, more: Self) {
        self.estimated = self.estimated.saturating_add(more.estimated);
        self.reported = self.reported.saturating_add(more.reported);
        while self.estimated > GROWN_MAX {
            self.estimated /= 2;
            self.reported /= 2;
        }
    }

    fn per_mille(self) -> u64 {
        let ratio = u128::from(self.reported) * 1_000 / u128::from(self.estimated.max(1));
        u64::try_from(ratio).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIES: [u64; 8] = [
        0,
        1,
        17,
        999,
        1_000_000,
        u64::MAX / 2,
        u64::MAX - 1,
        u64::MAX,
    ];

    fn known() -> Calibration {
        Calibration::of(Vocabulary::O200k)
    }

    #[test]
    fn whatever_a_provider_says_an_estimate_stays_within_a_factor_of_two() {
        for vocabulary in [Vocabulary::Unknown, Vocabulary::Claude] {
            for (one, two) in LIES.into_iter().flat_map(|it| LIES.map(|two| (it, two))) {
                let mut calibration = Calibration::of(vocabulary);
                calibration.counted(5_000, one);
                calibration.counted(9_000, two);
                let counts = [one, two];
                assert!(
                    (970..=2_060).contains(&calibration.text(1_000)),
                    "{counts:?} {calibration:?}"
                );
            }
        }
    }

    #[test]
    fn no_number_is_too_large_for_it() {
        for (estimated, reported) in LIES.into_iter().flat_map(|it| LIES.map(|two| (it, two))) {
            let mut calibration = known();
            for _ in 0..3 {
                calibration.counted(estimated, reported);
                calibration.counted(reported, estimated);
            }
            for tokens in LIES {
                assert!(calibration.text(tokens) >= tokens);
            }
        }
    }

    #[test]
    fn a_count_of_nothing_says_nothing() {
        let mut calibration = known();
        calibration.counted(5_000, 0);
        calibration.counted(0, 5_000);
        assert_eq!(calibration, known());
    }

    #[test]
    fn to_what_is_counted_nothing_is_added_unless_the_provider_counts_more() {
        let mut calibration = Calibration::of_counts();
        assert_eq!(calibration.text(1_000), 1_000);
        calibration.counted(10_000, 10_321);
        assert_eq!(calibration.text(1_000), 1_000);
        calibration.counted(20_000, 22_321);
        assert_eq!(calibration.text(1_000), 1_200);
    }

    #[test]
    fn a_vocabulary_that_cuts_finer_than_its_table_is_followed_at_once() {
        let mut calibration = Calibration::of(Vocabulary::Claude);
        calibration.counted(2_000, 2_600);
        assert_eq!(calibration.text(1_000), 1_333);
    }

    #[test]
    fn what_a_provider_adds_to_every_request_counts_only_until_something_came_to_it() {
        let mut calibration = known();
        calibration.counted(1_000, 1_500);
        assert_eq!(calibration.text(1_000), 1_538);
        calibration.counted(3_000, 3_500);
        assert_eq!(calibration.text(1_000), 1_025);
    }

    #[test]
    fn a_known_table_is_not_corrected_downwards_and_an_unknown_one_a_little() {
        for (vocabulary, room) in [(Vocabulary::Qwen, 1_025), (Vocabulary::Unknown, 974)] {
            let mut calibration = Calibration::of(vocabulary);
            calibration.counted(10_000, 7_000);
            assert_eq!(calibration.text(1_000), room, "{vocabulary:?}");
        }
    }
}
