//! How much of a text fits, counted as it will be written in JSON.
//!
//! The built-in tools shorten what they say themselves, so that the model gets whole JSON; the
//! registry's cut is only the backstop.

use bonded_kernel::{Invocation, OUTPUT_KEPT_BYTES_MAX};

/// No tool takes a larger file into memory, nor keeps more of a command's output.
pub(crate) const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What stands before an output that is shown in part: its sizes, and how to read it.
pub(crate) const NOTICE_BYTES_MAX: usize = 192;

/// How many bytes of JSON a tool may fill, given how many its fixed fields need.
pub(crate) fn budget(call: &Invocation, fixed_bytes: usize) -> usize {
    less(call.output_bytes_max(), fixed_bytes)
}

/// The same for a tool that leaves it to the registry to cut what it says, where the model can read on in it. Where
/// it cannot, the tool shortens it itself.
pub(crate) fn paged_budget(call: &Invocation, fixed_bytes: usize) -> usize {
    let shown_max = call.output_bytes_max();
    let kept_max = call.output_handle().and(call.kept_bytes_max()).unwrap_or(0);
    less(
        shown_max.max(kept_max.min(OUTPUT_KEPT_BYTES_MAX)),
        fixed_bytes,
    )
}

fn less(bytes_max: u64, fixed_bytes: usize) -> usize {
    usize::try_from(bytes_max.min(FILE_BYTES_MAX))
        .unwrap_or(usize::MAX)
        .saturating_sub(fixed_bytes)
}

/// The bytes that a character takes inside a JSON string as serde_json writes it.
fn json_bytes_of(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        c => c.len_utf8(),
    }
}

/// The bytes that a text takes inside a JSON string.
pub(crate) fn json_bytes(text: &str) -> usize {
    text.chars().map(json_bytes_of).sum()
}

/// The longest beginning of `text` that takes at most `max` bytes of JSON.
pub(crate) fn head_within(text: &str, max: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += json_bytes_of(c);
        if used > max {
            return &text[..at];
        }
    }
    text
}

/// The beginning of `text` with at most `max` characters.
pub(crate) fn chars_within(text: &str, max: usize) -> &str {
    match text.char_indices().nth(max) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_bytes_are_counted_as_serde_json_writes_them() {
        for text in [
            "",
            "plain",
            "ä\u{1f600}",
            "\u{7f}",
            "a\"b\\c\n\r\t",
            "\0\u{1}\u{1b}\u{1f}\u{8}\u{c}",
        ] {
            let written = serde_json::to_string(text).expect("a string is JSON");
            assert_eq!(json_bytes(text), written.len() - 2, "{text:?}");
        }
    }

    #[test]
    fn a_head_ends_at_a_character_and_fits() {
        for (text, max, head) in [
            ("abc", 3, "abc"),
            ("abc", 2, "ab"),
            ("aä", 2, "a"),
            ("a\nb", 2, "a"),
            ("abc", 0, ""),
        ] {
            assert_eq!(head_within(text, max), head, "{text:?} in {max}");
        }
    }
}
