//! Contents by hash, each kept once, in packs: files of contents one after the other.
//!
//! A process writes one pack, `N.pack`, and lists what lies where in `N.idx`. [`Objects::put`] writes a content at
//! once and lists it nowhere; [`Objects::sync`] makes sure of the pack and only then lists what is new. So whatever
//! is listed is there, whenever the machine stopped, and a pack without a list is nobody's.

mod content;
mod id;
mod index;
mod key;
mod known;
mod location;
mod pack;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bonded_kernel::Hash;

use super::error::TreeError;
use crate::files::make_private_directory;
pub use content::ContentReader;
pub(super) use content::{PIECE_BYTES, read_piece};
pub(super) use id::ObjectsId;
use index::IndexRecord;
use key::HashKey;
use known::KnownObjects;
use location::Location;
use pack::Pack;

/// Several processes may use one directory at a time: each writes a pack of its own, and reads the lists of
/// all.
#[derive(Debug)]
pub(super) struct Objects {
    dir: PathBuf,
    id: ObjectsId,
    known: Mutex<KnownObjects>,
    /// Held shared while a content is written, whole while it is decided what a sync covers.
    writing: RwLock<()>,
    /// Held while a sync is under way: who comes second must not be told that all is well before it is.
    syncing: Mutex<()>,
}

impl Objects {
    /// Packs that a process left behind without a list are removed.
    pub(super) fn open(dir: &Path) -> Result<Self, TreeError> {
        make_private_directory(dir).map_err(TreeError::kept(dir))?;
        pack::remove_torn(dir).map_err(TreeError::kept(dir))?;
        Ok(Self {
            dir: dir.to_owned(),
            id: id::of(dir)?,
            known: Mutex::default(),
            writing: RwLock::default(),
            syncing: Mutex::default(),
        })
    }

    /// For those who only read: nothing is made, and nothing is removed.
    pub(super) fn look(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            id: ObjectsId::default(),
            known: Mutex::default(),
            writing: RwLock::default(),
            syncing: Mutex::default(),
        }
    }

    pub(super) fn id(&self) -> ObjectsId {
        self.id
    }

    /// What is known without a look at the lists.
    fn known_so_far(&self) -> MutexGuard<'_, KnownObjects> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lists are read when something is asked for the first time.
    fn known(&self) -> Result<MutexGuard<'_, KnownObjects>, TreeError> {
        let mut known = self.known_so_far();
        if !known.is_loaded {
            self.read_lists(&mut known)?;
            known.is_loaded = true;
        }
        Ok(known)
    }

    /// False also where the lists cannot be read; the next write says why.
    pub(super) fn has(&self, hash: Hash) -> bool {
        let key = HashKey(*hash.as_bytes());
        self.known()
            .is_ok_and(|known| known.places.contains_key(&key))
    }

    /// Whether some content is so long.
    pub(super) fn has_length(&self, bytes: u64) -> bool {
        let is_so_long =
            |known: MutexGuard<'_, KnownObjects>| known.places.values().any(|it| it.bytes == bytes);
        self.known().is_ok_and(is_so_long)
    }

    /// Keeps a content. It is durable after the next [`sync`](Self::sync).
    pub(super) fn put(&self, hash: Hash, content: &[u8]) -> Result<(), TreeError> {
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        let Some((pack, place)) = self.reserve(hash, content.len() as u64)? else {
            return Ok(());
        };
        let written = pack.file.write_all_at(content, place.offset);
        written.map_err(|source| self.fail(&pack.path, source))
    }

    /// Keeps a content that is read piece by piece, and has a known length. What was read decides its hash.
    pub(super) fn put_stream(&self, content: &mut dyn Read, bytes: u64) -> io::Result<Streamed> {
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        let (pack, offset) = match self.room(bytes) {
            Ok(room) => room,
            Err(error) => return Ok(Streamed::Refused(error)),
        };
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; PIECE_BYTES];
        let mut done = 0;
        loop {
            let length = read_piece(content, &mut piece)?;
            let piece = &piece[..length];
            if length == 0 || done + length as u64 > bytes {
                break;
            }
            hasher.update(piece);
            if let Err(source) = pack.file.write_all_at(piece, offset + done) {
                return Ok(Streamed::Refused(self.fail(&pack.path, source)));
            }
            done += length as u64;
        }
        if done != bytes {
            return Ok(Streamed::OtherLength);
        }
        let hash = hasher.into();
        let place = Location {
            pack: pack.number,
            offset,
            bytes,
        };
        if let Err(error) = self.known().map(|mut known| known.add(hash, place)) {
            return Ok(Streamed::Refused(error));
        }
        Ok(Streamed::Kept(hash))
    }

    /// A place for the content, unless it is kept already.
    ///
    /// The content counts as known from here on, before it is written: two threads that meet the same one write
    /// it once. A write that fails then makes everything of this process unreliable, which `fail` notes.
    fn reserve(&self, hash: Hash, bytes: u64) -> Result<Option<(Arc<Pack>, Location)>, TreeError> {
        let mut known = self.known()?;
        if known.places.contains_key(&HashKey(*hash.as_bytes())) {
            return Ok(None);
        }
        let (pack, offset) = known.room(&self.dir, bytes)?;
        let place = Location {
            pack: pack.number,
            offset,
            bytes,
        };
        known.add(hash, place);
        Ok(Some((pack, place)))
    }

    fn room(&self, bytes: u64) -> Result<(Arc<Pack>, u64), TreeError> {
        self.known()?.room(&self.dir, bytes)
    }

    /// A content that others may count on already is not there. Nothing that this process keeps is relied on
    /// from here: the next sync says so, and without one nothing is committed.
    fn fail(&self, path: &Path, source: io::Error) -> TreeError {
        self.known_so_far().failed = Some((path.to_owned(), source.kind()));
        TreeError::kept(path)(source)
    }

    /// Returns when everything that was put before is durable.
    pub(super) fn sync(&self) -> Result<(), TreeError> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = {
            let _none = self.writing.write().unwrap_or_else(PoisonError::into_inner);
            self.known_so_far().take_unlisted()?
        };
        let Some((pack, unlisted)) = taken else {
            return Ok(());
        };
        let synced = pack.file.sync_data().and_then(|()| pack.list(&unlisted));
        synced.map_err(|source| self.fail(&pack.path, source))
    }

    /// A content, checked while it is read.
    pub(super) fn read(&self, hash: Hash) -> Result<ContentReader, TreeError> {
        let mut known = self.known()?;
        let key = HashKey(*hash.as_bytes());
        if !known.places.contains_key(&key) {
            // Another process may have put it there.
            self.read_lists(&mut known)?;
        }
        let place = known.places.get(&key).copied();
        let place = place.ok_or_else(|| TreeError::Missing {
            hash,
            dir: self.dir.clone(),
        })?;
        let path = pack::path_of(&self.dir, place.pack);
        let pack = match known.packs.get(&place.pack) {
            Some(pack) => pack.clone(),
            None => {
                let file = File::open(&path).map_err(TreeError::unreadable(&path))?;
                known.packs.entry(place.pack).or_insert(file.into()).clone()
            }
        };
        Ok(ContentReader::new(pack, place, hash))
    }

    /// Only those that have grown since they were read. The list of our own pack is known.
    fn read_lists(&self, known: &mut KnownObjects) -> Result<(), TreeError> {
        for (number, bytes) in pack::listed(&self.dir).map_err(TreeError::kept(&self.dir))? {
            let is_own = known
                .own
                .as_ref()
                .is_some_and(|own| own.pack.number == number);
            if is_own || known.read.insert(number, bytes) == Some(bytes) {
                continue;
            }
            let path = index::path_of(&self.dir, number);
            let text = fs::read(&path).map_err(TreeError::unreadable(&path))?;
            let listed = index::decode(&text);
            known.places.reserve(listed.size_hint().0);
            for IndexRecord {
                hash,
                offset,
                bytes,
            } in listed
            {
                let place = Location {
                    pack: number,
                    offset,
                    bytes,
                };
                known
                    .places
                    .entry(HashKey(*hash.as_bytes()))
                    .or_insert(place);
            }
        }
        Ok(())
    }
}

/// What became of a content that was kept while it was read.
#[derive(Debug)]
pub(super) enum Streamed {
    Kept(Hash),
    /// It was longer or shorter than it was said to be.
    OtherLength,
    Refused(TreeError),
}
