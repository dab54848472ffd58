//! The open file: one thread that writes, a pool of connections that read, and who waits for events.
//!
//! Who writes hands a job to the thread and waits for its answer; who reads takes a connection. Everything that is
//! public about notes, rules or people is in the modules beside this one, as methods of the same type.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use bonded_state::StoreError;
use bonded_state::Watchers;
use bonded_state::database::ServerDatabase;
use bonded_state::sqlite::file::{Layout, StoreFile};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use super::connection::Connection;
use super::error::{StoreFault, WorkspaceError};
use super::place::StorePlace;
use super::readers::Readers;
use super::server_writer::ServerWriter;
use super::transaction::Transaction;
use super::watched_stream::WatchedStream;
use super::words;
use super::writer::{AwaitedWrite, StoreWriter, WriteJob};

/// "bnws".
pub(super) const LAYOUT: Layout = Layout {
    application_id: 0x626e_7773,
    migrations: &[
        include_str!("001.sql"),
        include_str!("002.sql"),
        include_str!("003.sql"),
        include_str!("004.sql"),
        include_str!("005.sql"),
        include_str!("006.sql"),
        include_str!("007.sql"),
    ],
    page_bytes: 4096,
    checkpoint_pages: 4000,
};

/// The workspaces in one file, or on one server. Dropping it finishes what was queued, then closes it.
#[derive(Debug)]
pub struct WorkspaceStore {
    place: StorePlace,
    /// `None` only while dropping.
    jobs: Option<mpsc::Sender<Box<dyn WriteJob>>>,
    writer: Option<JoinHandle<()>>,
    pub(super) readers: Arc<Readers>,
    pub(super) watchers: Arc<Watchers<WatchedStream>>,
}

impl WorkspaceStore {
    /// Opens the file, or makes it: missing directories too, for the user's eyes only.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let file = StoreFile::new(path, &LAYOUT)?;
        file.create()?;
        Self::start(file)
    }

    /// Opens the file; an error if there is none.
    pub fn open_existing(path: &Path) -> Result<Self, WorkspaceError> {
        Self::start(StoreFile::new(path, &LAYOUT)?)
    }

    /// Opens the file to look at it. Where it cannot be written, it is read as it is, and every change is refused.
    pub fn open_to_read(path: &Path) -> Result<Self, WorkspaceError> {
        match Self::open_existing(path) {
            Err(WorkspaceError::Store(StoreError::ReadOnly { .. })) => {}
            opened => return opened,
        }
        let file = StoreFile::new(path, &LAYOUT)?.to_read()?;
        Ok(Self {
            readers: Arc::new(Readers::of_file(file.clone())),
            place: StorePlace::File(file),
            jobs: None,
            writer: None,
            watchers: Arc::default(),
        })
    }

    /// Words that an older build left out are indexed before anybody can search.
    fn start(file: StoreFile) -> Result<Self, WorkspaceError> {
        let mut connection = file.open_for_writing()?;
        let place = StorePlace::File(file.clone());
        words::fill(&mut connection).map_err(|fault| place.error(fault))?;
        let identity = file.identity()?;
        let watchers = Arc::<Watchers<WatchedStream>>::default();
        let (jobs, queue) = mpsc::channel();
        let file_of_it = (file.clone(), identity);
        let writer = StoreWriter::new(connection, file_of_it, queue, watchers.clone());
        let writer = thread(move || writer.run()).map_err(|error| file.io(&error))?;
        Ok(Self {
            readers: Arc::new(Readers::of_file(file)),
            place,
            jobs: Some(jobs),
            writer: Some(writer),
            watchers,
        })
    }

    /// The workspaces on a server, whose schema is [`SERVER_SCHEMA`](super::SERVER_SCHEMA). Several processes may use one.
    pub fn on_server(database: Arc<dyn ServerDatabase>) -> Result<Self, WorkspaceError> {
        let place = StorePlace::Server(database.clone());
        let watchers = Arc::<Watchers<WatchedStream>>::default();
        let (jobs, queue) = mpsc::channel();
        let writer = ServerWriter::new(database.clone(), queue, watchers.clone());
        let writer = thread(move || writer.run()).map_err(|error| StoreError::Io {
            file: database.label().into(),
            why: error.to_string(),
        })?;
        Ok(Self {
            readers: Arc::new(Readers::of_server(database)),
            place,
            jobs: Some(jobs),
            writer: Some(writer),
            watchers,
        })
    }

    /// The files that are the store: nobody else may touch them. There are none where it is on a server.
    pub fn files(&self) -> Vec<PathBuf> {
        self.place.files()
    }

    /// Lets the writer do something in a transaction and waits until that is synced.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        make: impl FnMut(&mut Transaction<'_>) -> Result<T, StoreFault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let (done, answer) = oneshot::channel();
        let job = Box::new(AwaitedWrite::new(make, done));
        let Some(jobs) = &self.jobs else {
            return Err(self.place.not_writable("it was opened to be read").into());
        };
        let is_sent = jobs.send(job).is_ok();
        match answer.await {
            Ok(result) if is_sent => result,
            _ => Err(self.place.closed().into()),
        }
    }

    /// Reads where it may block; a runtime that has one thread is that of one program for one person.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(Connection<'_>) -> Result<T, StoreFault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let is_single = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        if is_single && !self.readers.are_elsewhere() {
            return self.readers.read(read);
        }
        let readers = self.readers.clone();
        let turn = readers.turn().await;
        self.off_the_runtime(move || {
            let result = readers.read(read);
            drop(turn);
            result
        })
        .await
    }

    async fn off_the_runtime<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        match tokio::task::spawn_blocking(read).await {
            Ok(result) => result,
            Err(_) => Err(self.place.closed().into()),
        }
    }

    /// Looks something up with one statement. In a file that takes microseconds, which is not worth the way to another
    /// thread and back: it is done here and now. A server is waited for elsewhere.
    pub(super) async fn look_up<T: Send + 'static>(
        &self,
        read: impl FnOnce(Connection<'_>) -> Result<T, StoreFault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        if !self.readers.are_elsewhere() {
            return self.readers.look_up(read);
        }
        let readers = self.readers.clone();
        self.off_the_runtime(move || readers.look_up(read)).await
    }
}

impl Drop for WorkspaceStore {
    /// In this order: the readers are closed, the queue ends, and the writer finishes what it holds.
    fn drop(&mut self) {
        // The writer is the last to close its connection, so that it leaves the file without a WAL.
        self.readers.close_idle();
        self.jobs = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has answered nobody, which its callers were told as `Closed`.
            let _joined = writer.join();
        }
    }
}

/// The thread that writes.
fn thread(run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name("bonded-workspace".into());
    thread.spawn(run)
}
