//! Where workspaces, notes and rules are kept: one SQLite file, its events append-only.
//!
//! A [`Write`] is decided by the kernel inside the transaction that makes it durable, and everything that is read
//! here follows from the events of such writes. One thread writes, and commits all that waits with one sync; reads go
//! through a small pool of connections, but for single rows, which are looked up at once. Several processes may use one file. The store knows no time of its own and
//! draws no ids.

mod access;
mod accounts;
mod answers;
mod automation;
mod blobs;
mod codes;
#[cfg(test)]
mod cost;
mod error;
mod links;
mod members;
mod notes;
mod project;
mod proof;
mod readers;
mod rows;
mod search;
mod streams;
mod transact;
mod vectors;
mod views;
mod words;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use bonded_kernel::{Millis, UserId};
use bonded_workspace_rules::{
    Actor, AutomationRun, Chain, Change, Note, Operation, Refused, Role, StoredEvent, Workspace,
};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

pub use access::{ListedSession, ListedToken, Session, proof_id};
pub use accounts::{User, UserState};
pub use automation::{QueuedRuns, RunFilter};
use bonded_state::StoreError;
use bonded_state::Watchers;
use bonded_state::sqlite::file::{Layout, StoreFile};
use error::Fault;
pub use error::WorkspaceError;
pub use members::Standing;
pub use notes::{ListedNote, NoteFilter, NoteSort, Page};
pub use proof::{By, Proof};
use readers::Readers;
pub use rows::StoredRule;
pub use search::{Found, Hit, SearchQuery, SearchSort};
use streams::Stream;
use transact::Transaction;
pub use vectors::{Nearest, NoteVector, UnseenNote};
use writer::{Asked, Job, Writer};

/// "bnws".
const LAYOUT: Layout = Layout {
    application_id: 0x626e_7773,
    migrations: &[
        include_str!("store/001.sql"),
        include_str!("store/002.sql"),
        include_str!("store/003.sql"),
        include_str!("store/004.sql"),
    ],
    page_bytes: 4096,
    checkpoint_pages: 4000,
};

/// Somebody's wish to change something.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    pub actor: Actor,
    pub at: Millis,
    /// Names the request that the write came with, for whoever reads the stream later.
    pub request_id: String,
    pub key: Option<IdempotencyKey>,
    pub chain: Chain,
    pub change: Change,
}

/// Names a write that may be asked for again and must be made once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub scope: String,
    pub key: String,
}

/// What came of a write; it is synced.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub events: Vec<StoredEvent>,
    pub outcome: Outcome,
    /// The write was made earlier, and this is what came of it then.
    pub replayed: bool,
}

/// How things stand after a write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Note(Box<Note>),
    Workspace(Workspace),
    /// No role: the person is no member any more.
    Member {
        user_id: UserId,
        role: Option<Role>,
    },
    Rule(Box<StoredRule>),
    Run(Box<AutomationRun>),
    Runs(Vec<AutomationRun>),
    Operation(Box<Operation>),
    /// There is nothing to show.
    Done,
}

/// The workspaces in one file. Dropping it finishes what was queued, then closes the file.
#[derive(Debug)]
pub struct WorkspaceStore {
    file: StoreFile,
    /// `None` only while dropping.
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    writer: Option<JoinHandle<()>>,
    readers: Arc<Readers>,
    watchers: Arc<Watchers<Stream>>,
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
            readers: Arc::new(Readers::new(file.clone())),
            file,
            jobs: None,
            writer: None,
            watchers: Arc::default(),
        })
    }

    fn start(file: StoreFile) -> Result<Self, WorkspaceError> {
        let mut connection = file.open_for_writing()?;
        words::fill(&mut connection).map_err(|fault| readers::error(&file, fault))?;
        let identity = file.identity()?;
        let watchers = Arc::<Watchers<Stream>>::default();
        let (jobs, queue) = mpsc::channel();
        let file_of_it = (file.clone(), identity);
        let writer = Writer::new(connection, file_of_it, queue, watchers.clone());
        let thread = std::thread::Builder::new().name("bonded-workspace".into());
        let writer = thread
            .spawn(move || writer.run())
            .map_err(|error| file.io(&error))?;
        Ok(Self {
            readers: Arc::new(Readers::new(file.clone())),
            file,
            jobs: Some(jobs),
            writer: Some(writer),
            watchers,
        })
    }

    /// The files that are the store: nobody else may touch them.
    pub fn files(&self) -> Vec<PathBuf> {
        let beside = |end: &str| {
            let mut name = self.file.path().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        ["", "-wal", "-shm", "-journal"].map(beside).into()
    }

    /// Makes a change, if the kernel says so: all of its events, or none. It has been synced when this resolves. A
    /// future that is dropped after its first poll may still write.
    pub async fn write(&self, write: Write) -> Result<Written, WorkspaceError> {
        self.change(move |transaction| transaction.write(&write))
            .await
    }

    /// The same for somebody who asks in their own name, if what they showed is still good when the change is made.
    pub async fn write_by(&self, by: By, write: Write) -> Result<Written, WorkspaceError> {
        self.change(move |transaction| {
            by.check_actor(transaction.connection, &write.actor)?;
            transaction.write(&write)
        })
        .await
    }

    /// Whether something can be written: it is, and is synced.
    pub async fn try_writing(&self) -> Result<(), WorkspaceError> {
        let sql = "INSERT INTO cursor (name, value) VALUES ('tried', 1) \
                   ON CONFLICT (name) DO UPDATE SET value = value + 1";
        self.change(move |transaction| {
            transaction.connection.prepare_cached(sql)?.execute([])?;
            Ok(())
        })
        .await
    }

    /// Makes several changes in one transaction, each by itself: what is refused leaves the others as they are.
    pub async fn write_all(
        &self,
        writes: Vec<Write>,
    ) -> Result<Vec<Result<Written, Refused>>, WorkspaceError> {
        self.change(move |transaction| transaction.write_all(&writes))
            .await
    }

    /// Lets the writer do something in a transaction and waits until that is synced.
    async fn change<T: Send + 'static>(
        &self,
        make: impl FnMut(&mut Transaction<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let (done, answer) = oneshot::channel();
        let job = Box::new(Asked::new(make, done));
        let Some(jobs) = &self.jobs else {
            return Err(self.file.not_writable("it was opened to be read").into());
        };
        let is_sent = jobs.send(job).is_ok();
        match answer.await {
            Ok(result) if is_sent => result,
            _ => Err(self.file.closed().into()),
        }
    }

    /// Reads where it may block; a runtime that has one thread is that of one program for one person.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
            return self.readers.read(read);
        }
        let readers = self.readers.clone();
        let turn = readers.turn().await;
        let read = move || {
            let result = readers.read(read);
            drop(turn);
            result
        };
        match tokio::task::spawn_blocking(read).await {
            Ok(result) => result,
            Err(_) => Err(self.file.closed().into()),
        }
    }

    /// Looks something up with one statement, here and now: what takes microseconds is not worth the way to another
    /// thread and back.
    fn look_up<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, WorkspaceError> {
        self.readers.look_up(read)
    }
}

impl Drop for WorkspaceStore {
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
