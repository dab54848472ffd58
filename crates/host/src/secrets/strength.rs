//! How hard a value is to guess, and so whether it can be a secret at all. `postgres`, `none` and `europe` cannot:
//! to hide them would hide words that everybody writes.
//!
//! It is an estimate and not a proof. A value is split where words would be, and each part is judged as
//! a word, a number, a row or something that was drawn; the bits are summed up. It errs on the side of
//! words, because what is hidden wrongly is lost to whoever reads the log.

/// A word that is among those that people write.
const WORD_BITS: f64 = 12.0;
const SYMBOL_BITS: f64 = 6.0;
const LETTER_BITS: f64 = 4.7;
const DIGIT_BITS: f64 = 3.3;
const HEX_BITS: f64 = 4.0;
const MIXED_BITS: f64 = 5.2;
/// What follows from what stands before it: `12345678`, `abcdef`, `xxxxxxxx`.
const PATTERN_BITS: f64 = 3.0;
/// A part that is shorter is read as a word or a number, however it is mixed: `v2beta1`, `x86`.
const MIXED_CHARS_MIN: usize = 10;

/// Words that stand where a secret should, or that say what kind of thing they stand for.
#[rustfmt::skip]
const PLACEHOLDERS: [&str; 72] = [
    "a", "admin", "an", "anything", "api", "apikey", "auth", "bar", "baz", "bearer", "change", "changeme", "cpp",
    "default", "demo", "dev", "development", "dummy", "empty", "example", "fake", "false", "foo", "guest", "here",
    "host", "insert", "is", "it", "key", "llama", "lm", "lmstudio", "local", "localhost", "me", "my", "mysql", "needed",
    "no", "none", "not", "null", "ollama", "only", "pass", "passwd", "password", "placeholder", "postgres",
    "postgresql", "put", "redis", "replace", "required", "root", "sample", "secret", "sk", "studio", "test", "testing",
    "the", "this", "todo", "token", "true", "undefined", "unused", "user", "vllm", "your",
];

/// What keys of known makers begin with. What follows is theirs to draw.
#[rustfmt::skip]
const KNOWN_BEGINNINGS: [&str; 32] = [
    "AIza", "AKIA", "ASIA", "SG.", "dop_v1_", "eyJ", "fw_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_",
    "glpat-", "gsk_", "hf_", "npm_", "nvapi-", "pplx-", "pypi-", "r8_", "rk_", "sk-", "sk_", "tvly-", "whsec_", "xai-",
    "xapp-", "xoxa-", "xoxb-", "xoxp-", "ya29.",
];
/// What is shorter only begins like a key.
const KNOWN_CHARS_MIN: usize = 20;
/// What is easier to guess is an example of a key.
const KNOWN_BITS_MIN: f64 = 15.0;

/// How hard a value is to guess, in bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Strength {
    pub(super) bits: f64,
    /// As much of it as was drawn, as far as that can be seen: what is not made of words.
    pub(super) drawn_bits: f64,
}

impl Strength {
    /// A value that begins like a known maker's key counts as one even if it looks like words.
    pub(super) fn of(value: &str) -> Self {
        if is_uuid(value) {
            return Self::drawn(122.0);
        }
        let mut strength = Self::default();
        for part in value.split(|c: char| !c.is_alphanumeric()) {
            strength.add(of_part(part));
        }
        // What joins words is no secret; other signs are.
        let symbols = value
            .chars()
            .filter(|c| !c.is_alphanumeric() && !"-_./:@=,+ ".contains(*c));
        strength.bits += SYMBOL_BITS * distinct(symbols) as f64;
        let is_known = KNOWN_BEGINNINGS.iter().any(|it| value.starts_with(it));
        if is_known && value.len() >= KNOWN_CHARS_MIN && strength.bits >= KNOWN_BITS_MIN {
            strength.bits = strength.bits.max(super::ANYWHERE_BITS_MIN);
        }
        strength
    }

    /// All of it was drawn.
    fn drawn(bits: f64) -> Self {
        Self {
            bits,
            drawn_bits: bits,
        }
    }

    /// Nothing of it was drawn, as far as can be seen.
    fn known(bits: f64) -> Self {
        Self {
            bits,
            drawn_bits: 0.0,
        }
    }

    fn add(&mut self, other: Self) {
        self.bits += other.bits;
        self.drawn_bits += other.drawn_bits;
    }
}

/// A part is letters and digits alone.
fn of_part(part: &str) -> Strength {
    let len = part.chars().count();
    if len == 0 {
        return Strength::default();
    }
    if distinct(part.chars()) <= 2 || is_row(part) {
        return Strength::known(PATTERN_BITS.min(LETTER_BITS * len as f64));
    }
    let pieces = pieces(part);
    let is_hex = part.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    if is_hex && len >= 16 && digits >= 2 && len - digits >= 2 && pieces.len() > 2 {
        return Strength::drawn(HEX_BITS * len as f64);
    }
    // Words change rarely from letters to digits, or from small to large; names in programs do, without digits.
    let changes = pieces.len() - 1;
    if len >= MIXED_CHARS_MIN
        && (changes * 10 >= len * 3 || (len >= 20 && changes >= 4 && digits > 0))
    {
        return Strength::drawn(MIXED_BITS * len as f64);
    }
    let mut strength = Strength::default();
    pieces
        .iter()
        .for_each(|piece| strength.add(of_piece(piece)));
    strength
}

/// A piece is letters alone or digits alone.
fn of_piece(piece: &str) -> Strength {
    let len = piece.chars().count() as f64;
    let word = piece.to_lowercase();
    if PLACEHOLDERS.binary_search(&word.as_str()).is_ok() {
        Strength::known(1.0)
    } else if is_row(piece) || (distinct(piece.chars()) <= 2 && len > 2.0) {
        Strength::known(PATTERN_BITS)
    } else if piece.bytes().all(|b| b.is_ascii_digit()) {
        match len {
            // Years and ports.
            0.0..=4.0 => Strength::known((DIGIT_BITS * len).min(7.0)),
            _ => Strength::known(DIGIT_BITS * len),
        }
    } else if len < 12.0 || is_pronounceable(&word) {
        Strength::known((LETTER_BITS * len).min(WORD_BITS))
    } else {
        Strength::drawn(LETTER_BITS * len)
    }
}

/// Splits where letters and digits meet, and where a small letter is followed by a large one.
fn pieces(part: &str) -> Vec<&str> {
    let mut pieces = vec![];
    let mut from = 0;
    let mut before: Option<char> = None;
    for (at, c) in part.char_indices() {
        let is_new = before.is_some_and(|before| {
            before.is_ascii_digit() != c.is_ascii_digit()
                || (before.is_lowercase() && c.is_uppercase())
        });
        if is_new {
            pieces.push(&part[from..at]);
            from = at;
        }
        before = Some(c);
    }
    pieces.push(&part[from..]);
    pieces
}

/// Whether each letter follows from the one before: up, down, or the same again.
fn is_row(text: &str) -> bool {
    let codes: Vec<i64> = text.chars().map(|c| i64::from(u32::from(c))).collect();
    let mut steps = codes.windows(2).map(|pair| pair[1] - pair[0]);
    // The digits of a keyboard end with a zero.
    let is_step = |wanted: i64| move |step: i64| step == wanted || step == -9;
    match steps.next() {
        Some(first) if (-1..=1).contains(&first) && codes.len() > 3 => steps.all(is_step(first)),
        _ => false,
    }
}

/// Enough vowels, and no long row of consonants.
fn is_pronounceable(word: &str) -> bool {
    let is_vowel = |c: char| "aeiouy".contains(c) || !c.is_ascii();
    let vowels = word.chars().filter(|c| is_vowel(*c)).count();
    let longest = word.split(is_vowel).map(str::len).max().unwrap_or(0);
    vowels * 4 >= word.chars().count() && longest <= 4
}

/// How many different characters there are.
fn distinct(chars: impl Iterator<Item = char>) -> usize {
    chars.collect::<std::collections::BTreeSet<char>>().len()
}

fn is_uuid(value: &str) -> bool {
    let lengths = value.split('-').map(str::len);
    let is_hex = value.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    is_hex && lengths.eq([8, 4, 4, 4, 12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_in_order_so_that_each_is_found() {
        assert!(PLACEHOLDERS.is_sorted());
        assert!(KNOWN_BEGINNINGS.is_sorted());
    }

    #[test]
    fn words_names_and_rows_are_easier_to_guess_than_what_was_drawn() {
        for weak in [
            "none",
            "EMPTY",
            "vllm",
            "ollama",
            "lm-studio",
            "changeme",
            "postgres",
            "password",
            "test",
            "localhost",
            "europe",
            "europe-west3",
            "us-east-1",
            "hunter2",
            "Password123",
            "not-needed",
            "no-key-required",
            "your-api-key-here",
            "sk-your-api-key-here",
            "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
            "1234567890",
            "abcdefghij",
            "--interactive=always",
            "production",
            "gpt-4o-mini",
            "Summer2024!",
            "aaaaaaaaaaaaaaaaaaaa",
        ] {
            let strength = Strength::of(weak);
            assert!(
                strength.bits < super::super::SECRET_BITS_MIN,
                "{weak}: {strength:?}"
            );
        }
        for name in [
            "text-embedding-3-small",
            "my-vllm-server.internal.example.com",
            "claude-sonnet-4-5-20250929",
            "feature_flag_enabled_by_default",
            "application/vnd.api+json",
            "internationalization",
            "v1alpha2",
            "gpt4omini",
            "curl --fail --silent --show-error",
            "getElementsByTagName",
        ] {
            let strength = Strength::of(name);
            assert!(
                strength.drawn_bits < super::super::DRAWN_BITS_MIN,
                "{name}: {strength:?}"
            );
        }
        for strong in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "550e8400-e29b-41d4-a716-446655440000",
            "xK9#mP2$vL5nQ8",
            "sk-proj-Zt7Qm2Lk9Xv4Rb8Wn3Yc6",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
            "qzjxkvwpmrtbnghlcd",
            "S3cr3tP4ssW0rd",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ3kV8pL1m",
            "Tr0ub4dor&3",
        ] {
            let strength = Strength::of(strong);
            assert!(
                strength.bits >= super::super::SECRET_BITS_MIN,
                "{strong}: {strength:?}"
            );
        }
    }
}
