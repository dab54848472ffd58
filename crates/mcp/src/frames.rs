//! The events of one stream, numbered from 1: those that wait to be sent, and the last of those that were, for a
//! client that lost them.
//!
//! Events get their numbers when they are taken in and keep them. What was sent may still have been lost on the
//! way, so the last of it is kept within a bound of bytes; what waits is bounded by number, and whoever fills it
//! must look at `has_room`.

use std::collections::VecDeque;

use axum::body::Bytes;

/// How many may wait before nothing more is taken in.
const WAITING_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Frames {
    /// Those that were sent and are kept, then those that wait.
    all: VecDeque<Bytes>,
    /// The number of the first of them.
    first: u64,
    /// How many of them were sent.
    sent: usize,
    /// The bytes of those that were sent and are kept.
    sent_bytes: usize,
    /// The most of that; 0 where nobody may come back.
    kept_bytes_max: usize,
}

impl Frames {
    /// Of those that were sent, as many as fit are kept.
    pub(super) fn keeping(kept_bytes_max: usize) -> Self {
        Self {
            all: VecDeque::new(),
            first: 1,
            sent: 0,
            sent_bytes: 0,
            kept_bytes_max,
        }
    }

    /// The number of the next one to come.
    pub(super) fn next_number(&self) -> u64 {
        self.first.saturating_add(self.all.len() as u64)
    }

    /// The number of the last one that was sent; 0 before the first.
    pub(super) fn last_sent(&self) -> u64 {
        self.first.saturating_add(self.sent as u64) - 1
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.sent < self.all.len()
    }

    pub(super) fn has_room(&self) -> bool {
        self.all.len() - self.sent < WAITING_MAX
    }

    pub(super) fn push(&mut self, frame: Bytes) {
        self.all.push_back(frame);
    }

    /// The next one that waits; from now on it counts as sent.
    pub(super) fn send(&mut self) -> Option<Bytes> {
        let frame = self.all.get(self.sent)?.clone();
        self.sent += 1;
        self.sent_bytes += frame.len();
        while self.sent_bytes > self.kept_bytes_max {
            self.drop_first();
        }
        Some(frame)
    }

    /// The client has those up to this number: they are forgotten, and what was sent after them waits again.
    pub(super) fn take_up(&mut self, last: u64) {
        while self.sent > 0 && self.first <= last {
            self.drop_first();
        }
        (self.sent, self.sent_bytes) = (0, 0);
    }

    /// Forgets the oldest. The numbers of the others stay as they are.
    fn drop_first(&mut self) {
        let bytes = self.all.pop_front().map_or(0, |frame| frame.len());
        self.first += 1;
        self.sent = self.sent.saturating_sub(1);
        self.sent_bytes = self.sent_bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(number: u64) -> Bytes {
        number.to_string().into()
    }

    fn rest(frames: &mut Frames) -> Vec<u64> {
        let sent = std::iter::from_fn(|| frames.send());
        sent.map(|frame| String::from_utf8_lossy(&frame).parse().expect("a number"))
            .collect()
    }

    #[test]
    fn who_comes_back_gets_what_was_missed_and_it_once() {
        let rows: [(u64, &[u64]); 5] = [
            (0, &[1, 2, 3, 4]),
            (1, &[2, 3, 4]),
            (3, &[4]),
            (4, &[]),
            (u64::MAX, &[]),
        ];
        for (last, expected) in rows {
            let mut frames = Frames::keeping(100);
            for number in 1..=4 {
                assert_eq!(frames.next_number(), number);
                frames.push(frame(number));
            }
            assert_eq!(rest(&mut frames), [1, 2, 3, 4]);
            assert_eq!(frames.last_sent(), 4);
            frames.take_up(last);
            assert_eq!(rest(&mut frames), expected, "after {last}");
            assert!(rest(&mut frames).is_empty());
        }
    }

    proptest! {
        #[test]
        fn what_was_not_sent_is_never_lost_and_what_was_is_kept_within_the_bound(
            steps in prop::collection::vec((0..3_u8, 0..40_u64), 0..200),
            bytes_max in 0..30_usize,
        ) {
            let mut frames = Frames::keeping(bytes_max);
            let mut sent_max = 0;
            for (step, last) in steps {
                match step {
                    0 => frames.push(frame(frames.next_number())),
                    1 => {
                        let expected = frames.last_sent() + 1;
                        if let Some(sent) = frames.send() {
                            prop_assert_eq!(sent, frame(expected));
                            sent_max = sent_max.max(expected);
                        }
                    }
                    _ => frames.take_up(last),
                }
                let kept: usize = frames.all.iter().take(frames.sent).map(Bytes::len).sum();
                prop_assert!(kept <= bytes_max && kept == frames.sent_bytes);
                // The first that was never sent is still there, or not there yet.
                prop_assert!(frames.first <= sent_max + 1);
            }
        }
    }
}
