//! What can be wrong with anything that people write as JSON or YAML, in words that tell them what to do.

/// A mistake that has nothing to do with what is described: the rest is the describer's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// A field that must be there is not.
    #[error("{field} is missing")]
    Missing { field: &'static str },
    /// A field that nobody knows, with the known one that is nearest.
    #[error("there is no field {field:?}{}", did_you_mean(.nearest.as_deref()))]
    UnknownField {
        field: String,
        nearest: Option<String>,
    },
    /// A text where a number belongs, and the like.
    #[error("must be {expected}, not {found}")]
    WrongType {
        expected: &'static str,
        found: &'static str,
    },
    /// Not one of the words that are known here.
    #[error("must be one of {known}, not {found:?}{}", did_you_mean(.nearest.as_deref()))]
    UnknownWord {
        found: String,
        known: String,
        nearest: Option<String>,
    },
    /// A whole number that is too small, too large, or not whole.
    #[error("must be a whole number from {least} to {most}, not {found}")]
    OutOfRange {
        found: String,
        least: u64,
        most: u64,
    },
    /// A number that is too small or too large.
    #[error("must be a number from {least} to {most}, not {found}")]
    NumberOutOfRange {
        found: String,
        least: u32,
        most: u32,
    },
    /// A text of spaces alone, or of nothing.
    #[error("must not be empty")]
    Empty,
    /// A text of too many bytes.
    #[error("must not be longer than {most} bytes, and has {found}")]
    TooLong { found: usize, most: usize },
    /// An array of too many members.
    #[error("must not have more than {most} members, and has {found}")]
    TooMany { found: usize, most: usize },
    /// A text with characters that act on a terminal.
    #[error("must not hold control characters")]
    Control,
    /// A text that no system call could take.
    #[error("must not hold a NUL character")]
    Nul,
}

/// The tail of a message: the nearest word as a question, or nothing.
pub fn did_you_mean(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => String::new(),
    }
}
