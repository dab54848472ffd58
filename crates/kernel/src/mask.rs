//! Secrets that must not be written anywhere: found in a text, and their names put in their place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::model::{Failure, Reply};

/// Replaces secrets in texts. It finds a secret as it is, and as it looks in JSON, in a URL and in base64;
/// what somebody hides on purpose it cannot find.
#[derive(Clone, Default)]
pub struct Mask {
    finder: Option<AhoCorasick>,
    patterns: Vec<String>,
    /// What each pattern of the finder is replaced by.
    shown: Vec<String>,
}

impl Mask {
    /// `secrets` are values with the names that are shown instead of them.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut patterns = BTreeMap::new();
        for (value, name) in secrets {
            let shown = format!("[secret {}]", printable(name));
            for form in forms(value) {
                patterns.entry(form).or_insert_with(|| shown.clone());
            }
        }
        // Where one secret begins another, the longer one is meant.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns.keys())
            .ok()
            .filter(|_| !patterns.is_empty());
        Self {
            finder,
            shown: patterns.values().cloned().collect(),
            patterns: patterns.into_keys().collect(),
        }
    }

    /// The text without secrets; the text itself where it has none.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.finder {
            Some(finder) if finder.is_match(text) => {
                Cow::Owned(finder.replace_all(text, &self.shown))
            }
            _ => Cow::Borrowed(text),
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
        self.patterns.iter().map(begun).max().unwrap_or(0)
    }

    /// What a provider wants back as it gave it (`signed`) is left alone: changed, it would be refused.
    pub fn reply(&self, reply: &mut Reply) {
        let calls = reply.calls.iter_mut().map(|call| &mut call.arguments);
        for text in [&mut reply.text, &mut reply.reasoning]
            .into_iter()
            .chain(calls)
        {
            self.in_place(text);
        }
    }

    pub fn failure(&self, failure: &mut Failure) {
        self.in_place(&mut failure.message);
    }

    fn in_place(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.text(text) {
            *text = masked;
        }
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.shown).finish()
    }
}

/// A name goes into texts that may be JSON.
fn printable(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_ascii_alphanumeric() || "_-.".contains(*c))
        .collect()
}

/// The ways in which a value is commonly written.
fn forms(value: &str) -> impl Iterator<Item = String> {
    let in_json = serde_json::to_string(value).unwrap_or_default();
    // Without the quotes around it; one at the end of the value itself stays.
    let in_json = in_json.get(1..in_json.len().saturating_sub(1));
    let in_json = in_json.unwrap_or_default().to_owned();
    let raw = [value.to_owned(), in_json, percent_encoded(value)];
    raw.into_iter()
        .chain([BASE64.encode(value)])
        .filter(|form| !form.is_empty())
}

fn percent_encoded(value: &str) -> String {
    value.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
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
        ] {
            let said = format!("before {text} after");
            assert_eq!(mask.text(&said), "before [secret DB] after", "{text}");
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
        let mut reply = Reply {
            text: "it is sk-\"quoted\"".into(),
            calls: vec![ReplyCall {
                arguments,
                ..ReplyCall::default()
            }],
            ..Reply::default()
        };
        mask.reply(&mut reply);
        assert_eq!(reply.text, "it is [secret weird]");
        let value: serde_json::Value =
            serde_json::from_str(&reply.calls[0].arguments).expect("it is JSON");
        assert_eq!(value["key"], "[secret weird]");
    }
}
