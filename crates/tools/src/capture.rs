//! What is kept of a command's output: its beginning and its end, however much it says.
//!
//! Memory is bounded while the command runs, and what is shown is bounded once more when it has ended, because
//! the room for it is counted in JSON: a byte may take six there. The end is kept since that is where errors
//! are, and the beginning since that says what was done.

use std::collections::VecDeque;

use crate::bounds::json_bytes;

/// The marker between beginning and end, with the largest number in it, as JSON.
const MARKER_BYTES: usize = 64;

/// One stream. Three quarters of the limit hold its beginning, one quarter its end.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    head_max: usize,
    tail: VecDeque<u8>,
    tail_max: usize,
    total: u64,
}

/// A stream as the model is shown it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) bytes: u64,
    pub(crate) truncated: bool,
}

impl Capture {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let tail_max = bytes_max / 4;
        Self {
            head: Vec::new(),
            head_max: bytes_max - tail_max,
            tail: VecDeque::new(),
            tail_max,
            total: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.head_max - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_max)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_max);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// The most JSON that all of it may take: six bytes for one.
    pub(crate) fn json_bytes_max(&self) -> u64 {
        self.total.saturating_mul(6)
    }

    fn is_whole(&self) -> bool {
        self.total == (self.head.len() + self.tail.len()) as u64
    }

    /// How much JSON the whole stream would take.
    ///
    /// Without a bound where something was dropped while reading: the marker has to be shown then.
    fn wants(&mut self) -> usize {
        if self.is_whole() {
            lossy_bytes(&self.head) + lossy_bytes(self.tail.make_contiguous())
        } else {
            usize::MAX
        }
    }

    /// The stream as a text, where nobody counts its bytes.
    pub(crate) fn shown(self, max: usize) -> String {
        self.show(max).text
    }

    /// The stream in at most `max` bytes of JSON. Bytes that are not UTF-8 are shown as U+FFFD.
    fn show(mut self, max: usize) -> Shown {
        let fits = self.wants() <= max;
        let bytes = self.total;
        if fits {
            self.head.extend(&self.tail);
            let text = String::from_utf8_lossy(&self.head).into_owned();
            return Shown {
                text,
                bytes,
                truncated: false,
            };
        }
        let max = max.saturating_sub(MARKER_BYTES);
        if self.is_whole() {
            // Nothing was dropped while reading, so that the end may lie in the head's part.
            self.head.extend(&self.tail);
            self.tail = self.head.iter().copied().collect();
        }
        let head = first_within(&self.head, max - max / 4);
        let tail = last_within(self.tail.make_contiguous(), max / 4);
        let left_out = bytes.saturating_sub((head.len() + tail.len()) as u64);
        let text = format!(
            "{}\n[... {left_out} bytes left out ...]\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail),
        );
        Shown {
            text,
            bytes,
            truncated: true,
        }
    }
}

/// Shows both streams of a command in at most `max` bytes of JSON together. Each may use what the other
/// does not need; where both want more than there is, they get half each.
pub(crate) fn show_both(mut out: Capture, mut err: Capture, max: usize) -> (Shown, Shown) {
    let (out_wants, err_wants) = (out.wants(), err.wants());
    let out_max = out_wants.min(max - err_wants.min(max / 2));
    (out.show(out_max), err.show(max - out_max))
}

/// The JSON that bytes take when they are shown as text.
fn lossy_bytes(bytes: &[u8]) -> usize {
    let replacement = char::REPLACEMENT_CHARACTER.len_utf8();
    let chunk_bytes = |chunk: std::str::Utf8Chunk<'_>| {
        json_bytes(chunk.valid()) + replacement * usize::from(!chunk.invalid().is_empty())
    };
    bytes.utf8_chunks().map(chunk_bytes).sum()
}

/// The largest number of bytes, by repeated proportional guesses, that fits when `part` is taken.
fn length_within<'a>(length: usize, max: usize, part: impl Fn(usize) -> &'a [u8]) -> usize {
    let mut length = length.min(max);
    loop {
        let used = lossy_bytes(part(length));
        if used <= max {
            return length;
        }
        // Strictly shorter, since max < used.
        length = (length as u128 * max as u128 / used as u128) as usize;
    }
}

/// Cut between characters.
fn first_within(bytes: &[u8], max: usize) -> &[u8] {
    let mut length = length_within(bytes.len(), max, |length| &bytes[..length]);
    while length < bytes.len() && length > 0 && is_continuation(bytes[length]) {
        length -= 1;
    }
    &bytes[..length]
}

/// Begun between characters.
fn last_within(bytes: &[u8], max: usize) -> &[u8] {
    let length = length_within(bytes.len(), max, |length| &bytes[bytes.len() - length..]);
    let mut from = bytes.len() - length;
    while from > 0 && from < bytes.len() && is_continuation(bytes[from]) {
        from += 1;
    }
    &bytes[from..]
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(bytes_max: usize, chunks: &[&[u8]]) -> Capture {
        let mut capture = Capture::new(bytes_max);
        for chunk in chunks {
            capture.push(chunk);
        }
        capture
    }

    #[test]
    fn what_fits_is_shown_whole_and_in_order_however_it_was_chunked() {
        let text = "0123456789 äöü 0123456789";
        for size in 1..text.len() {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let shown = capture(1000, &chunks).show(1000);
            assert_eq!(shown.text, text, "in chunks of {size}");
            assert!(!shown.truncated);
        }
    }

    #[test]
    fn a_long_stream_keeps_its_first_three_quarters_and_its_last_quarter() {
        let mut long = Capture::new(400);
        for number in 0..100_000 {
            long.push(format!("{number}\n").as_bytes());
        }
        assert!(long.head.len() + long.tail.len() <= 400);
        let shown = long.show(400);
        assert!(shown.truncated);
        assert_eq!(shown.bytes, 588_890);
        assert!(shown.text.starts_with("0\n1\n2\n"), "{}", shown.text);
        assert!(shown.text.ends_with("99998\n99999\n"), "{}", shown.text);
        assert!(json_bytes(&shown.text) <= 400);
        let kept = shown.text.len() - shown.text.find("\n[...").expect("a marker");
        assert!(kept > 80, "the end is kept: {kept}");
    }

    #[test]
    fn the_marker_counts_exactly_the_bytes_that_are_left_out() {
        let bytes = [&[b'x'; 1000][..], b"end"].concat();
        let shown = capture(5000, &[&bytes]).show(500);
        assert!(shown.text.ends_with("xend"), "{}", shown.text);
        let kept = shown.text.bytes().filter(|b| *b == b'x').count();
        let marker = format!("[... {} bytes left out ...]", 1000 - kept);
        assert!(shown.text.contains(&marker), "{}", shown.text);
    }

    #[test]
    fn both_streams_fit_together_whatever_the_bytes_are() {
        let kinds: [&[u8]; 5] = [
            b"plain ",
            b"\x1b[31m",
            b"\xff\xfe",
            "ä€😀".as_bytes(),
            b"\"\\\n",
        ];
        for (out, err) in kinds.iter().flat_map(|a| kinds.iter().map(move |b| (a, b))) {
            for max in [0, 1, 63, 64, 100, 1000, 10_000] {
                let (out, err) = (out.repeat(3000), err.repeat(700));
                let (out, err) = (capture(max, &[&out]), capture(max, &[&err]));
                let (out, err) = show_both(out, err, max);
                let used = json_bytes(&out.text) + json_bytes(&err.text);
                // Two markers remain even where there is no room for anything.
                assert!(used <= max.max(2 * MARKER_BYTES), "{used} of {max}");
            }
        }
    }

    #[test]
    fn a_quiet_stream_leaves_its_room_to_the_other() {
        let (out, err) = show_both(capture(1000, &[&[b'o'; 900]]), capture(1000, &[b"e"]), 1000);
        assert!(!out.truncated && !err.truncated);
        let (out, err) = show_both(capture(1000, &[b"o"]), capture(1000, &[&[b'e'; 900]]), 1000);
        assert!(!out.truncated && !err.truncated);
    }
}
