//! Text that is heard while its reply still arrives.

/// Hears the text of one streamed reply while it arrives. Nothing of it counts yet: the reply may still fail,
/// be rejected, or be asked for again.
///
/// [`hear`](Self::hear) comes for each piece, then [`end`](Self::end), if the reply came to its proper end.
pub trait Live: Send {
    /// The next piece, which is never empty. The reply waits meanwhile, so this must not.
    fn hear(&mut self, piece: &str);

    /// Nothing follows.
    fn end(&mut self);
}
