//! What can be wrong with anything that people write as JSON or YAML, in words that tell them what to do.

use std::borrow::Cow;

use serde_json::Value;

use super::{BadMeasure, found, nearest, short};

/// A mistake that has nothing to do with what is described: the rest is the describer's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// A field that must be there is not.
    #[error("{field} is missing")]
    Missing {
        /// Its name.
        field: &'static str,
    },
    /// A field that nobody knows, with the known one that is nearest.
    #[error("there is no field {field:?}{}", did_you_mean(.nearest.as_deref()))]
    UnknownField {
        /// As it was written, shortened.
        field: String,
        /// Absent where none is near.
        nearest: Option<String>,
    },
    /// A text where a number belongs, and the like.
    #[error("must be {expected}, not {found}")]
    WrongType {
        /// In words, with its article.
        expected: Cow<'static, str>,
        /// What stands there, in words: its kind, and a little of it.
        found: String,
    },
    /// Not one of the words that are known here.
    #[error("must be one of {known}, not {found:?}{}", did_you_mean(.nearest.as_deref()))]
    UnknownWord {
        /// As it was written, shortened.
        found: String,
        /// The words, joined for a sentence.
        known: String,
        /// Absent where none is near.
        nearest: Option<String>,
    },
    /// A whole number that is too small, too large, or not whole.
    #[error("must be a whole number from {least} to {most}, not {found}")]
    OutOfRange {
        /// As it was written.
        found: String,
        /// Allowed itself.
        least: u64,
        /// Allowed itself.
        most: u64,
    },
    /// A number that is too small or too large.
    #[error("must be a number from {least} to {most}, not {found}")]
    NumberOutOfRange {
        /// As it was written.
        found: String,
        /// Allowed itself.
        least: u32,
        /// Allowed itself.
        most: u32,
    },
    /// A duration or a size that is none, or out of bounds.
    #[error("{0}")]
    BadMeasure(BadMeasure),
    /// A text of spaces alone, or of nothing.
    #[error("must not be empty")]
    Empty,
    /// A text of too many bytes.
    #[error("must not be longer than {most} bytes, and has {found}")]
    TooLong {
        /// In bytes.
        found: usize,
        /// In bytes.
        most: usize,
    },
    /// An array of too many members.
    #[error("must not have more than {most} members, and has {found}")]
    TooMany {
        /// How many it has.
        found: usize,
        /// How many it may have.
        most: usize,
    },
    /// A text with characters that act on a terminal.
    #[error("must not hold control characters")]
    Control,
    /// A text that no system call could take.
    #[error("must not hold a NUL character")]
    Nul,
}

impl Mistake {
    /// A value of another kind than the expected one.
    pub fn wrong_type(expected: impl Into<Cow<'static, str>>, value: &Value) -> Self {
        Self::WrongType {
            expected: expected.into(),
            found: found(value),
        }
    }

    /// A field that is not among the known ones.
    pub fn unknown_field<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Self {
        Self::UnknownField {
            field: short(written),
            nearest: nearest(written, known).map(str::to_owned),
        }
    }

    /// A word that is not among the known ones.
    pub fn unknown_word<'k>(written: &str, known: impl Iterator<Item = &'k str> + Clone) -> Self {
        Self::UnknownWord {
            found: short(written),
            known: known.clone().collect::<Vec<_>>().join(", "),
            nearest: nearest(written, known).map(str::to_owned),
        }
    }

    /// The same without what was written, which may be a secret.
    pub fn hidden(self) -> Self {
        let instead = |expected| Self::WrongType {
            expected,
            found: "what is there".into(),
        };
        match self {
            Self::WrongType { expected, .. } => instead(expected),
            Self::UnknownWord { known, .. } => instead(format!("one of {known}").into()),
            Self::OutOfRange { least, most, .. } => {
                instead(format!("a whole number from {least} to {most}").into())
            }
            Self::NumberOutOfRange { least, most, .. } => {
                instead(format!("a number from {least} to {most}").into())
            }
            Self::BadMeasure(bad) => instead(bad.expected().into()),
            Self::Missing { .. }
            | Self::UnknownField { .. }
            | Self::Empty
            | Self::TooLong { .. }
            | Self::TooMany { .. }
            | Self::Control
            | Self::Nul => self,
        }
    }
}

/// The tail of a message: the nearest word as a question, or nothing.
pub fn did_you_mean(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => String::new(),
    }
}
