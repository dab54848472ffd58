//! The record of what a person trusts: one file in the person's own configuration directory.
//!
//! It is data and holds no secret, but whoever can write it can have anything trusted. So it counts
//! only if nobody else may write it, a damaged one trusts nothing and is never written over, and
//! changes are made under a lock and in one step.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Contents;

const VERSION: u32 = 1;
/// More than anybody trusts.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The file, which need not be there.
#[derive(Clone, Debug)]
pub struct TrustRecord {
    file: PathBuf,
}

/// One content that is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trusted {
    /// When, in RFC 3339.
    pub at: String,
    /// The hashes of the file and of what it pulls in; null where nothing was there.
    pub files: BTreeMap<String, Option<String>>,
}

/// The file as a whole; unknown fields make it damaged.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Book {
    version: u32,
    trusted: BTreeMap<String, Trusted>,
}

/// Why the record cannot be used. Nothing is trusted then.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Not what this program writes, or others may write it.
    #[error(
        "the trust record {} is damaged ({why}), so nothing is trusted; inspect it, then move it away and trust your files again",
        file.display()
    )]
    Damaged { file: PathBuf, why: String },
    /// It is there, and the system does not let it be read.
    #[error("the trust record {} cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// The answer could not be kept.
    #[error(
        "the trust record {} cannot be written: {source}; make the directory writable, or use --trust this once",
        file.display()
    )]
    Unwritable { file: PathBuf, source: io::Error },
    /// There is nowhere to keep it.
    #[error(
        "the home directory is not known, so trust cannot be recorded; set HOME, or use --trust this once"
    )]
    NoHome,
}

impl TrustRecord {
    /// Nothing is read yet.
    pub fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// Where it is, or would be.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Everything that is trusted, by the path of the file.
    pub fn list(&self) -> Result<BTreeMap<String, Trusted>, TrustError> {
        let Some(text) = self.read()? else {
            return Ok(BTreeMap::new());
        };
        let damaged = |why: String| TrustError::Damaged {
            file: self.file.clone(),
            why,
        };
        let book: Book =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match book.version {
            VERSION => Ok(book.trusted),
            other => Err(damaged(format!("its version is {other}, not {VERSION}"))),
        }
    }

    /// Whether the very same contents of all files were trusted.
    pub fn trusts(&self, contents: &Contents) -> Result<bool, TrustError> {
        Ok(self.changed(contents)?.is_some_and(|it| it.is_empty()))
    }

    /// The files whose content is another one than the trusted; `None` where nothing is trusted there.
    pub fn changed(&self, contents: &Contents) -> Result<Option<Vec<String>>, TrustError> {
        let mut trusted = self.list()?;
        let Some(trusted) = trusted.remove(&*contents.main().to_string_lossy()) else {
            return Ok(None);
        };
        let now: BTreeMap<String, Option<String>> = contents
            .files()
            .map(|(file, hash)| (file, hash.clone()))
            .collect();
        let all = now.keys().chain(trusted.files.keys());
        let mut changed: Vec<String> = all
            .filter(|file| now.get(*file) != trusted.files.get(*file))
            .cloned()
            .collect();
        changed.sort();
        changed.dedup();
        Ok(Some(changed))
    }

    /// Trusts these contents, whatever was trusted of their files before.
    pub fn add(&self, contents: &[Contents]) -> Result<(), TrustError> {
        let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let at = at.to_string();
        self.change(|trusted| {
            for contents in contents {
                let main = contents.main().to_string_lossy().into_owned();
                let files = contents.files();
                let files = files.map(|(file, hash)| (file, hash.clone())).collect();
                let at = at.clone();
                trusted.insert(main, Trusted { at, files });
            }
        })
    }

    /// Takes trust back from a file, or from every file in a directory and below. What was trusted of them.
    pub fn revoke(&self, path: &Path) -> Result<Vec<String>, TrustError> {
        let mut revoked = vec![];
        self.change(|trusted| {
            trusted.retain(|file, _| {
                let is_meant = Path::new(file).starts_with(path);
                if is_meant {
                    revoked.push(file.clone());
                }
                !is_meant
            });
        })?;
        Ok(revoked)
    }

    /// Reads the record, changes it and replaces it, while nobody else does. A damaged one is never replaced.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Trusted>),
    ) -> Result<(), TrustError> {
        let unwritable = |source| TrustError::Unwritable {
            file: self.file.clone(),
            source,
        };
        let dir = self.file.parent().unwrap_or(Path::new("/"));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(unwritable)?;
        let lock = private(OpenOptions::new().read(true))
            .open(self.file.with_extension("lock"))
            .map_err(unwritable)?;
        lock.lock().map_err(unwritable)?;
        let mut trusted = self.list()?;
        change(&mut trusted);
        let book = Book {
            version: VERSION,
            trusted,
        };
        let mut text = serde_json::to_vec_pretty(&book).map_err(|it| unwritable(it.into()))?;
        text.push(b'\n');
        self.replace(dir, &text).map_err(unwritable)
    }

    /// The directory is synced as well, so that the new name survives a loss of power.
    fn replace(&self, dir: &Path, text: &[u8]) -> io::Result<()> {
        // Made for its owner alone.
        let mut new = tempfile::NamedTempFile::new_in(dir)?;
        new.write_all(text)?;
        new.as_file().sync_all()?;
        new.persist(&self.file).map_err(|error| error.error)?;
        File::open(dir)?.sync_all()
    }

    /// A pipe in its place makes nobody wait.
    fn read(&self) -> Result<Option<Vec<u8>>, TrustError> {
        let unreadable = |source| TrustError::Unreadable {
            file: self.file.clone(),
            source,
        };
        let damaged = |why: &str| TrustError::Damaged {
            file: self.file.clone(),
            why: why.into(),
        };
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits();
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(i32::try_from(nonblocking).unwrap_or_default())
            .open(&self.file);
        let opened = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(unreadable)?,
        };
        let about = opened.metadata().map_err(unreadable)?;
        if !about.is_file() {
            return Err(damaged("it is not a regular file"));
        }
        if about.mode() & 0o022 != 0 {
            return Err(damaged("others may write it"));
        }
        let mut bytes = vec![];
        opened
            .take(BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(damaged("it is too large"));
        }
        Ok(Some(bytes))
    }
}

/// For a file that only its owner sees.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.write(true).create(true).truncate(false).mode(0o600)
}
