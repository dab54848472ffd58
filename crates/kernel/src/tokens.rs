//! How many tokens a text has at most, where nobody knows the model's vocabulary.

/// Longer runs of letters are no words: keys, encodings, noise. Vocabularies hold few pieces of those.
const WORD_BYTES_MAX: usize = 12;

/// What a message costs besides its text: role and separators.
pub(crate) const MESSAGE_TOKENS: u64 = 4;

/// What a call costs besides its name and arguments.
pub(crate) const CALL_TOKENS: u64 = 8;

/// An estimate that errs upwards. Words count half their letters, a blank before a word nothing, and
/// everything else a token a byte: no vocabulary in use cuts prose finer, and what is not prose is cut
/// into bytes at worst.
pub fn estimate(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut tokens = 0;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let letters = length(rest, u8::is_ascii_alphabetic);
        tokens += match letters {
            ..=WORD_BYTES_MAX => letters.div_ceil(2),
            _ => letters,
        };
        let others = length(&rest[letters..], |byte| !byte.is_ascii_alphabetic());
        at += letters + others;
        // The last one stands before a word, if any follows.
        let before_word = others > 0 && at < bytes.len() && bytes[at - 1] == b' ';
        tokens += others - usize::from(before_word);
    }
    tokens as u64
}

/// How many bytes at the beginning are of a kind.
fn length(bytes: &[u8], is_kind: impl Fn(&u8) -> bool) -> usize {
    bytes
        .iter()
        .position(|byte| !is_kind(byte))
        .unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::estimate;

    #[test]
    fn what_is_not_prose_counts_a_token_a_byte() {
        for text in ["========", "12345678", "    \n\n\t\t", "äöüß", "}]}]}]}]"] {
            assert_eq!(estimate(text), text.len() as u64, "{text:?}");
        }
        assert_eq!(estimate(&"a".repeat(200_000)), 200_000);
        assert_eq!(estimate(&"#".repeat(3_200)), 3_200);
    }

    #[test]
    fn prose_counts_less_than_half_its_bytes() {
        let text = "The quick brown fox jumps over the lazy dog and runs into the dark forest";
        let tokens = estimate(text);
        assert!(tokens * 2 <= text.len() as u64 + 10, "{tokens}");
        assert!(
            tokens >= 16,
            "no vocabulary needs more than a token a word here"
        );
    }

    #[test]
    fn a_blank_counts_unless_a_word_follows_it() {
        for (text, tokens) in [("a ", 2), (" a", 1), ("  a", 2), (" 1", 2), ("a. b", 3)] {
            assert_eq!(estimate(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn single_letters_count_one_each() {
        assert_eq!(estimate("a b c d e"), 5);
        assert_eq!(estimate(""), 0);
    }
}
