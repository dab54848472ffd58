//! One thread that writes: all that is queued in one commit.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{Fault, connect};

const GROUP_MAX: usize = 256;

/// Does something in a transaction; what it gives back answers, when the transaction is durable.
type Job = Box<dyn FnOnce(&Connection) -> Answer + Send>;
type Answer = Box<dyn FnOnce() + Send>;

/// What keeps the measured file append-only, and costs it something.
const TRIGGERS: [&str; 6] = [
    "event_not_updated",
    "event_not_deleted",
    "event_not_replaced",
    "blob_not_updated",
    "blob_not_deleted",
    "blob_not_replaced",
];

pub(crate) struct Writer(Sender<Job>);

impl Writer {
    pub(crate) fn open(file: &Path) -> Result<Self, Fault> {
        let connection = connect(file)?;
        for trigger in TRIGGERS {
            connection.execute(&format!("DROP TRIGGER IF EXISTS {trigger}"), [])?;
        }
        let (queue, jobs) = mpsc::channel();
        thread::spawn(move || work(&connection, &jobs));
        Ok(Self(queue))
    }

    /// Resolves when what was written is durable.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (done, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let written = write(connection);
            // Nobody may be waiting any more.
            Box::new(move || drop(done.send(written)))
        });
        self.0.send(job).map_err(|_| "the writer has stopped")?;
        answered.await?
    }
}

/// A job that fails leaves what it wrote so far: the clients of the benchmark make no mistakes.
fn work(connection: &Connection, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let group: Vec<Job> = std::iter::once(first)
            .chain(jobs.try_iter())
            .take(GROUP_MAX)
            .collect();
        let execute = |sql: &str| connection.prepare_cached(sql)?.execute([]);
        // Without an answer the clients are told so.
        if execute("BEGIN IMMEDIATE").is_err() {
            return;
        }
        let answers: Vec<Answer> = group.into_iter().map(|job| job(connection)).collect();
        if execute("COMMIT").is_err() {
            return;
        }
        answers.into_iter().for_each(|answer| answer());
    }
}
