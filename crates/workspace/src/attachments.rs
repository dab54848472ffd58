//! The contents of files that are attached to notes: one file for each content, named by its hash.
//!
//! A content is here, synced, before an event names it, and whatever the history names can be read. Until its event is
//! there it is pending, by its name. What is pending and has no event was left by a process that died in between, or by a
//! request that was refused, and is removed when a server starts. A content that once had its event is never removed, even
//! if the store does not know it: the store may be an older copy. The lock of the directory keeps the two apart, also in
//! two processes: it is shared by all who keep a content, until its event is there, and whoever removes some holds it alone.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use bonded_kernel::Hash;

/// Looked at to say what a content is.
const SNIFFED_BYTES: usize = 512;

/// The end of the name of a content whose event is still to come.
const PENDING: &str = ".pending";
/// The beginning of the name of a content that is being written.
const UNFINISHED: &str = ".tmp";

/// How contents of a kind begin.
const SIGNATURES: [(&[u8], &str); 9] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"OggS", "application/ogg"),
    (b"fLaC", "audio/flac"),
];

/// The directory of all contents.
#[derive(Clone, Debug)]
pub struct AttachmentFiles {
    dir: PathBuf,
}

impl AttachmentFiles {
    /// Nothing is read or made yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    fn pending(&self, hash: &Hash) -> PathBuf {
        self.dir.join(format!("{hash}{PENDING}"))
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        self.dir.join(hash.to_string())
    }

    /// Keeps a content; it is synced when this returns. What is there already is not written again.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<KeptContent> {
        let hash = Hash::of(bytes);
        let path = self.path(&hash);
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.dir)?;
        let dir = File::open(&self.dir)?;
        dir.lock_shared()?;
        let pending = self.pending(&hash);
        let kept = |dir, pending| KeptContent {
            hash,
            pending,
            _shared: dir,
        };
        if fs::metadata(&path).is_ok_and(|found| found.len() == bytes.len() as u64) {
            return Ok(kept(dir, None));
        }
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.dir)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(&pending).map_err(|error| error.error)?;
        dir.sync_all()?;
        Ok(kept(dir, Some((pending, path))))
    }

    /// The right to remove contents; `None` where there are none, or where another process keeps one just now.
    pub fn sweep(&self) -> io::Result<Option<Sweep>> {
        let alone = match File::open(&self.dir) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match alone.try_lock() {
            Ok(()) => Ok(Some(Sweep {
                dir: self.dir.clone(),
                _alone: alone,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Reads a content. One that is not what its name says is damage, and an error.
    pub fn read(&self, hash: &Hash, bytes: u64) -> io::Result<Vec<u8>> {
        let mut content = vec![];
        // A content may get its last name between the two looks.
        let file = File::open(self.path(hash))
            .or_else(|_| File::open(self.pending(hash)))
            .or_else(|_| File::open(self.path(hash)))?;
        file.take(bytes + 1).read_to_end(&mut content)?;
        match Hash::of(&content) == *hash {
            true => Ok(content),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the content is damaged",
            )),
        }
    }
}

/// A content in its place, which is not removed while this is held: until its event is there.
#[derive(Debug)]
pub struct KeptContent {
    /// Its name.
    pub hash: Hash,
    /// Its name while it is pending, and the one after it.
    pending: Option<(PathBuf, PathBuf)>,
    _shared: File,
}

impl KeptContent {
    /// Its event is there. Both names are read, so that it may keep the first one where it cannot get the other; another
    /// request with the same content may have given it that already.
    pub fn settle(self) {
        if let Some((pending, path)) = self.pending {
            let _renamed = fs::rename(pending, path);
        }
    }
}

/// Nobody keeps a content while this is held.
#[derive(Debug)]
pub struct Sweep {
    dir: PathBuf,
    _alone: File,
}

impl Sweep {
    /// Removes what is pending or unfinished and has no event, and says how much that was. The names have to be read after
    /// the lock was taken.
    pub fn leave(self, named: &BTreeSet<String>) -> io::Result<usize> {
        let mut removed = 0;
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|_| is_file(&entry)) else {
                continue;
            };
            match name.strip_suffix(PENDING) {
                Some(hash) if named.contains(hash) => {
                    fs::rename(entry.path(), self.dir.join(hash))?;
                }
                None if !name.starts_with(UNFINISHED) => {}
                Some(_) | None => {
                    fs::remove_file(entry.path())?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

fn is_file(entry: &fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|it| it.is_file())
}

/// What a content is, by its first bytes and never by what its sender says. Text is plain text, whatever it holds: a page
/// is none that a browser should run.
pub fn sniffed(bytes: &[u8]) -> &'static str {
    let known = SIGNATURES
        .iter()
        .find(|(begin, _)| bytes.starts_with(begin));
    if let Some((_, kind)) = known {
        return kind;
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    let begin = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    let is_text = match std::str::from_utf8(begin) {
        Ok(_) => true,
        // A letter may be cut in two at the end.
        Err(error) => error.error_len().is_none(),
    };
    let is_plain = |byte: &u8| *byte >= b' ' || b"\t\n\r".contains(byte);
    match is_text && begin.iter().all(is_plain) {
        true => "text/plain",
        false => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_what_its_first_bytes_say() {
        let rows: [(&[u8], &str); 8] = [
            (b"\x89PNG\r\n\x1a\n...", "image/png"),
            (b"%PDF-1.7", "application/pdf"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"<html><script>alert(1)</script>", "text/plain"),
            (b"<svg onload='alert(1)'/>", "text/plain"),
            (b"", "text/plain"),
            (b"\0\x01\x02", "application/octet-stream"),
            (b"\xff\xfe\xfd", "application/octet-stream"),
        ];
        for (bytes, expected) in rows {
            assert_eq!(sniffed(bytes), expected, "{bytes:?}");
        }
        let cut = "ä".repeat(SNIFFED_BYTES);
        assert_eq!(sniffed(&cut.as_bytes()[1..]), "application/octet-stream");
        assert_eq!(sniffed(format!("a{cut}").as_bytes()), "text/plain");
    }

    #[test]
    fn a_content_is_kept_once_and_damage_is_told() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = AttachmentFiles::new(dir.path().join("attachments"));
        let hash = files.keep(b"one").expect("it is kept").hash;
        assert_eq!(files.keep(b"one").expect("it is kept").hash, hash);
        assert_eq!(files.read(&hash, 3).expect("it is there"), b"one");
        fs::write(files.path(&hash), b"two").expect("a test may");
        assert!(files.read(&hash, 3).is_err());
    }

    #[test]
    fn what_no_event_names_is_removed_unless_its_event_is_still_to_come() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = AttachmentFiles::new(dir.path().join("attachments"));
        assert!(files.sweep().expect("nothing is there").is_none());
        let keep = |content: &[u8]| files.keep(content).expect("it is kept");
        let (named, settled, left) = (keep(b"named"), keep(b"settled"), keep(b"left"));
        assert!(files.sweep().expect("it is asked").is_none(), "one is held");
        let hashes = [named.hash, settled.hash, left.hash];
        settled.settle();
        drop((named, left));
        fs::write(files.dir.join(".tmpAbc"), b"le").expect("a test may");
        let sweep = files
            .sweep()
            .expect("it is asked")
            .expect("nobody holds it");
        let names = BTreeSet::from([hashes[0].to_string()]);
        assert_eq!(sweep.leave(&names).expect("they are removed"), 2);
        // The store may be an older copy, which does not know the event of the second one.
        let is_there = hashes.map(|hash| files.read(&hash, 9).is_ok());
        assert_eq!(is_there, [true, true, false]);
        assert!(files.path(&hashes[0]).exists() && files.path(&hashes[1]).exists());
        files.keep(b"again").expect("the lock is free");
    }
}
