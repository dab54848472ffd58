//! The file itself: made, recognised, brought to this build's format, and opened.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::StoreError;

/// What a kind of store looks like on disk.
#[derive(Debug)]
pub struct Layout {
    /// Marks the file as ours, in the header field that SQLite has for this.
    pub application_id: i32,
    /// One script for each version of the format. A script that was released is never edited.
    pub migrations: &'static [&'static str],
    /// How large a page of a new file is.
    pub page_bytes: u32,
    /// How many pages the WAL may hold before they are moved to the file.
    pub checkpoint_pages: u32,
}

/// The log of runs: "bond".
///
/// It has the smallest pages: an append is about as large as one, and the WAL takes whole pages. Against 1024 bytes
/// they write a third less for each turn. Its WAL may grow to 16 MiB, for a page that many steps touch is moved once
/// for all of them.
pub(super) const LOG: Layout = Layout {
    application_id: 0x626f_6e64,
    migrations: &[include_str!("001.sql")],
    page_bytes: 512,
    checkpoint_pages: 32_000,
};

/// How long to wait for another process that writes.
const BUSY_TIMEOUT_MS: u64 = 5_000;
const BUSY_TIMEOUT: Duration = Duration::from_millis(BUSY_TIMEOUT_MS);

const READING: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY
    .union(OpenFlags::SQLITE_OPEN_URI)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// How long to wait before the next attempt to open a file that is being made.
const OPEN_PAUSE: Duration = Duration::from_millis(10);

/// A store's file, absolute.
#[derive(Clone, Debug)]
pub struct StoreFile {
    path: Arc<Path>,
    layout: &'static Layout,
    access: Access,
}

/// What may be done with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    All,
    /// Nobody can write it, and all of it is in the file itself.
    Frozen,
    /// It can be read only, and a part of it is in its WAL.
    WithWal,
}

/// Tells a file from another that takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity(u64, u64);

impl FileIdentity {
    #[cfg(unix)]
    fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self(metadata.dev(), metadata.ino())
    }

    #[cfg(not(unix))]
    fn of(_: &fs::Metadata) -> Self {
        Self(0, 0)
    }
}

impl StoreFile {
    /// Names the file; nothing is opened yet.
    pub fn new(path: &Path, layout: &'static Layout) -> Result<Self, StoreError> {
        let absolute = std::path::absolute(path).map_err(|e| StoreError::from_io(path, &e))?;
        Ok(Self {
            path: absolute.into(),
            layout,
            access: Access::All,
        })
    }

    /// Makes an empty file, and the directories above it, where there is nothing yet.
    pub fn create(&self) -> Result<(), StoreError> {
        // An existing file is never opened here: closing it would drop the locks that SQLite holds on it
        // for another connection of this process.
        if fs::exists(&self.path).map_err(|e| self.io(&e))? {
            return Ok(());
        }
        let made = match self.path.parent() {
            Some(dir) => {
                create_private_dir(dir).and_then(|()| create_private_file(&self.path, dir))
            }
            None => Ok(()),
        };
        made.map_err(|error| self.io(&error))
    }

    /// The one connection that writes, with the file brought to this build's format.
    ///
    /// SQLite gives up at once, without its usual patience, where two processes turn a new file to its WAL
    /// at the same time; so the patience is here.
    pub fn open_for_writing(&self) -> Result<Connection, StoreError> {
        let started_at = Instant::now();
        loop {
            match self.try_open_for_writing() {
                Err(StoreError::Locked { .. }) if started_at.elapsed() < BUSY_TIMEOUT => {
                    std::thread::sleep(OPEN_PAUSE);
                }
                opened => return opened,
            }
        }
    }

    fn try_open_for_writing(&self) -> Result<Connection, StoreError> {
        let mut connection = self.connect()?;
        if connection.is_readonly("main").map_err(|e| self.sql(&e))? {
            return Err(StoreError::ReadOnly {
                file: self.path(),
                why: "permission denied".into(),
            });
        }
        self.identify(&connection)?;
        self.prepare(&mut connection).map_err(|e| self.sql(&e))?;
        // A newer build may have changed the format since it was looked at.
        self.identify(&connection)?;
        Ok(connection)
    }

    /// The same file, to be read where it cannot be written: on a mount that is read-only, or of somebody else.
    pub fn to_read(&self) -> Result<Self, StoreError> {
        let mut wal = self.path.as_os_str().to_owned();
        wal.push("-wal");
        let has_wal = fs::metadata(wal).is_ok_and(|wal| wal.len() > 0);
        let file = Self {
            access: match has_wal {
                true => Access::WithWal,
                false => Access::Frozen,
            },
            ..self.clone()
        };
        let connection = file.connect()?;
        file.identify(&connection)?;
        let version: u32 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(|error| file.sql(&error))?;
        match version as usize == self.layout.migrations.len() {
            true => Ok(file),
            false => {
                Err(file.not_writable("it has an older format, which cannot be brought up to date"))
            }
        }
    }

    /// The error of a change to a file that can only be read.
    pub fn not_writable(&self, why: &str) -> StoreError {
        StoreError::ReadOnly {
            file: self.path(),
            why: why.into(),
        }
    }

    /// A connection that only reads.
    pub fn open_for_reading(&self) -> Result<Connection, StoreError> {
        let connection = self.connect()?;
        connection
            .execute_batch("PRAGMA query_only = ON")
            .map_err(|e| self.sql(&e))?;
        Ok(connection)
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        match fs::metadata(&self.path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(StoreError::NotAFile { file: self.path() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Missing { file: self.path() });
            }
            Err(error) => return Err(self.io(&error)),
        }
        let opened = match self.access {
            Access::All => {
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                Connection::open_with_flags(&self.path, flags)
            }
            Access::Frozen => Connection::open_with_flags(self.uri("immutable=1"), READING),
            Access::WithWal => Connection::open_with_flags(self.uri("mode=ro"), READING),
        };
        let connection = opened.map_err(|e| self.sql(&e))?;
        connection
            .busy_timeout(BUSY_TIMEOUT)
            .map_err(|e| self.sql(&e))?;
        Ok(connection)
    }

    /// The file as SQLite is told how to open it.
    fn uri(&self, how: &str) -> String {
        let path = self.path.to_string_lossy();
        let mut uri = String::from("file:");
        for byte in path.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                    uri.push(char::from(byte));
                }
                byte => uri.push_str(&format!("%{byte:02x}")),
            }
        }
        format!("{uri}?{how}")
    }

    /// Refuses what is not a store, or one that only a newer build can read.
    fn identify(&self, connection: &Connection) -> Result<(), StoreError> {
        let (application, found, tables) = connection
            .query_row(
                "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema) \
                 FROM pragma_application_id a, pragma_user_version v",
                [],
                |row| Ok((row.get::<_, i32>(0)?, row.get(1)?, row.get::<_, u32>(2)?)),
            )
            .map_err(|error| self.sql(&error))?;
        let known = self.layout.migrations.len() as u32;
        let is_ours = application == self.layout.application_id;
        match application {
            _ if is_ours && found > known => Err(StoreError::NewerFormat {
                file: self.path(),
                found,
                known,
            }),
            _ if is_ours => Ok(()),
            0 if found == 0 && tables == 0 => Ok(()),
            _ => Err(StoreError::NotAStore {
                file: self.path(),
                why: "it is a database of another program".into(),
            }),
        }
    }

    fn prepare(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        // The page size counts only for a file that is still empty.
        connection.pragma_update(None, "page_size", self.layout.page_bytes)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", self.layout.checkpoint_pages)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "recursive_triggers", true)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: u32 =
            transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let migrations = self.layout.migrations;
        let missing = migrations.get(version as usize..).unwrap_or_default();
        if !missing.is_empty() {
            for script in missing {
                transaction.execute_batch(script)?;
            }
            transaction.pragma_update(None, "application_id", self.layout.application_id)?;
            transaction.pragma_update(None, "user_version", migrations.len() as u32)?;
        }
        transaction.commit()
    }

    /// Which file there is under the path: device and inode.
    pub fn identity(&self) -> Result<FileIdentity, StoreError> {
        let found = fs::metadata(&self.path);
        found
            .map(|it| FileIdentity::of(&it))
            .map_err(|e| match e.kind() {
                io::ErrorKind::NotFound => self.replaced(),
                _ => self.io(&e),
            })
    }

    /// An error where the path no longer leads to the file that was opened: what is written to that is lost.
    pub fn check_identity(&self, opened: FileIdentity) -> Result<(), StoreError> {
        match self.identity()? == opened {
            true => Ok(()),
            false => Err(self.replaced()),
        }
    }

    fn replaced(&self) -> StoreError {
        StoreError::Replaced { file: self.path() }
    }

    /// Absolute.
    pub fn path(&self) -> PathBuf {
        self.path.to_path_buf()
    }

    /// What SQLite said, as an error of this store.
    pub fn sql(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, BUSY_TIMEOUT_MS, error)
    }

    /// What the system said, as an error of this store.
    pub fn io(&self, error: &io::Error) -> StoreError {
        StoreError::from_io(&self.path, error)
    }

    /// The error of whoever asks after the store was closed.
    pub fn closed(&self) -> StoreError {
        StoreError::Closed { file: self.path() }
    }
}

/// Makes the directory and those above it, readable by this user only and synced into their parents.
pub(super) fn create_private_dir(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let parent = dir.parent().unwrap_or(dir);
    create_private_dir(parent)?;
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_dir(parent),
    }
}

fn create_private_file(path: &Path, dir: &Path) -> io::Result<()> {
    match private_options().create_new(true).open(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(_) => sync_dir(dir),
    }
}

/// Options that make a file which only this user can read.
pub(super) fn private_options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A new name in a directory survives a crash only after the directory was synced.
fn sync_dir(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(dir)?.sync_all()?;
    }
    Ok(())
}
