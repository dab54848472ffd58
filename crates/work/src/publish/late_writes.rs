//! What was written to files after an item had replaced them, by somebody who had them open.
//!
//! An editor that saves in place writes into the file that it has open, which may be the one that an item has
//! just replaced. Such words are in no tree any more. They are found by looking at the replaced files, which
//! are held open, once more at the end.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bonded_work_rules::TreePath;

use super::transaction::ReplacedFile;
use crate::files::{PRIVATE_FILE, make_private_directory};
use crate::plan::LateWrite;

/// Who saves without replacing the file has opened it a moment before.
const A_MOMENT: Duration = Duration::from_millis(20);

/// Keeps what was written to replaced files, in a directory. Called when nothing more is published.
pub(crate) fn keep_late_writes(
    replaced: &[ReplacedFile],
    dir: &Path,
) -> io::Result<Vec<LateWrite>> {
    if replaced.is_empty() {
        return Ok(vec![]);
    }
    std::thread::sleep(A_MOMENT);
    let mut late = vec![];
    for it in replaced {
        if let Some(written) = it.written()? {
            let kept = keep(written, &it.path, dir)?;
            let path = it.path.clone();
            late.push(LateWrite { path, kept });
        }
    }
    Ok(late)
}

/// Under a name that nobody has, with the name of the file at its end, so that a person recognises it.
fn keep(mut written: &File, path: &TreePath, dir: &Path) -> io::Result<PathBuf> {
    make_private_directory(dir)?;
    let name = path.names().next_back().unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    let kept = dir.join(format!("{}-{name}", uuid::Uuid::new_v4()));
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(PRIVATE_FILE)
        .open(&kept)?;
    io::Seek::rewind(&mut written)?;
    io::copy(&mut written, &mut file)?;
    file.sync_all()?;
    Ok(kept)
}
