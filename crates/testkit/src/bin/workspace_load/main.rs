//! Clients of a workspace, all in one thread, so that the server that is measured beside them has the rest of the
//! machine. Each has a connection that stays open, tokens of its own, and a key of its own for every write.
//!
//! With a pause, a client asks again after that time in the mean, drawn anew each time, whether or not its last answer
//! has come: what a slow answer holds up counts as slow too. Without one it asks again at once.
//!
//! It prints a line for each kind of request: its name, how many there were, and how long they took, in microseconds:
//! the half, 95 and 99 of a hundred, and the longest. The last line is `all`, the number of requests, and how long it
//! took to make them. An answer that is not a success ends it.

mod asking;
mod connection;
mod options;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep_until};

use asking::{Asking, Kind};
use connection::Connection;
use options::Options;

type Fault = Box<dyn std::error::Error + Send + Sync>;

type Took = Vec<(Kind, Duration)>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // There is nobody to tell if stderr is closed.
            let _ = writeln!(std::io::stderr(), "workspace_load: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Fault> {
    let options = Options::parse(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let begun = Instant::now();
    let clients = (0..options.clients).map(|number| client(number, &options));
    let took = runtime.block_on(try_join_all(clients))?.concat();
    tell(&took, begun.elapsed())
}

/// One client, from its first request to its last.
async fn client(number: u64, options: &Options) -> Result<Took, Fault> {
    let mut connection = Connection::open(options.port).await?;
    let mut asking = Asking::new(number, options);
    let mut took = vec![];
    let mut due = Instant::now() + asking.pause();
    for _ in 0..options.requests / options.clients {
        let (kind, request) = asking.next();
        sleep_until(due).await;
        // A timer wakes up to a millisecond late: that is not the server's. An answer that came late is.
        let begun = match connection.was_busy_at(due) {
            true => due,
            false => Instant::now(),
        };
        connection.exchange(&request).await?;
        took.push((kind, begun.elapsed()));
        due = match options.pause_ms {
            0 => Instant::now(),
            _ => due + asking.pause(),
        };
    }
    Ok(took)
}

fn tell(took: &Took, wall: Duration) -> Result<(), Fault> {
    let mut kinds: BTreeMap<Kind, Vec<u128>> = BTreeMap::new();
    for (kind, took) in took {
        kinds.entry(*kind).or_default().push(took.as_micros());
    }
    let mut out = std::io::stdout().lock();
    for (kind, mut took) in kinds {
        took.sort_unstable();
        let of_thousand = |part: usize| took[(took.len() * part / 1000).min(took.len() - 1)];
        let shown = [500, 950, 990, 1000].map(|part| of_thousand(part).to_string());
        writeln!(out, "{} {} {}", kind.name(), took.len(), shown.join(" "))?;
    }
    writeln!(out, "all {} {}", took.len(), wall.as_micros())?;
    Ok(())
}
