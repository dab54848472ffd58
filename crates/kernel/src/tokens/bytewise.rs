//! How many tokens a text has at most, whatever the vocabulary: the estimate that logs were written with before there
//! was a measured one. Replays of those logs need it as it is.

/// Longer runs of letters are no words: keys, encodings, noise. Vocabularies hold few pieces of those.
const WORD_BYTES_MAX: usize = 12;

/// An estimate that errs upwards. Words count half their letters, a blank before a word nothing, and
/// everything else a token a byte: no vocabulary in use cuts prose finer, and what is not prose is cut
/// into bytes at worst.
pub fn bytewise(text: &str) -> u64 {
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
    use super::bytewise;

    #[test]
    fn what_is_not_prose_counts_a_token_a_byte() {
        for text in ["========", "12345678", "    \n\n\t\t", "äöüß", "}]}]}]}]"] {
            assert_eq!(bytewise(text), text.len() as u64, "{text:?}");
        }
        assert_eq!(bytewise(&"a".repeat(200_000)), 200_000);
        assert_eq!(bytewise(&"#".repeat(3_200)), 3_200);
    }

    #[test]
    fn prose_counts_less_than_half_its_bytes() {
        let text = "The quick brown fox jumps over the lazy dog and runs into the dark forest";
        let tokens = bytewise(text);
        assert!(tokens * 2 <= text.len() as u64 + 10, "{tokens}");
        assert!(
            tokens >= 16,
            "no vocabulary needs more than a token a word here"
        );
    }

    #[test]
    fn a_blank_counts_unless_a_word_follows_it() {
        for (text, tokens) in [("a ", 2), (" a", 1), ("  a", 2), (" 1", 2), ("a. b", 3)] {
            assert_eq!(bytewise(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn single_letters_count_one_each() {
        assert_eq!(bytewise("a b c d e"), 5);
        assert_eq!(bytewise(""), 0);
    }
}
