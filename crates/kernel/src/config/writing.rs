//! How the calls of a run are written in its replies.

use super::{Encoding, LoopConfig};

/// What of a reply is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writing<'a> {
    /// Calls in the provider's own fields or as tags in the text.
    Calls(Spelling<'a>),
    /// Instructions without attributes in the text, and nothing else.
    Instructions(&'a LoopConfig),
}

/// How calls are spelt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelling<'a> {
    pub(crate) encoding: Encoding,
    /// Marks the tags of the run; empty where it has none.
    pub(crate) nonce: &'a str,
    /// Whether what is quoted in a tag that is no call runs nothing.
    pub(crate) quotes_are_text: bool,
    /// Whether the run ends with a report: text without a call is of no use then, and the report takes no place among the
    /// calls that are counted.
    pub(crate) reports: bool,
}

impl Spelling<'_> {
    /// That of a run without tags and without a report.
    pub(crate) const NATIVE: Self = Self {
        encoding: Encoding::Native,
        nonce: "",
        quotes_are_text: false,
        reports: false,
    };
}
