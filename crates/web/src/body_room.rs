//! The memory that bodies of requests take, bounded in sum over all connections of all servers of this process.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all bodies that are being received or read may hold together.
pub const ALL_BODIES_BYTES_MAX: usize = 64 * 1024 * 1024;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// There is no room for a body just now.
#[derive(Debug)]
pub struct NoRoom;

/// The bytes of a body, and their share of the room until they are dropped.
#[derive(Debug, Default)]
pub struct HeldBytes {
    bytes: Vec<u8>,
    held: usize,
}

impl HeldBytes {
    /// For a body of which it is known how long it will be.
    pub fn announced(bytes: usize) -> Result<Self, NoRoom> {
        let mut held = Self::default();
        held.hold(bytes)?;
        Ok(held)
    }

    pub fn push(&mut self, piece: &[u8]) -> Result<(), NoRoom> {
        let needed = self.bytes.len() + piece.len();
        self.hold(needed.saturating_sub(self.held))?;
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

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
