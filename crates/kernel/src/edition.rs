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
    pub const NEWEST: Self = Self(4);

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

    /// Whether the last turn goes on while attempts are left, and what it is given back for one is taken out of the
    /// conversation with the next reply.
    pub(crate) fn keeps_attempts_in_last_turn(self) -> bool {
        self >= Self(2)
    }

    /// Whether a text of the last turn is the report of an agent where it wrote no other.
    pub(crate) fn takes_prose(self) -> bool {
        self >= Self(2)
    }

    /// Whether a Slack report may be a text without blocks.
    pub(crate) fn takes_text_for_slack(self) -> bool {
        self >= Self(2)
    }

    /// Whether a good report ends the run before the calls that stand before it in its reply.
    pub(crate) fn report_comes_first(self) -> bool {
        self >= Self(2)
    }

    /// Whether the request after a reply that was of no use differs from every one before it.
    pub(crate) fn varies_requests(self) -> bool {
        self >= Self(2)
    }

    /// Whether texts are taken for what was measured for their models' vocabularies and what providers count, and not for
    /// what they are at most.
    pub(crate) fn measures_tokens(self) -> bool {
        self >= Self(2)
    }

    /// Whether an output that is taken out is taken for as much room as it was given, the least part of one that is worth
    /// showing is made room for with all that stands around it, and where not even that has room the output is named.
    pub(crate) fn weighs_parts(self) -> bool {
        self >= Self(3)
    }

    /// Whether of a member of a batch that does not fit the beginning is shown too, and a member takes what its entry in
    /// the results takes.
    pub(crate) fn cuts_members(self) -> bool {
        self >= Self(3)
    }

    /// Whether a field that a person added is left out only where the service says that it does not know it.
    pub(crate) fn keeps_custom(self) -> bool {
        self >= Self(3)
    }

    /// Whether a price that a person gave, and any price where the bill is of nothing, bounds what a provider says that a
    /// request has cost.
    pub(crate) fn doubts_bills(self) -> bool {
        self >= Self(3)
    }

    /// Whether what the provider counts of a request for a summary says nothing about the next request.
    pub(crate) fn counts_whole(self) -> bool {
        self >= Self(3)
    }

    /// Whether a run that is cancelled has used no more time than it may.
    pub(crate) fn caps_cancelled(self) -> bool {
        self >= Self(3)
    }

    /// Whether of two texts in a row the longer one is the answer of a plain run, and not always the second: a model that
    /// is asked whether its text is the answer often says no more than that it is.
    pub(crate) fn keeps_longest_text(self) -> bool {
        self >= Self(4)
    }
}
