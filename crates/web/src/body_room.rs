//! The memory that bodies of requests take, bounded in sum over all connections of all servers of this process.
//!
//! Each server bounds a single body by itself. That bound times the number of connections would still be far more
//! memory than a machine has, so the sum is counted too, in one counter for the process. A body whose length is
//! announced takes its share before a byte of it is read; one without takes it piece by piece. The share is given
//! back when the bytes are dropped, so a handler must keep a body no longer than it reads it.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all bodies that are being received or read may hold together.
pub const ALL_BODIES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The bytes that all `HeldBytes` of this process hold just now. It only counts, and orders nothing: relaxed access
/// is enough.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// There is no room for a body just now.
#[derive(Debug)]
pub struct NoRoom;

/// The bytes of a body, and their share of the room until they are dropped.
#[derive(Debug, Default)]
pub struct HeldBytes {
    /// What has come of the body.
    bytes: Vec<u8>,
    /// The share of the room in bytes: at least as many as have come, more where more were announced.
    held: usize,
}

impl HeldBytes {
    /// For a body of which it is known how long it will be.
    pub fn announced(bytes: usize) -> Result<Self, NoRoom> {
        let mut held = Self::default();
        held.hold(bytes)?;
        Ok(held)
    }

    /// Takes the next piece in. Where the body grows beyond its share, the share grows first; if there is no room
    /// for that, nothing of the piece is kept and the share stays as it was. The caller gives the request up then.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), NoRoom> {
        let needed = self.bytes.len() + piece.len();
        self.hold(needed.saturating_sub(self.held))?;
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// Takes `more` bytes of the room, or none of them: the sum is compared and raised in one atomic step, so that
    /// two bodies cannot both take the last of it.
    fn hold(&mut self, more: usize) -> Result<(), NoRoom> {
        let within = |all: usize| Some(all + more).filter(|all| *all <= ALL_BODIES_BYTES_MAX);
        let taken = HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        self.held += taken.map(|_| more).map_err(|_| NoRoom)?;
        Ok(())
    }
}

impl Deref for HeldBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        HELD.fetch_sub(self.held, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_bounded_in_sum_and_make_room_when_they_go() {
        let piece = vec![0; 1024 * 1024];
        let mut all: Vec<HeldBytes> = vec![];
        let refused = loop {
            let mut body = HeldBytes::announced(8 * piece.len());
            if let Ok(body) = &mut body {
                body.push(&piece).expect("it was announced");
            }
            match body {
                Ok(body) => all.push(body),
                Err(refused) => break refused,
            }
        };
        let NoRoom = refused;
        assert!((6..=8).contains(&all.len()), "{}", all.len());
        all.pop();
        let mut unannounced = HeldBytes::default();
        unannounced.push(&piece).expect("there is room again");
        assert_eq!(unannounced.len(), piece.len());
    }
}
