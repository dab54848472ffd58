//! The plainest durable log: one table, one thread, all that is queued in one commit.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::Fault;

const GROUP_MAX: usize = 512;

struct Append {
    body: Vec<u8>,
    done: oneshot::Sender<()>,
}

pub(crate) struct Writer {
    queue: Sender<Append>,
    thread: JoinHandle<rusqlite::Result<()>>,
}

impl Writer {
    pub(crate) fn open(file: &Path) -> Result<Self, Fault> {
        let connection = Connection::open(file)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
        )?;
        let (queue, appends) = mpsc::channel();
        let thread = thread::spawn(move || write(&connection, &appends));
        Ok(Self { queue, thread })
    }

    /// Resolves when the body is durable.
    pub(crate) async fn append(&self, body: Vec<u8>) -> Result<(), Fault> {
        let (done, durable) = oneshot::channel();
        self.queue
            .send(Append { body, done })
            .map_err(|_| "the writer has stopped")?;
        durable.await.map_err(|_| "the writer has stopped")?;
        Ok(())
    }

    /// Waits for the writer to close the file.
    pub(crate) fn close(self) -> Result<(), Fault> {
        drop(self.queue);
        self.thread.join().map_err(|_| "the writer panicked")??;
        Ok(())
    }
}

fn write(connection: &Connection, appends: &Receiver<Append>) -> rusqlite::Result<()> {
    while let Ok(first) = appends.recv() {
        let group: Vec<Append> = std::iter::once(first)
            .chain(appends.try_iter())
            .take(GROUP_MAX)
            .collect();
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for append in &group {
            connection
                .prepare_cached("INSERT INTO log (body) VALUES (?1)")?
                .execute([&append.body])?;
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        for append in group {
            // Nobody may be waiting any more.
            let _ = append.done.send(());
        }
    }
    Ok(())
}
