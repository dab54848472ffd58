//! A few connections that only read, each used by one thread at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::StoreError;
use crate::sqlite::file::StoreFile;

/// What a new connection is made ready by.
type SetUp = fn(&Connection) -> rusqlite::Result<()>;

#[derive(Debug)]
pub(crate) struct Pool {
    file: StoreFile,
    /// How many connections are kept for the next reader.
    idle_max: usize,
    set_up: SetUp,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(crate) fn new(file: StoreFile, idle_max: usize, set_up: SetUp) -> Self {
        Self {
            file,
            idle_max,
            set_up,
            idle: Mutex::default(),
        }
    }

    pub(crate) fn file(&self) -> &StoreFile {
        &self.file
    }

    pub(crate) fn close_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends a connection, and takes it back for the next.
    pub(crate) fn lend<T>(&self, read: impl FnOnce(&Connection) -> T) -> Result<T, StoreError> {
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
