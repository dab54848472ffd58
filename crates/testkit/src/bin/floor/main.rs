//! The floor of the benchmark: what the same requests and the same appended bytes cost in a bare loop.
//!
//! It has no kernel, no schema checks, no chain of hashes, no limits and no recovery. It prints nothing,
//! except with `--load`: the microseconds that loading and parsing a log took.

mod log;
mod options;
mod server_log;
mod talk;
mod writer;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use log::Log;
use options::Options;
use talk::Shared;

type Fault = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // There is nobody to tell if stderr is closed.
            let _ = writeln!(std::io::stderr(), "floor: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Fault> {
    let options = Options::parse(std::env::args().skip(1))?;
    if let Some(file) = &options.load {
        return load(file);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let log = Arc::new(runtime.block_on(Log::open(&options.db))?);
    let shared = Shared::new(&options, Arc::clone(&log))?;
    runtime.block_on(async {
        if options.start {
            return shared.open().await;
        }
        let runs = stream::iter((0..options.runs).map(|number| shared.run(number)));
        runs.buffer_unordered(options.jobs.max(1))
            .try_collect::<()>()
            .await
    })?;
    drop(shared);
    Arc::into_inner(log).map_or(Ok(()), Log::close)
}

/// Reads the bodies of a whole store in order and parses each, with no check at all.
fn load(file: &Path) -> Result<(), Fault> {
    let begun = Instant::now();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    let mut statement = connection.prepare("SELECT body FROM entry ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut entries: Vec<Value> = vec![];
    while let Some(row) = rows.next()? {
        let body = row.get_ref(0)?.as_bytes()?;
        entries.push(serde_json::from_slice(body)?);
    }
    let took_us = begun.elapsed().as_micros();
    writeln!(std::io::stdout(), "{took_us} {}", entries.len())?;
    Ok(())
}
