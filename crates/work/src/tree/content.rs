//! What is in a file.
//!
//! Every file is a stranger's: it may be exchanged for a pipe, a link or a directory between two system calls,
//! and it may grow while it is read. So it is opened without following links and without waiting, and read
//! exactly as far as its stamp says. What does not fit has changed, which is no error: the pass is made again.

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
pub(super) enum ReadOutcome {
    Content(Hash),
    /// It is not the file that was looked at.
    Changed,
    Unreadable(io::Error),
    NotKept(TreeError),
}

/// Reads files, and keeps their contents where they are to be kept.
#[derive(Debug)]
pub(super) struct FileReader<'a> {
    objects: Option<&'a Objects>,
    buffer: Vec<u8>,
}

impl<'a> FileReader<'a> {
    pub(super) fn new(objects: Option<&'a Objects>) -> Self {
        Self {
            objects,
            buffer: vec![],
        }
    }

    /// A file that is no longer so long has changed. Whether it changed otherwise is for the caller to see, who
    /// has its stamp.
    pub(super) fn read(&mut self, dir: impl AsFd, name: &CStr, bytes: u64) -> ReadOutcome {
        self.read_opened(openat(dir, name, FLAGS, Mode::empty()), bytes)
    }

    /// The same for a path in a directory. Links are not followed.
    pub(super) fn read_beneath(&mut self, dir: impl AsFd, path: &Path, bytes: u64) -> ReadOutcome {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let opened = openat2(dir, path, FLAGS, Mode::empty(), resolve);
        self.read_opened(opened, bytes)
    }

    /// Short files are read in one go into a buffer that is used again; long ones in pieces, so that memory
    /// stays bounded.
    fn read_opened(&mut self, opened: rustix::io::Result<OwnedFd>, bytes: u64) -> ReadOutcome {
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::NOTDIR) => {
                return ReadOutcome::Changed;
            }
            Err(errno) => return ReadOutcome::Unreadable(errno.into()),
        };
        let read = match bytes <= WHOLE_BYTES_MAX {
            true => self.whole(&file, bytes),
            false => self.by_pieces(file, bytes),
        };
        read.unwrap_or_else(|error| match error.raw_os_error() {
            // What took its place has no bytes to read, or none yet.
            Some(code) if is_no_file(code) => ReadOutcome::Changed,
            _ => ReadOutcome::Unreadable(error),
        })
    }

    /// Asking for one byte more than there should be sees a file that has grown without another call for the
    /// end.
    fn whole(&mut self, file: &OwnedFd, bytes: u64) -> io::Result<ReadOutcome> {
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
            return Ok(ReadOutcome::Changed);
        }
        let content = &self.buffer[..length];
        let hash = Hash::of(content);
        let kept = self.objects.map_or(Ok(()), |it| it.put(hash, content));
        Ok(kept.map_or_else(ReadOutcome::NotKept, |()| ReadOutcome::Content(hash)))
    }

    /// A long content is kept while it is hashed, if it cannot be one that is there already.
    fn by_pieces(&self, file: OwnedFd, bytes: u64) -> io::Result<ReadOutcome> {
        let mut file = File::from(file);
        let Some(objects) = self.objects else {
            return hash_by_pieces(&mut file, bytes);
        };
        if objects.has_length(bytes) {
            match hash_by_pieces(&mut file, bytes)? {
                ReadOutcome::Content(hash) if !objects.has(hash) => io::Seek::rewind(&mut file)?,
                read => return Ok(read),
            }
        }
        Ok(match objects.put_stream(&mut file, bytes)? {
            Streamed::Kept(hash) => ReadOutcome::Content(hash),
            Streamed::OtherLength => ReadOutcome::Changed,
            Streamed::Refused(error) => ReadOutcome::NotKept(error),
        })
    }
}

/// Stops soon after the length is passed: a file that grows as fast as it is read would never end.
fn hash_by_pieces(file: &mut File, bytes: u64) -> io::Result<ReadOutcome> {
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
        true => ReadOutcome::Content(hasher.into()),
        false => ReadOutcome::Changed,
    })
}

/// What the system answers where a pipe, a directory or a file of a server that is gone took the place.
fn is_no_file(code: i32) -> bool {
    [Errno::AGAIN, Errno::ISDIR, Errno::STALE]
        .iter()
        .any(|errno| errno.raw_os_error() == code)
}
