//! `bonded workers`: the processes that drive runs of a store on a server.

use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use bonded_host::shapes::text;
use bonded_kernel::{Millis, RunId};
use bonded_postgres::WorkerRow;
use serde_json::json;

use crate::args::WorkersArgs;
use crate::error::CliError;
use crate::render::table::{self, Side};
use crate::{output, settings};

pub(crate) async fn workers(
    args: &WorkersArgs,
    store: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let workers = settings::open_queues(store)?.workers().await?;
    if args.json {
        for worker in &workers {
            output::stdout(&line(worker));
        }
    } else if workers.is_empty() {
        output::stderr("no process drives runs; start one with `bonded worker`");
    } else {
        let titles = [
            ("WORKER", Side::Left),
            ("SINCE", Side::Left),
            ("LEASE", Side::Left),
            ("QUEUES", Side::Left),
            ("LABELS", Side::Left),
            ("RUNS", Side::Left),
        ];
        output::stdout(&table::table(titles, workers.iter().map(cells)));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(worker: &WorkerRow) -> String {
    let line = json!({
        "name": worker.name,
        "since": millis(worker.since).0,
        "leaseUntil": millis(worker.expires).0,
        "isAlive": worker.left_ms > 0,
        "queues": worker.queues,
        "labels": worker.labels,
        "concurrent": worker.concurrent,
        "runs": worker.runs,
    });
    line.to_string()
}

/// A process that drives runs of its own has no queues. Of one whose lease is over the runs will be taken.
fn cells(worker: &WorkerRow) -> [String; 6] {
    let lease = match u64::try_from(worker.left_ms) {
        Ok(left_ms) => format!("{} s left", left_ms / 1_000),
        Err(_) => "over".into(),
    };
    let short = |id: &String| match RunId::new(id) {
        Ok(id) => text::short_id(&id).to_owned(),
        Err(_) => id.clone(),
    };
    let runs: Vec<String> = worker.runs.iter().map(short).collect();
    [
        worker.name.clone(),
        text::local_time(millis(worker.since)),
        lease,
        worker.queues.as_deref().unwrap_or_default().join(" "),
        worker.labels.join(" "),
        runs.join(" "),
    ]
}

fn millis(at: SystemTime) -> Millis {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
