//! Logs that a store has and another store continues.

/// Why a store does not continue a run whose log it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAside {
    /// The store of this name continues it.
    CopyOf(String),
    /// It was continued here before, and is continued in the store of this name.
    MovedTo(String),
}

impl std::fmt::Display for RunAside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CopyOf(store) => write!(f, "this is a copy, {store} continues the run"),
            Self::MovedTo(store) => write!(f, "it was moved to {store}"),
        }
    }
}

impl RunAside {
    /// As it is kept in one word of a store.
    #[doc(hidden)]
    pub fn to_mark(&self) -> String {
        match self {
            Self::CopyOf(store) => format!("copy:{store}"),
            Self::MovedTo(store) => format!("moved:{store}"),
        }
    }

    /// Reads it again; `None` where the text is something else.
    #[doc(hidden)]
    pub fn from_mark(mark: &str) -> Option<Self> {
        let (kind, store) = mark.split_once(':')?;
        match kind {
            "copy" => Some(Self::CopyOf(store.to_owned())),
            "moved" => Some(Self::MovedTo(store.to_owned())),
            _ => None,
        }
    }
}
