//! The edition of the kernel's decisions. A later build may decide otherwise, but a run goes on as it began, and its log
//! is read so.

use serde::{Deserialize, Serialize};

/// How a run decides, from its beginning to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Edition(u16);

impl Edition {
    /// That of every log up to format 5.
    pub const FIRST: Self = Self(0);
    /// That in which runs begin.
    pub const NEWEST: Self = Self(2);

    pub(crate) fn is_first(&self) -> bool {
        *self == Self::FIRST
    }

    /// Whether a target that failed is left alone for a while, and one that refused the request for this turn.
    pub(crate) fn backs_off(self) -> bool {
        self >= Self(1)
    }

    /// Whether a plain run takes a text that is said again for the answer.
    pub(crate) fn takes_text(self) -> bool {
        self >= Self(1)
    }

    /// Whether some calls in turn, with the same results, are no progress.
    pub(crate) fn sees_cycles(self) -> bool {
        self >= Self(1)
    }

    /// Whether a batch whose calls are a blank text is one without calls.
    pub(crate) fn takes_blank_batches(self) -> bool {
        self >= Self(1)
    }

    /// Whether what is held for requests that nobody counted is told apart from what was used.
    pub(crate) fn tells_held(self) -> bool {
        self >= Self(2)
    }

    /// Whether a refusal that names the window teaches it, and a request that cannot fit any window is not sent.
    pub(crate) fn learns_windows(self) -> bool {
        self >= Self(2)
    }

    /// Whether calls of one reply may be executed at the same time.
    pub(crate) fn is_parallel(self) -> bool {
        self >= Self(1)
    }

    /// Whether a window holds what fits beside the reply and the buffer, with nothing kept free besides; where it is full,
    /// old outputs make room, and of one that does not fit the beginning is shown.
    pub(crate) fn fills_windows(self) -> bool {
        self >= Self(1)
    }

    /// Whether texts are taken for what was measured for their models' vocabularies and what providers count, and not for
    /// what they are at most.
    pub(crate) fn measures_tokens(self) -> bool {
        self >= Self(2)
    }
}
