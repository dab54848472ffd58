//! Who answers for a layer.
//!
//! It is all that decides how a layer is treated: a person's own and named files count whole, and what
//! is found is asked about.

/// Where a layer of the configuration comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A person named the file.
    Named,
    /// One of the person's own files: at home, of the machine, beside the program.
    Own,
    /// It lay in the working directory, or in that of the agent: anybody may have written it.
    Found,
}

impl Origin {
    /// Whether the person answers for it.
    pub fn is_persons(self) -> bool {
        self != Self::Found
    }

    /// For the surface; the words are stable.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Own => "own",
            Self::Found => "found",
        }
    }
}
