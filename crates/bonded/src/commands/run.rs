//! `bonded run`: one goal.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::accounting::accounts;
use bonded_host::config::options::Options;
use bonded_host::{Host, HostError, QueueMeasure, RunResult};
use bonded_kernel::{ReportFormat, Run, RunId};
use bonded_state::Store;

use crate::args::RunArgs;
use crate::error::{CliError, Code};
use crate::render::progress::{Sink, Watcher};
use crate::render::trace::Trace;
use crate::render::{result, text};
use crate::{agents, goal, ledger, output, settings, signals, snapshot};

pub(crate) async fn run(args: &RunArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let said = args.goal.as_deref().unwrap_or_default();
    let chosen = args.id.as_deref().map(RunId::new).transpose()?;
    let prepared = settings::prepare(args, goal::read(said)?)?;
    let quiet = prepared.options.quiet;
    let store = settings::open_store(store)?;
    let options = prepared.options;
    let (mut host, tools) = agents::host(store.clone(), prepared.workplace, options.trace_llm);
    let cancel = signals::cancel_on_signal();
    let (id, after) = match &chosen {
        Some(id) => (id.clone(), store.head(id).await?.map_or(0, |head| head.seq)),
        None => (Host::draw_id(), 0),
    };
    if !quiet {
        prepared
            .warnings
            .iter()
            .for_each(|warning| output::stderr(&format!("warning: {warning}")));
        output::stderr(&format!("run {id}"));
    }
    let sink = match args.stream_json {
        true => Sink::json(args.live),
        false => Sink::for_stderr(quiet, &id),
    };
    let watcher = Watcher::new(store.clone(), id.clone(), after, sink)
        .tracing(Trace::new(options.verbose, options.trace_mcp));
    host.live = watcher.live_sink();
    let goal = prepared.goal;
    let driven = match chosen {
        Some(_) => watched(watcher, Box::pin(host.run_as(id, goal, cancel))).await,
        None => watched(watcher, Box::pin(host.run(id, goal, cancel))).await,
    };
    if options.verbose && !quiet {
        queue_lines(&tools.queue_measures())
            .iter()
            .for_each(|line| output::stderr(line));
    }
    tools.stop().await;
    let run = driven?;
    keep(&*store, &run, &options).await?;
    conclude(&*store, &run, args.json, args.stream_json).await
}

/// What the queues have seen, where something went through them.
fn queue_lines(measures: &[(String, QueueMeasure)]) -> Vec<String> {
    let used = measures.iter().filter(|(_, measure)| measure.entered > 0);
    let line = |(name, it): &(String, QueueMeasure)| {
        format!(
            "queue {name}: {} calls, {} places, at most {} waiting, longest wait {} ms",
            it.entered, it.concurrent, it.waiting_max, it.waited_ms_max
        )
    };
    used.map(line).collect()
}

/// Writes what is kept outside the store, where somebody asks for it.
async fn keep(store: &dyn Store, run: &Run, options: &Options) -> Result<(), CliError> {
    if let Some(dir) = &options.sessions_dir {
        snapshot::write(store, run, Path::new(dir)).await?;
    }
    if let Some(file) = &options.billing_file {
        ledger::write(store, run.id(), Path::new(file)).await?;
    }
    Ok(())
}

/// Drives a run and shows its log meanwhile.
pub(crate) async fn watched(
    mut watcher: Watcher,
    driving: impl Future<Output = Result<Run, HostError>>,
) -> Result<Run, CliError> {
    if watcher.is_quiet() {
        return Ok(driving.await?);
    }
    let mut driving = std::pin::pin!(driving);
    let run = tokio::select! {
        biased;
        run = &mut driving => run,
        // Whatever the watcher meets, the run goes on.
        _ = watcher.follow() => driving.await,
    }?;
    watcher.catch_up().await?;
    Ok(run)
}

/// Prints the answer or the result, and says on stderr why there is none.
pub(crate) async fn conclude(
    store: &dyn Store,
    run: &Run,
    as_json: bool,
    streamed: bool,
) -> Result<ExitCode, CliError> {
    let Some(result) = RunResult::of(run) else {
        return Ok(ExitCode::from(Code::Internal.exit_code()));
    };
    if as_json {
        let booked = accounts(store, run.id()).await?;
        output::stdout(&result::whole(run, &result, run.last_at(), &booked));
    } else if result.is_success() && !streamed {
        output::stdout(&answer(run, &result));
    }
    if result.is_success() {
        return Ok(ExitCode::SUCCESS);
    }
    let id = text::short_id(&result.run);
    let kind = result.termination.as_str();
    output::stderr(&format!(
        "run {id} ended without success: {kind}: {}",
        result.reason
    ));
    if let Some(said) = &result.last_text {
        output::stderr(&format!(
            "the model's last words: {}",
            text::brief(said, 500)
        ));
    }
    Ok(ExitCode::from(Code::RunFailed.exit_code()))
}

/// The report as a person or a program wants it, else the reason that the model gave.
fn answer(run: &Run, result: &RunResult) -> String {
    let Some(report) = run.report() else {
        return result.reason.clone();
    };
    let json = report.content_json.as_ref().or(report.messages.as_ref());
    if let Some(value) = json {
        return serde_json::to_string_pretty(value).unwrap_or_default();
    }
    let content = report
        .content
        .map(|text| text.to_string())
        .unwrap_or_default();
    match report.format {
        // Models write escapes out, as they cannot write the character.
        ReportFormat::Tty => content
            .replace("\\x1b[", "\x1b[")
            .replace("\\u001b[", "\x1b["),
        _ => content,
    }
}
