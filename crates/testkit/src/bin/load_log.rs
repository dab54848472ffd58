//! Loads a run from a store and replays it, and tells how long that took and how large its appends are.
//!
//! Prints five numbers: the microseconds of load and replay together, the entries, and the bytes that the
//! run appended when it started, in the middle after a reply, and in the middle after a tool's output.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use bonded_host::load_run;
use bonded_kernel::{Entry, Event, RunId};
use bonded_state::{SqliteStore, Store as _};

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// An append holds one hash besides the bodies.
const HASH_BYTES: usize = 32;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // There is nobody to tell if stderr is closed.
            let _ = writeln!(std::io::stderr(), "load_log: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Fault> {
    let mut words = std::env::args().skip(1);
    let (Some(file), Some(run)) = (words.next(), words.next()) else {
        return Err("two arguments are needed: the store's file and the run".into());
    };
    let run = RunId::new(&run)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let store = SqliteStore::open_existing(Path::new(&file))?;
    let begun = Instant::now();
    let replayed = runtime.block_on(load_run(&store, &run))?;
    let took_us = begun.elapsed().as_micros();
    let entries = runtime.block_on(store.load(&run, 0))?;
    if replayed.head().seq != entries.len() as u64 {
        return Err("the replay did not reach the end of the log".into());
    }
    let [start, reply, output] =
        [starts, follows_reply, follows_output].map(|belongs| append_bytes(&entries, belongs));
    let count = entries.len();
    writeln!(
        std::io::stdout(),
        "{took_us} {count} {start} {reply} {output}"
    )?;
    Ok(())
}

/// The bytes of the middle one of the appends that begin with such an entry.
fn append_bytes(entries: &[Entry], begins: fn(&Event) -> bool) -> usize {
    let mut sizes: Vec<usize> = entries
        .windows(2)
        .filter(|pair| begins(&pair[0].event))
        .map(|pair| pair.iter().map(|entry| entry.body.len()).sum::<usize>() + HASH_BYTES)
        .collect();
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).copied().unwrap_or_default()
}

fn starts(event: &Event) -> bool {
    matches!(event, Event::RunStarted(_))
}

fn follows_reply(event: &Event) -> bool {
    matches!(event, Event::DecisionMade(_))
}

fn follows_output(event: &Event) -> bool {
    matches!(event, Event::ToolFinished(_))
}
