//! What holds for every run of a kind, whatever its settings say: each kind has one table of it.

/// How runs of a kind conduct themselves.
pub(crate) struct Conduct {
    /// Whether each request goes on from what was said before; else it is made anew, and nothing of it has to be kept
    /// free, taken out or summed up.
    pub(crate) converses: bool,
    /// Whether what a person says while the run is at work is put before the model.
    pub(crate) hears: bool,
    /// Whether the run must end with a report: its last turn is for that, replies without a call are rejected, and a
    /// provider that fails through all attempts ends the run.
    pub(crate) reports: bool,
    /// Whether targets that share a key are left alone together.
    pub(crate) pools_keys: bool,
    /// Whether a target that failed is left alone for a while, where the edition does so.
    pub(crate) backs_off: bool,
    /// The least that a provider's own advice on when to come back is taken for.
    pub(crate) retry_after_ms_min: u64,
    /// Whether a reply whose length nobody set leaves most of any small window to the conversation; else it does so only
    /// in a window that was found out.
    pub(crate) shortens_replies: bool,
    /// Whether calls of one reply may be executed at the same time, where the edition does so.
    pub(crate) is_parallel: bool,
    /// Whether the stable codes of what went wrong are kept.
    pub(crate) keeps_codes: bool,
}
