//! Room on the disk that is taken before it is needed.
//!
//! A full disk is the likeliest failure between changing a tree and writing down that it was changed. So the
//! room is taken while nothing has happened yet, where a failure costs nothing, and given back right before it
//! is used.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::write_durably;

/// Taken until this is dropped. What is published is written down afterwards, and a disk that is full by then would
/// leave the tree changed and nothing sealed.
#[derive(Debug)]
pub(crate) struct DiskReservation {
    file: PathBuf,
}

impl DiskReservation {
    /// Zeros are written and synced: a length alone would take no room.
    pub(crate) fn take(dir: &Path, bytes: usize) -> io::Result<Self> {
        let reservation = Self {
            file: dir.join("room"),
        };
        write_durably(&reservation.file, &vec![0; bytes])?;
        Ok(reservation)
    }
}

impl Drop for DiskReservation {
    fn drop(&mut self) {
        // What is left of it is written over the next time.
        let _ = fs::remove_file(&self.file);
    }
}
