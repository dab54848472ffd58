//! The kinds of copies.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a copy is kept apart from its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// A mount over the tree. Costs nothing but what is changed.
    Overlay,
    /// Every file, but its content is shared until it is changed.
    Reflink,
    /// Every file, whole.
    Copy,
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overlay => "overlay",
            Self::Reflink => "reflink",
            Self::Copy => "copy",
        })
    }
}
