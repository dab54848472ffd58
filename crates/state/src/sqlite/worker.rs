//! Which processes live. Each holds a lock on a file of its own for as long as it lives; the operating
//! system lets go of the lock however the process ends.

use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sqlite::file::{StoreFile, create_private_dir, private_options};
use crate::{Holder, StoreError};

/// This process as a holder of runs.
#[derive(Debug)]
pub(super) struct Worker {
    id: String,
    store: StoreFile,
    dir: PathBuf,
    /// Made at the first run that is held: who only reads leaves no trace.
    lock: Mutex<Option<File>>,
}

impl Worker {
    pub(super) fn new(store: &StoreFile) -> Self {
        // The standard library seeds each hasher at random, which is all the randomness needed here.
        let random = RandomState::new().hash_one(store.path());
        let mut dir = store.path().into_os_string();
        dir.push(".workers");
        Self {
            id: format!("{}-{random:016x}", std::process::id()),
            store: store.clone(),
            dir: dir.into(),
            lock: Mutex::default(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn lock(&self) -> MutexGuard<'_, Option<File>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes it known that this process lives; to be called before a lease is written.
    pub(super) fn report(&self) -> Result<(), StoreError> {
        let mut lock = self.lock();
        if lock.is_none() {
            let made = create_private_dir(&self.dir).and_then(|()| {
                let path = self.dir.join(&self.id);
                let file = private_options().create_new(true).open(path)?;
                file.try_lock().map_err(io::Error::from)?;
                Ok(file)
            });
            *lock = Some(made.map_err(|error| self.store.io(&error))?);
        }
        Ok(())
    }

    /// Whose the lease of this worker is.
    pub(super) fn holder(&self, worker: &str) -> Result<Holder, StoreError> {
        if worker == self.id {
            return Ok(Holder::This);
        }
        match self.is_alive(worker) {
            Ok(true) => Ok(Holder::Other),
            Ok(false) => Ok(Holder::Nobody),
            Err(error) => Err(self.store.io(&error)),
        }
    }

    fn is_alive(&self, worker: &str) -> io::Result<bool> {
        // The name comes from the file, and must not lead out of the directory.
        if !worker.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return Ok(false);
        }
        let path = self.dir.join(worker);
        let file = match File::options().read(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        // A shared lock, so that two who look at the same time do not take each other for the worker.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => {
                // Whoever looks next removes what could not be removed now.
                let _removed = fs::remove_file(&path);
                Ok(false)
            }
        }
    }

    /// Lets go of all runs that this process holds.
    pub(super) fn retire(&self) {
        if self.lock().take().is_some() {
            // A file that stays is no longer locked, so nobody takes it for a living worker.
            let _removed = fs::remove_file(self.dir.join(&self.id));
        }
    }
}

/// The process of a worker, for a person to find it.
pub(super) fn describe(worker: &str) -> String {
    match worker.split_once('-') {
        Some((process, _)) => format!("process {process}"),
        None => format!("worker {worker}"),
    }
}
