//! Contents that need not be read again, because their files are as they were.
//!
//! It makes a freeze of a large tree that has hardly changed a matter of stamps. It can be lost at any time and
//! is never trusted beyond what it proves: it is bound to one file system and to one set of objects, led by a
//! number for its format, and ended by a hash.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bonded_kernel::Hash;

use super::objects::ObjectsId;
use super::stamp::Stamp;

const MAGIC: &[u8; 20] = b"bonded stat cache 1\n";
const RECORD_BYTES: usize = 8 * 4 + 4 + 32;
const CHECK_BYTES: usize = 32;
const HEAD_BYTES: usize = MAGIC.len() + 8 + 16 + CHECK_BYTES;

/// A file as it was, and what was in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) stamp: Stamp,
    pub(super) content: Hash,
}

/// What was found in files, by inode: a file that was moved is known too. Only files whose stamp had settled are
/// in it.
#[derive(Debug)]
pub(super) struct StatCache {
    /// Inodes are numbers of one file system.
    device: u64,
    /// Sorted by inode.
    records: Vec<Record>,
    /// Which of them were asked for and found.
    used: Vec<AtomicBool>,
}

impl StatCache {
    pub(super) fn new(device: u64, mut records: Vec<Record>) -> Self {
        records.sort_by_key(|record| record.stamp.ino);
        records.dedup_by_key(|record| record.stamp.ino);
        let used = records.iter().map(|_| AtomicBool::new(false)).collect();
        Self {
            device,
            records,
            used,
        }
    }

    /// What is in the file of this stamp, if that is known. Files of one directory mostly have inodes near each
    /// other, so the search begins at `near`, where the last one ended.
    pub(super) fn content(&self, stamp: &Stamp, near: &mut usize) -> Option<Hash> {
        let at = self.find(stamp.ino, *near)?;
        *near = at;
        let record = &self.records[at];
        if record.stamp != *stamp {
            return None;
        }
        self.used[at].store(true, Ordering::Relaxed);
        Some(record.content)
    }

    /// Doubles its stride until the inode is passed, and halves from there.
    fn find(&self, ino: u64, near: usize) -> Option<usize> {
        let records = &self.records;
        let ino_at = |at: usize| records[at].stamp.ino;
        let (mut low, mut high) = (near.min(records.len().checked_sub(1)?), records.len());
        let mut stride = 1;
        if ino_at(low) <= ino {
            while low + stride < high && ino_at(low + stride) <= ino {
                low += stride;
                stride *= 2;
            }
            high = high.min(low + stride);
        } else {
            high = low;
            while stride <= high && ino_at(high - stride) > ino {
                high -= stride;
                stride *= 2;
            }
            low = high.saturating_sub(stride);
        }
        let within = records[low..high].binary_search_by_key(&ino, |record| record.stamp.ino);
        within.ok().map(|at| low + at)
    }

    /// What was used of this, and what was found beside it.
    pub(super) fn renewed(&self, fresh: Vec<Record>) -> Self {
        let is_used = |at: &usize| self.used[*at].load(Ordering::Relaxed);
        let old = (0..self.records.len()).filter(is_used);
        // The fresh ones first: of two with one inode the first stays.
        let mut records = fresh;
        records.extend(old.map(|at| self.records[at]));
        Self::new(self.device, records)
    }

    /// What was kept for this file system and these objects. A cache that is missing or damaged is an empty one.
    pub(super) fn load(path: &Path, device: u64, objects: ObjectsId) -> Self {
        remove_left(path);
        let bytes = std::fs::read(path).unwrap_or_default();
        let records = decode(&bytes, device, objects).unwrap_or_default();
        Self::new(device, records)
    }

    /// Called when all the contents are durable: whoever reads this relies on them.
    pub(super) fn save(&self, path: &Path, objects: ObjectsId) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.records.len() * RECORD_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.device.to_le_bytes());
        bytes.extend_from_slice(&objects);
        for Record { stamp, content } in &self.records {
            bytes.extend_from_slice(&stamp.ino.to_le_bytes());
            bytes.extend_from_slice(&stamp.bytes.to_le_bytes());
            bytes.extend_from_slice(&stamp.mtime_ns.to_le_bytes());
            bytes.extend_from_slice(&stamp.ctime_ns.to_le_bytes());
            bytes.extend_from_slice(&stamp.mode.to_le_bytes());
            bytes.extend_from_slice(content.as_bytes());
        }
        let check = Hash::of(&bytes);
        bytes.extend_from_slice(check.as_bytes());
        // Whoever reads it finds the old one or the new one; it may be lost, so nothing is synced.
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = std::fs::File::create(&temporary)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| std::fs::rename(&temporary, path));
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }
}

/// Removes what processes left that died while they saved. Nothing depends on it, so no fault is told.
fn remove_left(path: &Path) {
    let beside = path.parent().and_then(|dir| std::fs::read_dir(dir).ok());
    for entry in beside.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix("stat-cache."))
            .and_then(|name| name.strip_suffix(".tmp"));
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Nothing of a cache counts unless all of it does.
fn decode(bytes: &[u8], device: u64, objects: ObjectsId) -> Option<Vec<Record>> {
    let (body, check) = bytes.split_last_chunk::<CHECK_BYTES>()?;
    if Hash::of(body).as_bytes() != check {
        return None;
    }
    let body = body.strip_prefix(MAGIC)?;
    let (kept_for, body) = body.split_first_chunk::<8>()?;
    let (kept_in, body) = body.split_first_chunk()?;
    if u64::from_le_bytes(*kept_for) != device || *kept_in != objects {
        return None;
    }
    body.chunks_exact(RECORD_BYTES).map(record).collect()
}

fn record(bytes: &[u8]) -> Option<Record> {
    let (ino, bytes) = bytes.split_first_chunk()?;
    let (length, bytes) = bytes.split_first_chunk()?;
    let (mtime, bytes) = bytes.split_first_chunk()?;
    let (ctime, bytes) = bytes.split_first_chunk()?;
    let (mode, bytes) = bytes.split_first_chunk()?;
    let (content, _) = bytes.split_first_chunk()?;
    Some(Record {
        stamp: Stamp {
            ino: u64::from_le_bytes(*ino),
            bytes: u64::from_le_bytes(*length),
            mtime_ns: i64::from_le_bytes(*mtime),
            ctime_ns: i64::from_le_bytes(*ctime),
            mode: u32::from_le_bytes(*mode),
        },
        content: Hash::from_bytes(*content),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(ino: u64) -> Record {
        Record {
            stamp: Stamp {
                ino,
                bytes: 3,
                mtime_ns: -4,
                ctime_ns: 5,
                mode: 0o100_644,
            },
            content: Hash::of(&ino.to_le_bytes()),
        }
    }

    #[test]
    fn a_cache_is_read_as_it_was_written_and_not_at_all_when_it_was_changed() {
        let dir = tempfile::tempdir().expect("a directory can be made");
        let path = dir.path().join("cache");
        let cache = StatCache::new(7, vec![example(2), example(1)]);
        cache.save(&path, [3; 16]).expect("it can be written");
        let known = |device, objects| {
            let cache = StatCache::load(&path, device, [objects; 16]);
            cache.content(&example(2).stamp, &mut 0).is_some()
        };
        assert!(known(7, 3));
        assert!(!known(8, 3), "of another file system");
        assert!(!known(7, 4), "without its contents");
        let whole = std::fs::read(&path).expect("it is there");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(decode(&bytes, 7, [3; 16]).is_none(), "{at}");
            assert!(decode(&whole[..at], 7, [3; 16]).is_none(), "cut at {at}");
        }
    }

    #[test]
    fn a_file_is_known_by_every_part_of_its_stamp() {
        let cache = StatCache::new(7, vec![example(1)]);
        let changes: [fn(&mut Stamp); 5] = [
            |stamp| stamp.ino += 1,
            |stamp| stamp.bytes += 1,
            |stamp| stamp.mtime_ns += 1,
            |stamp| stamp.ctime_ns += 1,
            |stamp| stamp.mode ^= 1,
        ];
        assert!(cache.content(&example(1).stamp, &mut 0).is_some());
        for change in changes {
            let mut stamp = example(1).stamp;
            change(&mut stamp);
            assert!(cache.content(&stamp, &mut 0).is_none(), "{stamp:?}");
        }
    }

    #[test]
    fn what_was_not_found_again_is_forgotten() {
        let cache = StatCache::new(7, vec![example(1), example(2)]);
        assert!(cache.content(&example(1).stamp, &mut 0).is_some());
        let renewed = cache.renewed(vec![example(3)]);
        let inodes: Vec<u64> = renewed.records.iter().map(|it| it.stamp.ino).collect();
        assert_eq!(inodes, [1, 3]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, device: u64) {
            assert!(decode(&bytes, device, [0; 16]).is_none());
        }

        #[test]
        fn a_file_is_found_from_wherever_the_search_begins(inodes: Vec<u8>, near: usize, ino: u8) {
            let records = inodes.iter().map(|ino| example((*ino).into())).collect();
            let cache = StatCache::new(7, records);
            let found = cache.content(&example(ino.into()).stamp, &mut near.clone());
            assert_eq!(found.is_some(), inodes.contains(&ino));
        }
    }
}
