//! Files that are there whole or not at all, even after a crash, and that only their owner may read.
//!
//! Everything that a later process relies on is written here: journals, receipts, records of plans, notes of
//! attempts. Two rules hold. A file is written under another name, made durable and renamed, so that no reader
//! ever meets half of it. And the directory is made durable after that, since a name that is only in memory is
//! gone with the power. Whatever cannot be read as it was written is an error that names its file and never an
//! empty value: a damaged record that counted as none would let work that was done be done again.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use bonded_host::regular;

/// What lies beside a store tells what a person works on.
const PRIVATE_DIR: u32 = 0o700;
/// A file has this mode from the moment it is made, so that there is no time in which others could open it.
pub(crate) const PRIVATE_FILE: u32 = 0o600;
/// The bits that let anybody but the owner in.
const OTHERS: u32 = 0o077;
/// More than the histories and journals of any tree take.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Puts `bytes` at `path`, in place of what is there. When this returns, they have reached the disk. Missing
/// directories are made. The caller sees to it that no other process writes the same path at the same time.
///
/// The steps are: write under another name, sync the file, rename, sync the directory. A crash before the
/// rename leaves the old content, one after it the new one. A failure of the last step means that the new
/// content is there and may not outlive a power cut; the caller treats it as not written.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
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
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let Some(bytes) = read_if_there(path)? else {
        return Ok(None);
    };
    let value = serde_json::from_slice(&bytes).map_err(|error| {
        let why = format!("it is damaged: {error}; restore it, or start the plan again");
        about(path, io::ErrorKind::InvalidData, &why)
    })?;
    Ok(Some(value))
}

/// What a file holds, and nothing where there is none.
///
/// Only a regular file is read, and only up to the limit: a pipe or a device that somebody put there neither
/// blocks nor fills memory.
pub(crate) fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match regular::read(path, FILE_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(about(path, error.kind(), &error.to_string())),
        Ok(bytes) => Ok(Some(bytes)),
    }
}

/// The system's own errors do not name the file.
fn about(path: &Path, kind: io::ErrorKind, why: &str) -> io::Error {
    io::Error::new(kind, format!("{}: {why}", path.display()))
}

/// Removes `path`, if it is there. When this returns, it does not come back.
///
/// One that is not there is removed already, so that it can be done again after a crash.
pub(crate) fn remove_durably(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        removed => removed?,
    }
    sync_directory(directory_of(path))
}

/// Makes the names in a directory as durable as the files are.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Makes the directory that is to hold `path`, and those above it, durably.
pub(crate) fn make_directory_of(path: &Path) -> io::Result<&Path> {
    let directory = directory_of(path);
    make_directory(directory)?;
    Ok(directory)
}

/// Each new directory is synced into the one above it before anything is put into it.
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

/// A bare name lies in the directory of the process; the root lies in itself.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// One fixed name beside the file, which is why two processes must not write the same file at a time.
fn new_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".new");
    path.with_file_name(name)
}

/// Never follows a link and never writes into a file that is there: the name is made anew.
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
