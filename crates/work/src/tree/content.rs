//! What is in a file.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use bonded_kernel::Hash;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use super::error::TreeError;
use super::objects::{Objects, PIECE_BYTES, Streamed, read_piece};

/// Files up to this length are held in memory while they are hashed and kept.
const WHOLE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A pipe that took the file's place must not make us wait.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// What came of reading a file.
#[derive(Debug)]
pub(super) enum Read {
    Content(Hash),
    /// It is not the file that was looked at.
    Changed,
    Unreadable(io::Error),
    NotKept(TreeError),
}

/// Reads files, and keeps their contents where they are to be kept.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    objects: Option<&'a Objects>,
    buffer: Vec<u8>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(objects: Option<&'a Objects>) -> Self {
        Self {
            objects,
            buffer: vec![],
        }
    }

    /// A file that is no longer so long has changed. Whether it changed otherwise is for the caller to see, who
    /// has its stamp.
    pub(super) fn read(&mut self, dir: impl AsFd, name: &CStr, bytes: u64) -> Read {
        self.read_opened(openat(dir, name, FLAGS, Mode::empty()), bytes)
    }

    /// The same for a path in a directory. Links are not followed.
    pub(super) fn read_beneath(&mut self, dir: impl AsFd, path: &Path, bytes: u64) -> Read {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let opened = openat2(dir, path, FLAGS, Mode::empty(), resolve);
        self.read_opened(opened, bytes)
    }

    fn read_opened(&mut self, opened: rustix::io::Result<OwnedFd>, bytes: u64) -> Read {
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::NOTDIR) => return Read::Changed,
            Err(errno) => return Read::Unreadable(errno.into()),
        };
        let read = match bytes <= WHOLE_BYTES_MAX {
            true => self.whole(&file, bytes),
            false => self.by_pieces(file, bytes),
        };
        read.unwrap_or_else(|error| match error.raw_os_error() {
            // What took its place has no bytes to read, or none yet.
            Some(code) if is_no_file(code) => Read::Changed,
            _ => Read::Unreadable(error),
        })
    }

    fn whole(&mut self, file: &OwnedFd, bytes: u64) -> io::Result<Read> {
        let expected = bytes as usize;
        if self.buffer.len() <= expected {
            self.buffer.resize((expected + 1).next_power_of_two(), 0);
        }
        let mut length = 0;
        // One byte more than there should be is asked for. Where it does not come with the others, the end is there.
        loop {
            let more = rustix::io::read(file, &mut self.buffer[length..=expected])?;
            length += more;
            if more == 0 || length >= expected {
                break;
            }
        }
        if length != expected {
            return Ok(Read::Changed);
        }
        let content = &self.buffer[..length];
        let hash = Hash::of(content);
        let kept = self.objects.map_or(Ok(()), |it| it.put(hash, content));
        Ok(kept.map_or_else(Read::NotKept, |()| Read::Content(hash)))
    }

    /// A long content is kept while it is hashed, if it cannot be one that is there already.
    fn by_pieces(&self, file: OwnedFd, bytes: u64) -> io::Result<Read> {
        let mut file = File::from(file);
        let Some(objects) = self.objects else {
            return hash_by_pieces(&mut file, bytes);
        };
        if objects.has_length(bytes) {
            match hash_by_pieces(&mut file, bytes)? {
                Read::Content(hash) if !objects.has(hash) => io::Seek::rewind(&mut file)?,
                read => return Ok(read),
            }
        }
        Ok(match objects.put_stream(&mut file, bytes)? {
            Streamed::Kept(hash) => Read::Content(hash),
            Streamed::OtherLength => Read::Changed,
            Streamed::Refused(error) => Read::NotKept(error),
        })
    }
}

fn hash_by_pieces(file: &mut File, bytes: u64) -> io::Result<Read> {
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut done = 0;
    loop {
        let length = read_piece(file, &mut piece)?;
        if length == 0 || done > bytes {
            break;
        }
        hasher.update(&piece[..length]);
        done += length as u64;
    }
    Ok(match done == bytes {
        true => Read::Content(hasher.into()),
        false => Read::Changed,
    })
}

fn is_no_file(code: i32) -> bool {
    [Errno::AGAIN, Errno::ISDIR, Errno::STALE]
        .iter()
        .any(|errno| errno.raw_os_error() == code)
}
