//! Text that is heard while its reply still arrives.

/// What a model writes that is not heard, and how much of it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing<'a> {
    /// What it thinks.
    Thought {
        /// All that it has thought so far.
        bytes: usize,
    },
    /// The arguments of a call.
    Call {
        /// By its name on the wire; empty while that has not come.
        tool: &'a str,
        /// All of its arguments so far.
        bytes: usize,
    },
}

/// Hears the text of one streamed reply while it arrives. Nothing of it counts yet: the reply may still fail,
/// be rejected, or be asked for again.
///
/// [`hear`](Self::hear) comes for each piece, then [`end`](Self::end), if the reply came to its proper end.
pub trait Live: Send {
    /// The next piece, which is never empty. The reply waits meanwhile, so this must not.
    fn hear(&mut self, piece: &str);

    /// The model writes something that is no text: a sign of life for who watches.
    fn notice(&mut self, writing: Writing<'_>) {
        let _ = writing;
    }

    /// Nothing follows.
    fn end(&mut self);
}
