//! Hashes as keys of a map.

use std::hash::Hasher;

/// A hash needs no hashing: any part of it is as good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HashKey(pub(super) [u8; 32]);

impl std::hash::Hash for HashKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (first, _) = self.0.split_first_chunk().expect("32 bytes hold 8");
        state.write_u64(u64::from_le_bytes(*first));
    }
}

#[derive(Debug, Default)]
pub(super) struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Keys write numbers only; this is for whatever else may come.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
