//! A few connections that only read, each used by one thread at a time.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::{Fault, connect};

const CONNECTIONS: usize = 4;

#[derive(Clone)]
pub(crate) struct Readers(Arc<Pool>);

struct Pool {
    idle: Mutex<Vec<Connection>>,
    free: Semaphore,
}

impl Readers {
    pub(crate) fn open(file: &Path) -> Result<Self, Fault> {
        let idle: Vec<Connection> = (0..CONNECTIONS)
            .map(|_| connect(file))
            .collect::<Result<_, _>>()?;
        Ok(Self(Arc::new(Pool {
            idle: Mutex::new(idle),
            free: Semaphore::new(CONNECTIONS),
        })))
    }

    /// Reads one state of the file.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let _place = self.0.free.acquire().await?;
        let pool = self.0.clone();
        tokio::task::spawn_blocking(move || {
            let idle = || pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let connection = idle().pop().ok_or("there is one for each place")?;
            let result = connection
                .unchecked_transaction()
                .map_err(Fault::from)
                .and_then(|transaction| read(&transaction));
            idle().push(connection);
            result
        })
        .await?
    }
}
