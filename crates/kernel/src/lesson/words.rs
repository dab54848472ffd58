//! A message of a service as words, so that a name is found whole and whatever it is quoted with.

/// What a refusal says of something that it does not take.
const REFUSING: [&str; 18] = [
    "unsupported",
    "not support",
    "not supported",
    "not accept",
    "not accepted",
    "not permitted",
    "not allowed",
    "not available",
    "not valid",
    "deprecated",
    "invalid",
    "unknown",
    "unrecognized",
    "unexpected",
    "extra inputs",
    "extra fields",
    "cannot be",
    "must be",
];

/// What a refusal says of a field that it does not know.
const UNKNOWN: [&str; 7] = [
    "unsupported parameter",
    "unknown parameter",
    "unknown field",
    "unrecognized request argument",
    "extra inputs",
    "extra fields",
    "is not supported",
];

/// What stands right before the name of a field that is not known, and right behind it.
const BEFORE_UNKNOWN: [&str; 16] = [
    "unsupported parameter",
    "unsupported parameters",
    "unsupported field",
    "unknown parameter",
    "unknown parameters",
    "unknown field",
    "unknown argument",
    "unknown name",
    "unrecognized field",
    "unrecognized key",
    "unrecognized parameter",
    "unrecognized request argument supplied",
    "unrecognized request arguments supplied",
    "unexpected keyword argument",
    "extra_forbidden loc",
    "extra_forbidden loc body",
];
const BEHIND_UNKNOWN: [&str; 11] = [
    "extra inputs are not permitted",
    "msg extra inputs are not permitted",
    "extra fields not permitted",
    "extra fields are not permitted",
    "cannot find field",
    "is not supported",
    "is unsupported",
    "is not permitted",
    "was unexpected",
    "is unknown",
    "is deprecated",
];

/// What goes before a list of the values that are taken.
const LISTING: [&str; 8] = [
    "supported values",
    "valid values",
    "allowed values",
    "accepted values",
    "one of",
    "input should be",
    "expected",
    "must be",
];

/// Messages are read no further.
const CHARS_MAX: usize = 4_000;

#[derive(Debug)]
pub(super) struct Words {
    /// In lower case, with one blank between words and no quotes.
    text: String,
}

impl Words {
    pub(super) fn of(message: &str) -> Self {
        let mut text = String::with_capacity(message.len() + 2);
        text.push(' ');
        for c in message.chars().take(CHARS_MAX) {
            let c = c.to_ascii_lowercase();
            let is_part = c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
            match is_part {
                true => text.push(c),
                false if text.ends_with(' ') => {}
                false => text.push(' '),
            }
        }
        text.push(' ');
        Self { text }
    }

    /// Whether these words stand in the message one after the other.
    pub(super) fn says(&self, words: &str) -> bool {
        self.text.contains(words)
    }

    /// Whether this name stands in the message.
    pub(super) fn names(&self, name: &str) -> bool {
        self.place_of(&[name]).is_some()
    }

    /// Where the first of these names stands.
    pub(super) fn place_of(&self, names: &[&str]) -> Option<usize> {
        let place = |name: &&str| {
            let name = name.to_ascii_lowercase();
            self.text.find(&format!(" {name} "))
        };
        names.iter().filter_map(place).min()
    }

    /// Whether the message says that something is not taken.
    pub(super) fn refuses(&self) -> bool {
        REFUSING.iter().any(|words| self.text.contains(words))
    }

    /// Whether the message says that a field is not known.
    pub(super) fn knows_not(&self) -> bool {
        UNKNOWN.iter().any(|words| self.text.contains(words))
    }

    /// Whether the message says of this very field that it is not known. That its name is a word of the message is not
    /// enough: people's own fields are called `provider`, `user` and `metadata`.
    pub(super) fn knows_no(&self, field: &str) -> bool {
        let field = Self::of(field).text;
        let before = |words: &&str| self.text.contains(&format!(" {words}{field}"));
        let behind = |words: &&str| self.text.contains(&format!("{field}{words} "));
        BEFORE_UNKNOWN.iter().any(before) || BEHIND_UNKNOWN.iter().any(behind)
    }

    /// The words after what introduces a list of values; all of them go to the end of the message.
    pub(super) fn listed(&self) -> Vec<&str> {
        let begins = LISTING
            .iter()
            .filter_map(|words| Some(self.text.find(words)? + words.len()));
        let rest = begins
            .min()
            .map_or("", |at| self.text.get(at..).unwrap_or(""));
        rest.split(' ').filter(|word| !word.is_empty()).collect()
    }
}
