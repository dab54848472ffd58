//! What a process knows of the objects.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::hash::BuildHasherDefault;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::Hash;

use super::index::IndexRecord;
use super::key::{FirstBytes, HashKey};
use super::location::Location;
use super::pack::Pack;
use crate::tree::error::TreeError;

/// All of it is behind one lock, which is never held while contents are written or read.
#[derive(Debug, Default)]
pub(super) struct KnownObjects {
    /// Lists are read when something is asked for: a freeze of an unchanged tree asks for nothing.
    pub(super) is_loaded: bool,
    pub(super) places: HashMap<HashKey, Location, BuildHasherDefault<FirstBytes>>,
    /// The packs that are open.
    pub(super) packs: HashMap<u32, Arc<File>>,
    /// The one that this process writes, once it wrote something.
    pub(super) own: Option<Own>,
    /// Lists that have been read, by pack.
    pub(super) read: HashMap<u32, u64>,
    /// Why nothing can be relied on any more.
    pub(super) failed: Option<(PathBuf, io::ErrorKind)>,
}

/// `end` is where the next content goes, also while those before it are still being written.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) pack: Arc<Pack>,
    pub(super) end: u64,
    pub(super) unlisted: Vec<IndexRecord>,
}

/// What is written and not listed yet, and where.
pub(super) type Unlisted = (Arc<Pack>, Vec<IndexRecord>);

impl KnownObjects {
    /// After a failure nothing more is written and nothing is listed.
    fn check(&self) -> Result<(), TreeError> {
        match &self.failed {
            None => Ok(()),
            Some((path, kind)) => Err(TreeError::kept(path)(io::Error::from(*kind))),
        }
    }

    /// Room at the end of this process's pack.
    pub(super) fn room(&mut self, dir: &Path, bytes: u64) -> Result<(Arc<Pack>, u64), TreeError> {
        self.check()?;
        if self.own.is_none() {
            let pack = Arc::new(Pack::create(dir).map_err(TreeError::kept(dir))?);
            let reading = File::open(&pack.path).map_err(TreeError::kept(&pack.path))?;
            self.packs.insert(pack.number, reading.into());
            self.own = Some(Own {
                pack,
                end: 0,
                unlisted: vec![],
            });
        }
        let own = self.own.as_mut().expect("it was made just now");
        let offset = own.end;
        own.end += bytes;
        Ok((own.pack.clone(), offset))
    }

    /// The first place of a content stays; a second one is only room that was lost.
    pub(super) fn add(&mut self, hash: Hash, place: Location) {
        let Some(own) = &mut self.own else {
            return;
        };
        if let Entry::Vacant(vacant) = self.places.entry(HashKey(*hash.as_bytes())) {
            vacant.insert(place);
            own.unlisted.push(IndexRecord {
                hash,
                offset: place.offset,
                bytes: place.bytes,
            });
        }
    }

    /// Whoever takes them must list them: they are not offered again.
    pub(super) fn take_unlisted(&mut self) -> Result<Option<Unlisted>, TreeError> {
        self.check()?;
        let Some(own) = &mut self.own else {
            return Ok(None);
        };
        let unlisted = std::mem::take(&mut own.unlisted);
        Ok((!unlisted.is_empty()).then(|| (own.pack.clone(), unlisted)))
    }
}
