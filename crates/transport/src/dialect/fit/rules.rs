//! What each service takes.

use bonded_kernel::Dialect;

/// What has to be seen to. What a service takes anyway is left as it is.
#[derive(Debug)]
pub(super) struct Rules {
    /// Names begin with a letter or `_`.
    pub(super) letter_first: bool,
    /// What may not stand at the top of a schema.
    pub(super) lifted: &'static [&'static str],
    /// The top must have `properties`, if only empty ones.
    pub(super) wants_properties: bool,
    /// Every array must say what its items are.
    pub(super) wants_items: bool,
    /// A part of a schema is an object: `true` and `false` are written out.
    pub(super) no_booleans: bool,
    /// Patterns are compiled by another machine than ours.
    pub(super) plain_patterns: bool,
    /// The properties at the top have names of few characters; those below are not looked at.
    pub(super) plain_keys: bool,
    /// Beside a reference there may only be words for the reader.
    pub(super) bare_refs: bool,
    /// References that go round in a circle are written out, so that each circle needs a property that may be absent.
    pub(super) soft_cycles: bool,
}

/// Chat completions have many servers. They are held to the strictest of them, which is OpenAI for nearly everything.
const CHAT: Rules = Rules {
    letter_first: false,
    lifted: &["$ref", "oneOf", "anyOf", "allOf", "enum", "const", "not"],
    wants_properties: true,
    wants_items: true,
    no_booleans: true,
    plain_patterns: true,
    plain_keys: false,
    bare_refs: false,
    soft_cycles: false,
};

const RESPONSES: Rules = CHAT;

const MESSAGES: Rules = Rules {
    letter_first: false,
    lifted: &["$ref", "oneOf", "anyOf", "allOf"],
    wants_properties: false,
    wants_items: false,
    no_booleans: false,
    plain_patterns: false,
    plain_keys: true,
    bare_refs: false,
    soft_cycles: false,
};

/// `parametersJsonSchema` takes nearly everything, but ignores `allOf`: what only stands there would not be seen.
const GEMINI: Rules = Rules {
    letter_first: true,
    lifted: &["$ref", "oneOf", "anyOf", "allOf"],
    wants_properties: false,
    wants_items: false,
    no_booleans: true,
    plain_patterns: false,
    plain_keys: false,
    bare_refs: true,
    soft_cycles: true,
};

impl Rules {
    pub(super) fn of(dialect: Dialect) -> &'static Self {
        match dialect {
            Dialect::Chat => &CHAT,
            Dialect::Responses => &RESPONSES,
            Dialect::Messages => &MESSAGES,
            Dialect::Gemini => &GEMINI,
        }
    }
}
