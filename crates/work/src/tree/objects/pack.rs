//! Files of contents, one after the other, and who may write which.
//!
//! A pack has one writer, the process that holds the lock on it. No pack is written again once its process has
//! ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::index::{self, IndexRecord};

/// The pack of this process: locked while the process lives, however it ends.
#[derive(Debug)]
pub(super) struct Pack {
    pub(super) number: u32,
    pub(super) path: PathBuf,
    pub(super) file: File,
    index: PathBuf,
    dir: PathBuf,
}

pub(super) fn path_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{number}.pack"))
}

impl Pack {
    /// Another process may make the same number, or take a fresh pack for a torn one before it is locked; then
    /// the next number is tried.
    pub(super) fn create(dir: &Path) -> io::Result<Self> {
        let mut number = numbers(dir, "pack")?.max().map_or(1, |last| last + 1);
        loop {
            let path = path_of(dir, number);
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            match options.open(&path) {
                Ok(file) if is_ours(&file)? => {
                    return Ok(Self {
                        number,
                        index: index::path_of(dir, number),
                        dir: dir.to_owned(),
                        path,
                        file,
                    });
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            number += 1;
        }
    }

    /// Adds to the list, durably. The contents must be durable before.
    pub(super) fn list(&self, listed: &[IndexRecord]) -> io::Result<()> {
        let is_new = !self.index.exists();
        let mut options = OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.index)?;
        file.write_all(&index::encode(listed))?;
        file.sync_data()?;
        match is_new {
            true => File::open(&self.dir)?.sync_all(),
            false => Ok(()),
        }
    }
}

/// Whether we got the lock, and nobody removed the file before we had it.
fn is_ours(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file.metadata()?.nlink() > 0),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The packs that have a list, and how long it is.
pub(super) fn listed(dir: &Path) -> io::Result<Vec<(u32, u64)>> {
    let mut listed = vec![];
    for number in numbers(dir, "idx")? {
        let length = fs::metadata(index::path_of(dir, number));
        listed.push((number, length.map_or(0, |it| it.len())));
    }
    listed.sort_unstable();
    Ok(listed)
}

/// Removes what processes that are gone left behind without a list.
pub(super) fn remove_torn(dir: &Path) -> io::Result<()> {
    for number in numbers(dir, "pack")? {
        let (path, index) = (path_of(dir, number), index::path_of(dir, number));
        if index.exists() {
            continue;
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let is_free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        // Its process may have listed it and ended since we looked.
        if is_free && !index.exists() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// What is not named by a number is passed over.
fn numbers(dir: &Path, ending: &'static str) -> io::Result<impl Iterator<Item = u32>> {
    let names: io::Result<Vec<_>> = fs::read_dir(dir)?
        .map(|entry| entry.map(|entry| PathBuf::from(entry.file_name())))
        .collect();
    Ok(names?.into_iter().filter_map(move |name| {
        let is_such = name.extension().is_some_and(|it| it == ending);
        let number = name.file_stem()?.to_str()?.parse().ok()?;
        is_such.then_some(number)
    }))
}
