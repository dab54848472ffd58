//! What was changed in arguments that were almost JSON.

use serde::{Deserialize, Serialize};

/// One kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairStep {
    /// A markdown fence around the text was taken off.
    CodeFence,
    /// Dots at the end were taken off.
    Ellipsis,
    /// Words before or after the first object were left out.
    FirstObject,
    /// The text was a JSON string that holds JSON.
    NestedText,
    /// Single or curly quotes became plain ones.
    Quotes,
    /// A quote inside a string was escaped.
    EscapedQuote,
    /// A backslash that begins no JSON escape is now a backslash.
    Backslash,
    /// `\xHH` became `\u00HH`.
    HexEscape,
    /// A line break or another control character inside a string was escaped.
    ControlCharacter,
    /// A bare key or word was quoted.
    BareWord,
    /// `True`, `None` and the like, or a number such as `+1` or `.5`.
    Literal,
    /// A comma was added or dropped.
    Commas,
    /// Comments were dropped.
    Comments,
    /// Missing brackets were added.
    ClosedBrackets,
    /// Brackets that close nothing were dropped.
    ExtraBrackets,
    /// The text ended inside a string or a number, or after a comma: the value may be incomplete.
    ClosedText,
}

impl RepairStep {
    /// Its stable name, as the log and the docs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CodeFence => "code_fence",
            Self::Ellipsis => "ellipsis",
            Self::FirstObject => "first_object",
            Self::NestedText => "nested_text",
            Self::Quotes => "quotes",
            Self::EscapedQuote => "escaped_quote",
            Self::Backslash => "backslash",
            Self::HexEscape => "hex_escape",
            Self::ControlCharacter => "control_character",
            Self::BareWord => "bare_word",
            Self::Literal => "literal",
            Self::Commas => "commas",
            Self::Comments => "comments",
            Self::ClosedBrackets => "closed_brackets",
            Self::ExtraBrackets => "extra_brackets",
            Self::ClosedText => "closed_text",
        }
    }
}
