//! The file in which the token of a server is kept, readable for its owner alone.
//!
//! Whoever renews a token holds the lock of its file: an issuer that gives a new refresh token takes the old
//! one back, so two processes must not spend the same one.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bonded_kernel::Hash;
use reqwest::Url;
use tokio::time::{Instant, sleep};

use super::discover::canonical;
use super::error::OauthError;
use super::token::Kept;

/// Longer than any renewal takes.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);
/// Between two tries, since the lock is not waited for in a thread.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// More than any token takes; a larger file cannot be understood and counts as none.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The file of one server.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
    server: String,
}

/// Nobody else renews the token for as long as this lives.
#[derive(Debug)]
pub(super) struct Held(#[expect(dead_code, reason = "it is held for its lock")] File);

impl TokenFile {
    /// Two addresses that differ in their queries alone have two logins.
    pub(super) fn new(dir: &Path, server: &Url) -> Self {
        let name = Hash::of(server.as_str().as_bytes()).to_string();
        Self {
            path: dir.join(format!("{name}.json")),
            server: canonical(server),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is kept; nothing where there is no file, or where it cannot be understood.
    pub(super) fn read(&self) -> Result<Option<Kept>, OauthError> {
        match read_whole(&self.path) {
            Ok(kept) => Ok(kept.filter(|kept| kept.server == self.server)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.fault(error)),
        }
    }

    /// Replaces the file as a whole.
    pub(super) fn write(&self, kept: &Kept) -> Result<(), OauthError> {
        let text = serde_json::to_vec(kept).map_err(|error| self.fault(error.into()))?;
        let write = || {
            let dir = self.path.parent().unwrap_or(Path::new("."));
            make_dir(dir)?;
            // A temporary file is its owner's alone from the beginning.
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            File::open(dir)?.sync_all()
        };
        write().map_err(|error| self.fault(error))
    }

    /// Whether there was one.
    pub(super) fn remove(&self) -> Result<bool, OauthError> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.fault(error)),
        }
    }

    /// The lock is on a file of its own, because the file of the token is replaced with each renewal.
    pub(super) async fn lock(&self) -> Result<Held, OauthError> {
        let path = self.path.with_extension("lock");
        let open = || {
            make_dir(path.parent().unwrap_or(Path::new(".")))?;
            let mut options = OpenOptions::new();
            options.create(true).append(true).mode(0o600).open(&path)
        };
        let file = open().map_err(|error| self.fault(error))?;
        let until = Instant::now() + LOCK_PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Held(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOCK_PAUSE).await,
                Err(TryLockError::WouldBlock) => return Err(OauthError::Locked { path }),
                Err(TryLockError::Error(error)) => return Err(self.fault(error)),
            }
        }
    }

    fn fault(&self, source: io::Error) -> OauthError {
        let path = self.path.clone();
        OauthError::File { path, source }
    }
}

/// What a file holds; nothing where it cannot be understood.
fn read_whole(path: &Path) -> io::Result<Option<Kept>> {
    let file = File::open(path)?;
    let text = io::read_to_string(io::Read::take(file, FILE_BYTES_MAX))?;
    Ok(serde_json::from_str(&text).ok())
}

fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}
