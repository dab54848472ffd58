//! A few connections that only read, each used by one thread at a time.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::StoreError;
use crate::sqlite::file::StoreFile;

/// How many connections there are. Twice as many as processors keep these busy; more would only take them from each
/// other and memory from everybody. Opening one takes longer than most reads.
const CONNECTIONS: RangeInclusive<usize> = 4..=8;

/// How many of them this machine has a use for.
pub fn connections_max() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors * 2).clamp(*CONNECTIONS.start(), *CONNECTIONS.end())
}

/// What a new connection is made ready by.
type SetUp = fn(&Connection) -> rusqlite::Result<()>;

/// The connections, and who may use one.
#[derive(Debug)]
pub struct Pool {
    file: StoreFile,
    /// How many connections are kept for the next reader.
    idle_max: usize,
    set_up: SetUp,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
}

impl Pool {
    /// Connections are opened when somebody reads. `set_up` makes each ready.
    pub fn new(file: StoreFile, idle_max: usize, set_up: SetUp) -> Self {
        Self {
            file,
            idle_max,
            set_up,
            idle: Mutex::default(),
            turns: Arc::new(Semaphore::new(idle_max)),
        }
    }

    /// Waits until a connection is free; who came first is first. The turn ends when it is dropped. Whoever reads on a
    /// thread of its own takes one: else a moment in which many read leaves as many threads behind, each with memory that
    /// it never gives back, and a busy server has no moment without one for all of them.
    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody ever closes it.
        self.turns.clone().acquire_owned().await.ok()
    }

    /// How many could read at once just now.
    pub fn free_turns(&self) -> usize {
        self.turns.available_permits()
    }

    /// What they read.
    pub fn file(&self) -> &StoreFile {
        &self.file
    }

    /// Closes those that nobody uses just now.
    pub fn close_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends a connection, and takes it back for the next.
    pub fn lend<T>(&self, read: impl FnOnce(&Connection) -> T) -> Result<T, StoreError> {
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.open()?,
        };
        let result = read(&connection);
        let mut idle = self.idle();
        if idle.len() < self.idle_max {
            idle.push(connection);
        }
        Ok(result)
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let connection = self.file.open_for_reading()?;
        (self.set_up)(&connection).map_err(|error| self.file.sql(&error))?;
        Ok(connection)
    }
}
