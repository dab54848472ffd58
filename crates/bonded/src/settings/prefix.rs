//! The beginning of an id, as people type it for notes, rules and plans.
//!
//! It counts only if it is that of one thing, and if it is long enough not to be a slip: runs alone may be named by less.

use crate::error::{CliError, Code};

/// Shorter beginnings mean nothing.
const LETTERS_MIN: usize = 4;

/// How many candidates a message shows.
pub(crate) const SHOWN_MAX: usize = 6;

/// Whether a text can be the beginning of an id that is written in hexadecimal digits, perhaps with hyphens.
pub(crate) fn is_beginning(named: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (LETTERS_MIN..=36).contains(&named.len()) && named.bytes().all(is_digit)
}

/// The first and the last sixteen bytes that begin so.
pub(crate) fn range(named: &str) -> Option<([u8; 16], [u8; 16])> {
    let digits: String = named.chars().filter(|c| *c != '-').collect();
    (digits.len() <= 32).then_some(())?;
    let filled = |with: char| -> Option<[u8; 16]> {
        let missing = std::iter::repeat_n(with, 32 - digits.len());
        let digits: String = digits.chars().chain(missing).collect();
        Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes())
    };
    Some((filled('0')?, filled('f')?))
}

/// Several things begin so: they are named.
pub(crate) fn ambiguous(named: &str, whose: &str, candidates: &[String]) -> CliError {
    let shown = &candidates[..candidates.len().min(SHOWN_MAX)];
    let message = format!("{named:?} is the beginning of several {whose} ids");
    CliError::new(Code::Usage, message).hint(format!("they are:\n  {}", shown.join("\n  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_a_range_of_ids() {
        let (first, last) = range("6f1c2f0e-3").expect("it is one");
        assert_eq!(first[..5], [0x6f, 0x1c, 0x2f, 0x0e, 0x30]);
        assert_eq!(last[..6], [0x6f, 0x1c, 0x2f, 0x0e, 0x3f, 0xff]);
        assert_eq!(range(&"f".repeat(33)), None);
        assert!(is_beginning("6f1c") && !is_beginning("6f1") && !is_beginning("milk"));
    }
}
