//! A content on its way out of a pack, and pieces of contents on their way in.
//!
//! A content is checked where it is read and not by a pass of its own, which would read everything twice.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bonded_kernel::Hash;

use super::location::Location;

/// Pieces are long enough for the hash to use all that the processor has.
pub(in crate::tree) const PIECE_BYTES: usize = 256 * 1024;

/// Fills the buffer as far as there is something to read.
pub(in crate::tree) fn read_piece(content: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match content.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// A content that is read from its pack. Its last bytes are given out only if the whole has the right hash.
#[derive(Debug)]
pub struct ContentReader {
    pack: Arc<File>,
    at: u64,
    left: u64,
    hasher: blake3::Hasher,
    hash: Hash,
}

impl ContentReader {
    pub(super) fn new(pack: Arc<File>, place: Location, hash: Hash) -> Self {
        Self {
            pack,
            at: place.offset,
            left: place.bytes,
            hasher: blake3::Hasher::new(),
            hash,
        }
    }

    /// How much is still to be read.
    pub fn bytes_left(&self) -> u64 {
        self.left
    }
}

/// An empty buffer reads nothing and checks nothing while something is left. An empty content is checked by its
/// first read.
impl Read for ContentReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        if most == 0 && self.left > 0 {
            return Ok(0);
        }
        let length = match most {
            0 => 0,
            _ => self.pack.read_at(&mut buffer[..most], self.at)?,
        };
        self.hasher.update(&buffer[..length]);
        self.at += length as u64;
        self.left -= length as u64;
        let is_cut = length == 0 && self.left > 0;
        let is_other =
            self.left == 0 && *self.hasher.finalize().as_bytes() != *self.hash.as_bytes();
        if is_cut || is_other {
            let why = format!("the kept content {} is damaged", self.hash);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(length)
    }
}
