//! Whether a store's files can be read at all. SQLite takes some reads that fail for damage to what is read, and says of
//! none why it failed; a person must not restore a backup over a store that only its disk keeps back.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const PIECE_BYTES: usize = 256 * 1024;

/// Files that were looked at. They stay open: closing one would drop the locks that SQLite holds
/// on it for this process.
static LOOKED_AT: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// The first read of a store's file or of its WAL that fails, in words.
pub(crate) fn unreadable(file: &Path) -> Option<String> {
    let mut wal = file.as_os_str().to_owned();
    wal.push("-wal");
    [file.to_path_buf(), PathBuf::from(wal)]
        .iter()
        .find_map(|path| first_failure(path))
}

fn first_failure(path: &Path) -> Option<String> {
    let failed = |at: u64, error: &io::Error| {
        let path = path.display();
        Some(format!("{path} cannot be read at byte {at}: {error}"))
    };
    let mut looked_at = LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner);
    let file = match looked_at.entry(path.to_path_buf()) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => match File::open(path) {
            Ok(file) => place.insert(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return failed(0, &error),
        },
    };
    if let Err(error) = file.rewind() {
        return failed(0, &error);
    }
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = 0;
    loop {
        match file.read(&mut piece) {
            Ok(0) => return None,
            Ok(length) => at += length as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return failed(at, &error),
        }
    }
}
