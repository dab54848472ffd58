//! Secrets that must not be written anywhere: found in a text, and their names put in their place.

mod forms;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use aho_corasick::{AhoCorasick, Input, MatchKind};

use crate::model::{Failure, Reply};

/// Where a secret is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretReach {
    /// Everywhere, also inside of a longer word: nobody writes such a value by chance.
    Anywhere,
    /// As a whole token: neither a letter nor a digit stands beside it.
    AsToken,
}

/// Replaces secrets in texts. It finds a secret as it is, and as it looks in JSON, in a URL, in hexadecimal digits
/// and in base64; what somebody hides on purpose it cannot find.
#[derive(Clone, Default)]
pub struct Mask {
    anywhere: Finder,
    as_token: Finder,
}

/// Values that are looked for, and what each is replaced by.
#[derive(Clone, Default)]
struct Finder {
    automaton: Option<AhoCorasick>,
    patterns: Vec<String>,
    shown: Vec<String>,
}

impl Mask {
    /// `secrets` are values with the names that are shown instead of them, wherever they stand.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let secrets = secrets.into_iter();
        Self::of(secrets.map(|(value, name)| (value, name, SecretReach::Anywhere)))
    }

    /// The same, where each says in which places it counts.
    pub fn of<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str, SecretReach)>) -> Self {
        let mut anywhere = BTreeMap::new();
        let mut as_token = BTreeMap::new();
        for (value, name, found) in secrets {
            let shown = format!("[secret {}]", printable(name));
            let (patterns, forms) = match found {
                SecretReach::Anywhere => (&mut anywhere, forms::every(value)),
                SecretReach::AsToken => (&mut as_token, forms::plain(value)),
            };
            for form in forms {
                patterns.entry(form).or_insert_with(|| shown.clone());
            }
        }
        Self {
            anywhere: Finder::new(anywhere),
            as_token: Finder::new(as_token),
        }
    }

    /// Whether a text holds a secret.
    pub fn finds(&self, text: &str) -> bool {
        self.anywhere.find(text, 0, |_, _, _| true).is_some()
            || self.as_token.find(text, 0, is_token).is_some()
    }

    /// The text without secrets; the text itself where it has none.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.anywhere.replace(text, |_, _, _| true) {
            Cow::Borrowed(text) => self.as_token.replace(text, is_token),
            Cow::Owned(text) => Cow::Owned(self.as_token.replace(&text, is_token).into_owned()),
        }
    }

    /// The same for a text that is at hand.
    pub fn owned(&self, text: String) -> String {
        match self.text(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text,
        }
    }

    /// How many bytes at the end of a text that still grows may be the beginning of a secret.
    pub fn begun_bytes(&self, text: &str) -> usize {
        let begun = |pattern: &String| {
            let longest = text.len().min(pattern.len().saturating_sub(1));
            let beginnings = (1..=longest).rev().filter_map(|len| pattern.get(..len));
            let mut at_the_end = beginnings.filter(|begun| text.ends_with(begun));
            at_the_end.next().map_or(0, str::len)
        };
        let patterns = self.anywhere.patterns.iter();
        let patterns = patterns.chain(&self.as_token.patterns);
        patterns.map(begun).max().unwrap_or(0)
    }

    /// Whether anything that a provider answered holds a secret.
    pub fn finds_in(&self, reply: &Reply) -> bool {
        let calls = reply.calls.iter();
        let calls = calls.flat_map(|it| [&it.id, &it.tool, &it.arguments]);
        let fields = [
            &reply.signed,
            &reply.stop_reason,
            &reply.model,
            &reply.provider,
            &reply.request_id,
        ];
        let mut texts = [&reply.text, &reply.reasoning]
            .into_iter()
            .chain(calls)
            .chain(fields.into_iter().flatten());
        texts.any(|text| self.finds(text))
    }

    /// Masks what a provider failed with, in place.
    pub fn failure(&self, failure: &mut Failure) {
        let texts = std::iter::once(&mut failure.message).chain(&mut failure.request_id);
        for text in texts {
            if let Cow::Owned(masked) = self.text(text) {
                *text = masked;
            }
        }
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.anywhere.shown.iter().chain(&self.as_token.shown);
        f.debug_set().entries(shown).finish()
    }
}

impl Finder {
    fn new(patterns: BTreeMap<String, String>) -> Self {
        // Where one secret begins another, the longer one is meant.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns.keys())
            .ok()
            .filter(|_| !patterns.is_empty());
        Self {
            automaton,
            shown: patterns.values().cloned().collect(),
            patterns: patterns.into_keys().collect(),
        }
    }

    /// The next secret from a place on, of those that count: where it begins and ends, and what is shown for it.
    fn find(
        &self,
        text: &str,
        from: usize,
        counts: fn(&str, usize, usize) -> bool,
    ) -> Option<(usize, usize, &str)> {
        let automaton = self.automaton.as_ref()?;
        let mut from = from;
        loop {
            let found = automaton.find(Input::new(text).span(from..text.len()))?;
            let (start, end) = (found.start(), found.end());
            if counts(text, start, end) {
                let shown = self.shown.get(found.pattern().as_usize())?;
                return Some((start, end, shown));
            }
            from = text.ceil_char_boundary(start + 1);
        }
    }

    fn replace<'a>(&self, text: &'a str, counts: fn(&str, usize, usize) -> bool) -> Cow<'a, str> {
        let mut masked = String::new();
        let mut at = 0;
        while let Some((start, end, shown)) = self.find(text, at, counts) {
            masked.push_str(&text[at..start]);
            masked.push_str(shown);
            at = end;
        }
        if at == 0 {
            return Cow::Borrowed(text);
        }
        masked.push_str(&text[at..]);
        Cow::Owned(masked)
    }
}

/// Whether what stands between two places is a whole token. What is escaped beside it is no part of it.
fn is_token(text: &str, start: usize, end: usize) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (before, after) = (&text[..start], &text[end..]);
    let begins = !before.ends_with(is_part) || ends_with_escape(before);
    begins && !after.starts_with(is_part)
}

/// Whether a text ends with `\n` and the like as JSON writes them, or with `%20` and the like as URLs do.
fn ends_with_escape(text: &str) -> bool {
    let mut last = text.chars().rev();
    let (c, before) = (last.next(), last.next());
    let is_json = before == Some('\\') && matches!(c, Some('n' | 't' | 'r' | 'b' | 'f'));
    let is_hex = |c: Option<char>| c.is_some_and(|c| c.is_ascii_hexdigit());
    let third = last.next();
    let is_url = is_hex(c) && is_hex(before) && third == Some('%');
    let is_code = is_hex(c)
        && is_hex(before)
        && is_hex(third)
        && is_hex(last.next())
        && last.next() == Some('u')
        && last.next() == Some('\\');
    is_json || is_url || is_code
}

/// A name goes into texts that may be JSON.
fn printable(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_ascii_alphanumeric() || "_-.".contains(*c))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ReplyCall;

    #[test]
    fn a_secret_is_found_in_every_form_in_which_it_is_commonly_written() {
        let mask = Mask::new([("p\"a/ss word", "DB")]);
        for text in [
            "p\"a/ss word",
            "p\\\"a/ss word",
            "p%22a%2Fss%20word",
            "cCJhL3NzIHdvcmQ=",
            "7022612f737320776f7264",
            "p&quot;a/ss word",
        ] {
            let whole = format!("before {text} after");
            assert_eq!(mask.text(&whole), "before [secret DB] after", "{text}");
        }
    }

    #[test]
    fn a_secret_inside_of_what_is_encoded_is_found_wherever_it_begins_there() {
        use base64::Engine as _;
        use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
        let secret = "Zq7?vN2x/Lw9~Kd4Rt6";
        let mask = Mask::new([(secret, "K")]);
        for before in ["", "a", "ab", "user:"] {
            let whole = format!("{before}{secret}@host");
            for encoded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                assert!(mask.finds(&encoded), "{before}: {encoded}");
            }
        }
    }

    #[test]
    fn the_longer_of_two_secrets_that_begin_alike_is_replaced_whole() {
        let mask = Mask::new([("sk-abc", "SHORT"), ("sk-abcdef", "LONG")]);
        assert_eq!(
            mask.text("sk-abcdef sk-abcd"),
            "[secret LONG] [secret SHORT]d"
        );
    }

    #[test]
    fn what_counts_as_a_token_alone_is_left_inside_of_longer_words() {
        let mask = Mask::of([("blue-horse7", "P", SecretReach::AsToken)]);
        for (text, masked) in [
            ("blue-horse7", "[secret P]"),
            ("a blue-horse7.", "a [secret P]."),
            ("x=blue-horse7&y", "x=[secret P]&y"),
            ("blue-horse77", "blue-horse77"),
            ("skyblue-horse7", "skyblue-horse7"),
            ("blue-horse7_x blue-horse7", "blue-horse7_x [secret P]"),
            ("{\"a\":\"b\\nblue-horse7\"}", "{\"a\":\"b\\n[secret P]\"}"),
            ("q=%22blue-horse7%22", "q=%22[secret P]%22"),
            ("éblue-horse7", "éblue-horse7"),
        ] {
            assert_eq!(mask.text(text), masked);
            assert_eq!(mask.finds(text), masked != text, "{text}");
        }
    }

    #[test]
    fn a_text_without_secrets_is_not_copied() {
        for mask in [Mask::default(), Mask::new([("sk-abc", "K")])] {
            assert!(matches!(mask.text("nothing here"), Cow::Borrowed(_)));
        }
        assert_eq!(Mask::new([("", "EMPTY")]).text("abc"), "abc");
    }

    #[test]
    fn arguments_with_a_secret_in_them_stay_json() {
        let mask = Mask::new([("sk-\"quoted\"", "we\"ird")]);
        let arguments = serde_json::json!({ "key": "sk-\"quoted\"" }).to_string();
        let reply = Reply {
            calls: vec![ReplyCall {
                arguments: arguments.clone(),
                ..ReplyCall::default()
            }],
            ..Reply::default()
        };
        assert!(mask.finds_in(&reply));
        let masked = mask.text(&arguments);
        let value: serde_json::Value = serde_json::from_str(&masked).expect("it is JSON");
        assert_eq!(value["key"], "[secret weird]");
    }
}
