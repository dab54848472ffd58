//! `bonded store copy` and `bonded store adopt`: runs of one store in another.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bonded_host::copying::{CopyError, CopyFinding, CopyOptions, CopyTally, CopyWatch, copy_store};
use bonded_host::with_causes;
use bonded_kernel::RunId;
use bonded_postgres::{Bounded, PostgresStore};
use bonded_state::{RunAside, Store};
use serde_json::json;

use crate::args::{StoreAdoptArgs, StoreCopyArgs};
use crate::error::{CliError, Code};
use crate::stderr_writer::{self, DrawnRow, Picture};
use crate::style::{Look, Stream};
use crate::{output, settings};

/// A machine's log says how far the copy is, this often.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// How long what is drawn may stand.
const PACE: Duration = Duration::from_millis(200);

/// How long to wait for a slow terminal at the end.
const SETTLING: Duration = Duration::from_secs(1);

const AGAIN: &str = "what was copied stays; the same command continues";

pub(super) async fn copy(args: &StoreCopyArgs) -> Result<ExitCode, CliError> {
    // The one that must exist is opened first, so that a mistake in its name creates nothing.
    let from = match args.moves {
        true => settings::open_existing_store(Some(&args.from)),
        false => settings::open_store_to_read(Some(&args.from)),
    }?;
    let to = settings::open_store(Some(&args.to))?;
    let options = CopyOptions {
        moves: args.moves,
        checks_all: args.check,
    };
    let report = Arc::new(CopyReport::new(args.json));
    report.begin();
    let copied = copy_store(&*from, &*to, options, &*report).await;
    report.end();
    let tally = copied.map_err(|error| failed(&error))?;
    let limits = copy_limits(args).await?;
    conclude(args, &tally, limits)
}

fn failed(error: &CopyError) -> CliError {
    match error {
        CopyError::SameStore | CopyError::NotCopied => {
            CliError::new(Code::Usage, with_causes(error)).hint("name two stores: FROM and TO")
        }
        CopyError::Store(error) => CliError::from(error.clone()).hint(AGAIN),
    }
}

/// The limits of queues and agents, where both stores have some; how many. One that is set already stays.
async fn copy_limits(args: &StoreCopyArgs) -> Result<usize, CliError> {
    let (Some(address), Some(_)) = (
        settings::store_address(Some(&args.from))?,
        settings::store_address(Some(&args.to))?,
    ) else {
        return Ok(0);
    };
    let beside = settings::store_path(Some(&args.from))?;
    let from = PostgresStore::open_to_read(address, beside)?;
    let to = settings::open_queues(Some(&args.to))?;
    let mut count = 0;
    for of in [Bounded::Queue, Bounded::Agent] {
        let there = to.states(of).await?;
        for limited in from.states(of).await? {
            let is_set = |it: &&bonded_postgres::QueueState| it.name == limited.name;
            let set = there.iter().find(is_set).and_then(|it| it.concurrent);
            if let (Some(concurrent), None) = (limited.concurrent, set) {
                to.bound(of, limited.name, Some(concurrent)).await?;
                count += 1;
            }
        }
    }
    Ok(count)
}

fn conclude(args: &StoreCopyArgs, tally: &CopyTally, limits: usize) -> Result<ExitCode, CliError> {
    if args.json {
        let object = json!({
            "outcome": outcome(tally), "runs": tally.runs, "copied": tally.copied, "entries": tally.entries,
            "verified": tally.verified, "setAside": tally.set_aside, "moved": tally.moved,
            "movedElsewhere": tally.moved_elsewhere, "leftQueue": tally.left_queue, "driven": tally.driven, "damaged": tally.damaged,
            "diverged": tally.diverged, "limits": limits,
        });
        output::object(&object);
    } else {
        for line in summary(tally, limits) {
            output::stderr(&line);
        }
    }
    let (damaged, diverged, driven) = (tally.damaged, tally.diverged, tally.driven);
    let (code, message, hint) = match (damaged, diverged, driven) {
        (0, 0, 0) => return Ok(ExitCode::SUCCESS),
        (0, 0, _) => (
            Code::CopyUnfinished,
            format!("of {} {driven} driven just now", runs(tally.runs)),
            "when they have ended or were stopped, make the same copy again",
        ),
        (0, _, _) => (
            Code::CopyDiverged,
            format!("of {} {diverged} with another log in TO", runs(tally.runs)),
            "compare them: bonded show RUN --store …",
        ),
        _ => (
            Code::BrokenLog,
            format!(
                "{damaged} of {} runs were not copied; {diverged} have another log in TO, {driven} are driven",
                tally.runs
            ),
            "the others were copied",
        ),
    };
    Err(CliError::new(code, message).hint(hint))
}

/// One word for programs.
fn outcome(tally: &CopyTally) -> &'static str {
    match (tally.damaged, tally.diverged, tally.driven) {
        (0, 0, 0) => "same",
        (0, 0, _) => "unfinished",
        (0, _, _) => "diverged",
        _ => "damaged",
    }
}

fn summary(tally: &CopyTally, limits: usize) -> Vec<String> {
    let (copied, entries, verified) = (tally.copied, tally.entries, tally.verified);
    let all = runs(tally.runs);
    let mut lines = vec![format!(
        "copied {copied} of {all}, {entries} log entries; logs read back and verified: {verified}"
    )];
    let mut say = |what: &str, count: u64| {
        if count > 0 {
            lines.push(format!("{what}: {count}"));
        }
    };
    say(
        "not ended, handed over: continue in TO, no longer in FROM",
        tally.moved,
    );
    say(
        "not ended, continue in FROM until you hand them over with --move",
        tally.set_aside,
    );
    say(
        "not ended, continue in the store that they were moved to before",
        tally.moved_elsewhere,
    );
    say(
        "were queued, and a file has no queues: resume them with bonded resume RUN",
        tally.left_queue,
    );
    say("limits of queues and agents copied", limits as u64);
    lines
}

fn runs(count: u64) -> String {
    match count {
        1 => "1 run".into(),
        _ => format!("{count} runs"),
    }
}

/// How a copy is shown while it is made.
struct CopyReport {
    as_json: bool,
    started: Instant,
    shown: Arc<CopyRow>,
    beat: Mutex<Instant>,
}

/// The row at a terminal.
struct CopyRow {
    started: Instant,
    tally: Mutex<CopyTally>,
}

impl CopyReport {
    fn new(as_json: bool) -> Self {
        let started = Instant::now();
        Self {
            as_json,
            started,
            shown: Arc::new(CopyRow {
                started,
                tally: Mutex::default(),
            }),
            beat: Mutex::new(started),
        }
    }

    fn begin(&self) {
        if Look::of(Stream::Err).redraws() {
            stderr_writer::begin();
            stderr_writer::draw(Some(self.shown.clone()));
        }
    }

    fn end(&self) {
        stderr_writer::draw(None);
        stderr_writer::settle(SETTLING);
    }
}

fn so_far(tally: &CopyTally, since: Instant) -> String {
    let seconds = since.elapsed().as_secs_f64().max(0.001);
    let pace = tally.entries as f64 / seconds;
    let (runs, entries) = (tally.runs, tally.entries);
    format!("copying: {runs} runs, {entries} entries, {pace:.0} a second")
}

impl CopyWatch for CopyReport {
    fn progress(&self, tally: &CopyTally) {
        *self
            .shown
            .tally
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = *tally;
        let mut beat = self.beat.lock().unwrap_or_else(PoisonError::into_inner);
        if beat.elapsed() >= HEARTBEAT && !Look::of(Stream::Err).redraws() {
            *beat = Instant::now();
            output::stderr(&so_far(tally, self.started));
        }
    }

    fn finding(&self, run: &RunId, finding: &CopyFinding) {
        if self.as_json {
            let outcome = match finding {
                CopyFinding::Driven(_) => "driven",
                CopyFinding::DrivenThere | CopyFinding::ChangedThere => "driven_there",
                CopyFinding::Damaged(_) => "damaged",
                CopyFinding::NotVerified(_) => "not_verified",
                CopyFinding::Diverged { .. } => "diverged",
                CopyFinding::MovedElsewhere(_) => "moved_elsewhere",
            };
            let message = finding.to_string();
            output::object(&json!({ "runId": run, "outcome": outcome, "error": message }));
        } else {
            output::stderr(&format!("run {run}: {finding}"));
        }
    }
}

impl Picture for CopyRow {
    fn rows(&self, columns: usize) -> Vec<DrawnRow> {
        let tally = *self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let mut written = so_far(&tally, self.started);
        // All of it is ASCII.
        written.truncate(columns);
        let columns = written.len();
        vec![DrawnRow { written, columns }]
    }

    fn settle(&self, _columns: usize) -> Vec<DrawnRow> {
        vec![]
    }

    fn pace(&self) -> Duration {
        PACE
    }
}

pub(super) async fn adopt(
    args: &StoreAdoptArgs,
    store: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let store = settings::open_existing_store(store)?;
    for named in &args.runs {
        let run = settings::find_run(&*store, named).await?;
        adopt_run(&*store, &run).await?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn adopt_run(store: &dyn Store, run: &RunId) -> Result<(), CliError> {
    let Some(copies) = store.copies() else {
        return Ok(());
    };
    let found = copies.runs_named(vec![run.clone()]).await?;
    let aside = found.into_iter().find_map(|it| it.aside);
    let message = match aside {
        Some(RunAside::CopyOf(other) | RunAside::MovedTo(other)) => {
            copies.let_go(run).await?;
            format!("run {run} continues here; see to it that it does not continue in {other}")
        }
        None => format!("run {run} is not set aside"),
    };
    output::stderr(&message);
    Ok(())
}
