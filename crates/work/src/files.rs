//! Files that are there whole or not at all, also after a crash, and that nobody but their owner may read.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use bonded_host::regular;

const PRIVATE_DIR: u32 = 0o700;
pub(crate) const PRIVATE_FILE: u32 = 0o600;
const OTHERS: u32 = 0o077;
/// More than the histories and journals of any tree take.
pub(super) const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Puts `bytes` at `path`, in place of what is there. When this returns, they have reached the disk. Missing
/// directories are made. The caller sees to it that no other process writes the same path at the same time.
pub fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = make_directory_of(path)?;
    let new = new_name(path);
    let written = write_new(&new, bytes).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // Best effort: what failed is said, and the next write begins with this name anyway.
        let _ = fs::remove_file(&new);
    }
    written?;
    sync_directory(directory)
}

/// What a file holds as JSON, and nothing where there is none. One that holds something else is an error that names it:
/// what is written whole is read whole, so that somebody or the disk has changed it.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let Some(bytes) = read_if_there(path)? else {
        return Ok(None);
    };
    let value = serde_json::from_slice(&bytes).map_err(|error| {
        let why = format!("it is damaged: {error}; restore it, or start the plan anew");
        about(path, io::ErrorKind::InvalidData, &why)
    })?;
    Ok(Some(value))
}

/// What a file holds, and nothing where there is none.
pub(super) fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match regular::read(path, FILE_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(about(path, error.kind(), &error.to_string())),
        Ok(bytes) => Ok(Some(bytes)),
    }
}

fn about(path: &Path, kind: io::ErrorKind, why: &str) -> io::Error {
    io::Error::new(kind, format!("{}: {why}", path.display()))
}

/// Removes `path`, if it is there. When this returns, it does not come back.
pub fn remove_durably(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        removed => removed?,
    }
    sync_directory(directory_of(path))
}

/// Makes the names in a directory as durable as the files are.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Makes the directory that is to hold `path`, and those above it, durably.
pub(crate) fn make_directory_of(path: &Path) -> io::Result<&Path> {
    let directory = directory_of(path);
    make_directory(directory)?;
    Ok(directory)
}

fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let above = directory_of(directory);
    make_directory(above)?;
    match fs::DirBuilder::new().mode(PRIVATE_DIR).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    sync_directory(above)
}

/// Makes a directory that only its owner may look into, with those above it that are missing, whatever the umask is.
/// One of the owner's that is there already is closed to others.
pub(crate) fn make_private_directory(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_DIR)
        .create(directory)?;
    let there = fs::metadata(directory)?;
    let is_own = there.uid() == rustix::process::geteuid().as_raw();
    match is_own && there.permissions().mode() & OTHERS != 0 {
        true => fs::set_permissions(directory, fs::Permissions::from_mode(PRIVATE_DIR)),
        false => Ok(()),
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

fn new_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".new");
    path.with_file_name(name)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A process that was killed here may have left one.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(PRIVATE_FILE)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
