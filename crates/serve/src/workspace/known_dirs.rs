//! Which data directories a user has: a list beside the user's own store, so that the runs of rules are found without
//! being told where.
//!
//! It is a help and no record: whatever cannot be read or written of it is passed over, and a directory that is gone
//! drops out when the next one is noted. What it names is looked at only if it belongs to the user.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use bonded_host::regular;

use super::data_dir::DataDir;

/// More than a person has; the ones noted first drop out.
const DIRS_MAX: usize = 64;
/// Longer than so many paths.
const BYTES_MAX: u64 = 512 * 1024;

/// The list of data directories, in a file of the user's.
#[derive(Debug)]
pub struct KnownDirs(PathBuf);

/// A directory of the list.
#[derive(Debug)]
pub enum KnownDir {
    /// It is there and the user's own.
    Open(DataDir),
    /// It is there, and is not looked at.
    Closed {
        /// As it was noted.
        dir: PathBuf,
        /// In a few words.
        why: &'static str,
    },
}

impl KnownDirs {
    /// Whether or not the file is there.
    pub fn at(file: PathBuf) -> Self {
        Self(file)
    }

    /// Notes a directory as the newest.
    pub fn note(&self, dir: &Path) -> io::Result<()> {
        let dir = dir.canonicalize()?;
        // Only texts are listed.
        let Some(dir) = dir.to_str() else {
            return Ok(());
        };
        let parent = self.0.parent().unwrap_or(Path::new("."));
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(parent)?;
        // Two that note at once lose nothing of each other's.
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.0.with_extension("lock"))?;
        lock.lock()?;
        let before = self.listed();
        let is_there = |it: &&String| *it != dir && Path::new(it).join("workspace.db").exists();
        let kept = before.iter().filter(is_there).map(String::as_str);
        let dirs: Vec<&str> = [dir].into_iter().chain(kept).take(DIRS_MAX).collect();
        if dirs == before {
            return Ok(());
        }
        let mut file = tempfile::NamedTempFile::new_in(parent)?;
        file.as_file()
            .set_permissions(Permissions::from_mode(0o600))?;
        let text = serde_json::to_string_pretty(&dirs).map_err(io::Error::other)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.0)?;
        Ok(())
    }

    /// Those that are there, the newest first. Nothing is made or changed.
    pub fn dirs(&self) -> Vec<KnownDir> {
        let listed = self.listed().into_iter().take(DIRS_MAX);
        listed
            .filter_map(|dir| looked_at(Path::new(&dir)))
            .collect()
    }

    /// What is no list of the user's is an empty one.
    fn listed(&self) -> Vec<String> {
        let is_own = fs::symlink_metadata(&self.0).is_ok_and(|found| is_own(&found));
        let text = is_own.then(|| regular::read_text(&self.0, BYTES_MAX));
        let text = text.and_then(Result::ok).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// `None` where nothing is there any more.
fn looked_at(dir: &Path) -> Option<KnownDir> {
    let closed = |why| KnownDir::Closed {
        dir: dir.to_owned(),
        why,
    };
    if !dir.is_absolute() {
        return None;
    }
    let found = match fs::symlink_metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Some(closed("it cannot be read"));
        }
        found => found.ok()?,
    };
    if !found.is_dir() {
        return None;
    }
    if !is_own(&found) {
        return Some(closed("it belongs to another user"));
    }
    let opened = DataDir::open(dir, None).ok()?;
    let files = [dir.join("workspace.db"), opened.runs_file()];
    let is_strange = |file: &PathBuf| {
        fs::symlink_metadata(file).is_ok_and(|found| !(found.is_file() && is_own(&found)))
    };
    match files.iter().any(is_strange) {
        true => Some(closed("its files belong to another user")),
        false => Some(KnownDir::Open(opened)),
    }
}

fn is_own(found: &fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}
