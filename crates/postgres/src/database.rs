//! A database for a store that is written in SQL of its own: sessions that block, for threads that may wait.
//!
//! Who uses it sends statements; addresses, certificates, roles, the version of the schema and the unknown outcome of a
//! commit are dealt with here, as for the log of runs.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use bonded_state::StoreError;
use bonded_state::database::{SchemaLayout, ServerDatabase, ServerSession, SessionUse};
use tokio::sync::oneshot;

use crate::address::Address;
use crate::connection;
use crate::database_server::DatabaseServer;
use crate::session::Session;

/// How many sessions that read may be open at once.
const READ_CONNECTIONS: usize = 8;

/// One that writes, and one that finds out what came of a write.
const WRITE_CONNECTIONS: usize = 2;

/// The tables of one schema on a server.
#[derive(Debug)]
pub struct PostgresDatabase {
    server: Arc<DatabaseServer>,
    /// `None` while dropping.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl PostgresDatabase {
    /// Opens the schema at this address; an error if it is not there, or if it cannot be used as it is.
    pub fn open(address: Address, layout: &SchemaLayout) -> Result<Self, StoreError> {
        let address = address.with_layout(*layout);
        let label = address.label().to_owned();
        let io = |error: std::io::Error| StoreError::Io {
            file: label.clone().into(),
            why: error.to_string(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().map_err(io)?;
        let server = Arc::new(DatabaseServer {
            read: connection::pool(&address, READ_CONNECTIONS, "")?,
            write: connection::pool(&address, WRITE_CONNECTIONS, "")?,
            address,
            runtime: runtime.handle().clone(),
        });
        let (stop, stopped) = oneshot::channel();
        let (look, looked) = mpsc::channel();
        let served = Arc::clone(&server);
        let serve = async move {
            let first = served.take(&served.write).await.map(drop);
            // Who opens the database waits for it.
            let _sent = look.send(first);
            // An error says the same: the database is gone.
            let _stopped = stopped.await;
        };
        let thread = std::thread::Builder::new().name("bonded-database".into());
        let thread = thread.spawn(move || runtime.block_on(serve)).map_err(io)?;
        let database = Self {
            server,
            stop: Some(stop),
            thread: Some(thread),
        };
        match looked.recv() {
            Ok(first) => first.map(|()| database),
            Err(_) => Err(StoreError::Closed { file: label.into() }),
        }
    }
}

impl ServerDatabase for PostgresDatabase {
    fn label(&self) -> String {
        self.server.address.label().to_owned()
    }

    fn begin(&self, session_use: SessionUse) -> Result<Box<dyn ServerSession>, StoreError> {
        let server = Arc::clone(&self.server);
        let pool = match session_use {
            SessionUse::Write => &server.write,
            SessionUse::Read | SessionUse::LookUp => &server.read,
        };
        let taken = server.patience().with(|| server.take(pool));
        let connection = server.runtime.block_on(taken)?;
        let session = Session::begin(Arc::clone(&server), connection, session_use)?;
        Ok(Box::new(session))
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has answered nobody, which its callers were told.
            let _joined = thread.join();
        }
    }
}
