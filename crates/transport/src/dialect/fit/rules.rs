//! What each service takes.

/// What has to be seen to. What a service takes anyway is left as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Names begin with a letter or `_`.
    pub(crate) letter_first: bool,
    /// What may not stand at the top of a schema.
    pub(crate) lifted: &'static [&'static str],
    /// The top must have `properties`, if only empty ones.
    pub(crate) wants_properties: bool,
    /// Every array must say what its items are.
    pub(crate) wants_items: bool,
    /// A part of a schema is an object: `true` and `false` are written out.
    pub(crate) no_booleans: bool,
    /// Patterns are compiled by another machine than ours.
    pub(crate) plain_patterns: bool,
    /// The properties at the top have names of few characters; those below are not looked at.
    pub(crate) plain_keys: bool,
    /// Beside a reference there may only be words for the reader.
    pub(crate) bare_refs: bool,
    /// References that go round in a circle are written out, so that each circle needs a property that may be absent.
    pub(crate) soft_cycles: bool,
}
