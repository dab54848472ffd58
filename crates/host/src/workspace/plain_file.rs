//! Files that are read whole: regular ones, and no longer than they should be.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Reads a file that whoever runs the server named.
pub(super) fn read(path: &Path, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    whole(open(path, OFlags::empty())?, bytes_max)
}

/// Reads a file that somebody else named: it is that file itself, not what a link leads to.
pub(super) fn read_no_link(path: &Path, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    whole(open(path, OFlags::NOFOLLOW)?, bytes_max)
}

fn open(path: &Path, flags: OFlags) -> std::io::Result<File> {
    // To open a pipe would wait for its other end.
    let flags = flags | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn whole(file: File, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(Error::other("it is no regular file"));
    }
    let mut bytes = vec![];
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(Error::other(format!("it is longer than {bytes_max} bytes"))),
        false => Ok(bytes),
    }
}
