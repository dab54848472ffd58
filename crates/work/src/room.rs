//! Room on the disk that is taken before it is needed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::write_durably;

/// Taken until this is dropped. What is published is written down afterwards, and a disk that is full by then would
/// leave the tree changed and nothing sealed.
#[derive(Debug)]
pub(super) struct Room {
    file: PathBuf,
}

impl Room {
    pub(super) fn take(dir: &Path, bytes: usize) -> io::Result<Self> {
        let room = Self {
            file: dir.join("room"),
        };
        write_durably(&room.file, &vec![0; bytes])?;
        Ok(room)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What is left of it is written over the next time.
        let _ = fs::remove_file(&self.file);
    }
}
