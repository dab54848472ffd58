//! The record of one run: a file that only grows, read as a whole and written frame by frame.
//!
//! A process that dies while it writes leaves half of a frame at the end, which counts as not written and is cut off by
//! the next writer. Anything else that cannot be read is damage, and said.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bonded_kernel::{Hash, RunId};
use rustix::fs::{FallocateFlags, FlockOperation, OFlags, fallocate, flock};
use rustix::io::Errno;

use crate::bounds::CONTENT_BYTES_MAX;
use crate::error::ChangesError;
use crate::frame::{ChangeSet, FORMAT, Frame, LINE_BYTES_MAX, Outcome, chain, parts, seal};

/// Room for what is said at the end of an undo, set aside before it begins: a disk that is full then keeps nobody from
/// saying what came of it.
const RESERVED_BYTES: u64 = 256 * 1024;

/// The record of a run.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: File,
    /// Where the frames end that were read.
    end: u64,
    last: Hash,
    began: Option<(RunId, PathBuf)>,
    kept: BTreeMap<Hash, KeptAt>,
    sets: Vec<RecordedSet>,
}

/// Where a content lies in the file.
#[derive(Clone, Copy, Debug)]
struct KeptAt {
    at: u64,
    bytes: u64,
    base: Option<Hash>,
}

/// Changes, and what is known of them.
#[derive(Clone, Debug)]
pub(crate) struct RecordedSet {
    pub(crate) set: ChangeSet,
    pub(crate) is_swapped: bool,
    /// `None` where whoever made them did not come to say it.
    pub(crate) outcome: Option<Outcome>,
}

/// The right to write to a record, given up when it is dropped.
#[derive(Debug)]
pub(crate) struct RecordLock(File);

impl Drop for RecordLock {
    fn drop(&mut self) {
        // The system frees it with the file at the latest.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Record {
    /// Opens the record of a run to read it; `None` where there is none.
    pub fn open(path: &Path) -> Result<Option<Self>, ChangesError> {
        Self::open_as(path, OpenOptions::new().read(true))
    }

    /// Opens it to write to it too.
    pub(crate) fn open_to_write(path: &Path) -> Result<Option<Self>, ChangesError> {
        Self::open_as(path, OpenOptions::new().read(true).write(true))
    }

    /// The same; where there is none it is begun.
    pub(crate) fn begin(path: &Path, run: &RunId, dir: &Path) -> Result<Self, ChangesError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let mut record = Self::open_as(path, &mut options)?
            .expect("a file that is made where it is missing is there");
        let _lock = record.lock()?;
        record.catch_up()?;
        if record.began.is_none() {
            let (run, dir) = (run.clone(), dir.to_owned());
            let format = FORMAT;
            record.append(&[(&Frame::Began { format, run, dir }, &[])], true)?;
            let fail = ChangesError::record(path);
            let above = path.parent().unwrap_or(Path::new("."));
            File::open(above)
                .and_then(|dir| dir.sync_all())
                .map_err(fail)?;
        }
        Ok(record)
    }

    fn open_as(path: &Path, options: &mut OpenOptions) -> Result<Option<Self>, ChangesError> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = match options.custom_flags(flags).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(ChangesError::record(path))?,
        };
        let mut record = Self {
            path: path.to_owned(),
            file,
            end: 0,
            last: Hash::ZERO,
            began: None,
            kept: BTreeMap::new(),
            sets: vec![],
        };
        record.catch_up()?;
        Ok(Some(record))
    }

    /// Whose record it is, and the directory that the run worked in.
    pub fn began(&self) -> Option<(&RunId, &Path)> {
        let (run, dir) = self.began.as_ref()?;
        Some((run, dir))
    }

    /// The changes in the order in which they were begun, and whether they are known to have been made.
    pub fn sets(&self) -> impl Iterator<Item = (&ChangeSet, Option<&Outcome>)> {
        self.sets.iter().map(|it| (&it.set, it.outcome.as_ref()))
    }

    pub(crate) fn recorded(&self) -> &[RecordedSet] {
        &self.sets
    }

    /// Whether somebody removed the file since it was opened.
    pub(crate) fn is_gone(&self) -> bool {
        self.file.metadata().is_ok_and(|it| it.nlink() == 0)
    }

    /// How many bytes of the file are read.
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// The hash of the last frame, which holds all before it.
    pub fn head(&self) -> Hash {
        self.last
    }

    pub(crate) fn next_set(&self) -> u64 {
        self.sets.len() as u64 + 1
    }

    pub(crate) fn holds(&self, hash: &Hash) -> bool {
        self.kept.contains_key(hash)
    }

    /// Waits until nobody else writes.
    pub(crate) fn lock(&self) -> Result<RecordLock, ChangesError> {
        let fail = ChangesError::record(&self.path);
        loop {
            match flock(&self.file, FlockOperation::LockExclusive) {
                Ok(()) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(fail(errno.into())),
            }
        }
        Ok(RecordLock(self.file.try_clone().map_err(fail)?))
    }

    /// Reads what was written since, by whichever process.
    pub(crate) fn catch_up(&mut self) -> Result<(), ChangesError> {
        let fail = ChangesError::record(&self.path);
        let length = self.file.metadata().map_err(&fail)?.len();
        if length <= self.end {
            return Ok(());
        }
        let mut reader = BufReader::with_capacity(64 * 1024, self.file.try_clone().map_err(&fail)?);
        reader.seek(SeekFrom::Start(self.end)).map_err(&fail)?;
        while let Some(read) = self.read_frame(&mut reader, length)? {
            self.take(read)?;
        }
        Ok(())
    }

    /// The next frame, where there is a whole one.
    fn read_frame(
        &self,
        reader: &mut BufReader<File>,
        length: u64,
    ) -> Result<Option<FrameRead>, ChangesError> {
        let fail = ChangesError::record(&self.path);
        let mut line = vec![];
        let mut limited = reader.by_ref().take(LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut line).map_err(&fail)?;
        if line.pop() != Some(b'\n') {
            return Ok(None);
        }
        let Some((hash, bytes, json)) = parts(&line) else {
            return self.torn_or_damaged(length, "a line is not part of a record");
        };
        let at = self.end + line.len() as u64 + 1;
        let next = at.saturating_add(bytes).saturating_add(1);
        if next > length {
            return Ok(None);
        }
        if bytes > CONTENT_BYTES_MAX {
            return self.torn_or_damaged(length, "a content is too long");
        }
        let mut content = vec![];
        let mut limited = reader.by_ref().take(bytes + 1);
        limited.read_to_end(&mut content).map_err(&fail)?;
        content.pop();
        if chain(self.last, json, &content) != hash {
            return self.torn_or_damaged(length, "a hash is not that of what it stands for");
        }
        let frame =
            serde_json::from_slice(json).map_err(|error| self.damaged(&error.to_string()))?;
        let content_hash = (bytes > 0).then(|| Hash::of(&content));
        Ok(Some(FrameRead {
            frame,
            hash,
            at,
            bytes,
            next,
            content: content_hash,
        }))
    }

    /// What never reached the disk is zero; a file that ends so lost its last write with the power.
    fn torn_or_damaged<T>(&self, length: u64, why: &str) -> Result<Option<T>, ChangesError> {
        let mut last = [1];
        let read = self.file.read_at(&mut last, length.saturating_sub(1));
        match read.is_ok() && last == [0] {
            true => Ok(None),
            false => Err(self.damaged(why)),
        }
    }

    fn damaged(&self, why: &str) -> ChangesError {
        ChangesError::Damaged {
            path: self.path.clone(),
            at: self.end,
            why: why.to_owned(),
        }
    }

    fn take(&mut self, read: FrameRead) -> Result<(), ChangesError> {
        let FrameRead {
            frame, at, bytes, ..
        } = read;
        match frame {
            Frame::Began { format, .. } if format > FORMAT => {
                let why = format!("it has format {format}, this build reads up to {FORMAT}");
                return Err(self.damaged(&why));
            }
            Frame::Began { run, dir, .. } => self.began = Some((run, dir)),
            Frame::Kept { hash, base } => {
                let is_own = base.is_some() || read.content == Some(hash) || bytes == 0;
                if !is_own {
                    return Err(self.damaged("a content has another hash"));
                }
                self.kept.insert(hash, KeptAt { at, bytes, base });
            }
            Frame::Changing(set) => self.sets.push(RecordedSet {
                set,
                is_swapped: false,
                outcome: None,
            }),
            Frame::Swapped { set } => self.set_mut(set)?.is_swapped = true,
            Frame::Changed { set, outcome } => self.set_mut(set)?.outcome = Some(outcome),
        }
        (self.end, self.last) = (read.next, read.hash);
        Ok(())
    }

    fn set_mut(&mut self, set: u64) -> Result<&mut RecordedSet, ChangesError> {
        let damaged = self.damaged("it says what came of changes that it does not have");
        let at = usize::try_from(set).ok().and_then(|it| it.checked_sub(1));
        let found = at.and_then(|at| self.sets.get_mut(at));
        found.ok_or(damaged)
    }

    /// Adds frames, all of them or none, under a lock that the caller has. What is written so outlives the machine where
    /// it is synced, and the process in any case.
    pub(crate) fn append(
        &mut self,
        frames: &[(&Frame, &[u8])],
        synced: bool,
    ) -> Result<(), ChangesError> {
        let fail = ChangesError::record(&self.path);
        let mut bytes = vec![];
        let mut last = self.last;
        let mut read = vec![];
        for (frame, content) in frames {
            let begins = self.end + bytes.len() as u64;
            let (sealed, hash) = seal(last, frame, content);
            bytes.extend_from_slice(&sealed);
            let length = content.len() as u64;
            read.push(FrameRead {
                frame: (*frame).clone(),
                hash,
                at: begins + sealed.len() as u64 - length - 1,
                bytes: length,
                next: begins + sealed.len() as u64,
                content: match frame {
                    Frame::Kept { hash, base: None } => Some(*hash),
                    _ => None,
                },
            });
            last = hash;
        }
        let written = self.file.write_all_at(&bytes, self.end).and_then(|()| {
            // What a process that died left behind it, which may be longer.
            self.file.set_len(self.end + bytes.len() as u64)?;
            if synced {
                self.file.sync_data()
            } else {
                Ok(())
            }
        });
        if let Err(error) = written {
            // Best effort: half of a frame counts as none.
            let _ = self.file.set_len(self.end);
            return Err(fail(error));
        }
        read.into_iter().try_for_each(|read| self.take(read))
    }

    /// Sets room aside for what is said at the end of an undo of so many changes.
    pub(crate) fn reserve(&self, changes: usize) -> Result<(), ChangesError> {
        let bytes = RESERVED_BYTES + 512 * changes as u64;
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.end, bytes) {
            // Not every file system can; then the room is found when it is needed.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM) => Ok(()),
            Err(errno) => Err(ChangesError::record(&self.path)(errno.into())),
        }
    }

    /// A content that was kept.
    pub fn content(&self, hash: &Hash) -> Result<Option<Vec<u8>>, ChangesError> {
        let mut parts = vec![];
        let mut wanted = Some(*hash);
        while let Some(hash) = wanted {
            let Some(kept) = self.kept.get(&hash) else {
                return Ok(None);
            };
            // A content that is built on itself is none.
            if parts.len() > self.kept.len() {
                return Err(self.damaged("a content is built on itself"));
            }
            parts.push(*kept);
            wanted = kept.base;
        }
        let mut content = vec![];
        for kept in parts.iter().rev() {
            let begin = content.len();
            let bytes = usize::try_from(kept.bytes).unwrap_or_default();
            content.resize(begin + bytes, 0);
            self.file
                .read_exact_at(&mut content[begin..], kept.at)
                .map_err(ChangesError::record(&self.path))?;
        }
        match Hash::of(&content) == *hash {
            true => Ok(Some(content)),
            false => Err(self.damaged(&format!("the content {hash} was changed"))),
        }
    }

    /// Whether a content was kept, with all that it is built on.
    pub(crate) fn can_restore(&self, hash: &Hash) -> bool {
        let mut wanted = Some(*hash);
        for _ in 0..=self.kept.len() {
            match wanted.map(|hash| self.kept.get(&hash)) {
                None => return true,
                Some(None) => return false,
                Some(Some(kept)) => wanted = kept.base,
            }
        }
        false
    }

    /// Reads every content again. The chain was checked when the record was opened.
    pub fn check(&self) -> Result<(), ChangesError> {
        self.kept
            .keys()
            .try_for_each(|hash| self.content(hash).map(drop))
    }
}

/// A frame as it was read.
struct FrameRead {
    frame: Frame,
    hash: Hash,
    /// Where its content begins.
    at: u64,
    bytes: u64,
    /// Where the next frame begins.
    next: u64,
    content: Option<Hash>,
}
