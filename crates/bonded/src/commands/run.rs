//! `bonded run`: one goal.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::{Host, HostError, RunResult};
use bonded_kernel::{Run, RunId};

use crate::args::RunArgs;
use crate::error::{CliError, Code};
use crate::render::progress::{Sink, Watcher};
use crate::render::{json, text};
use crate::{goal, output, settings, signals};

pub(crate) async fn run(args: &RunArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let said = args.goal.as_deref().unwrap_or_default();
    let config = settings::run_config(args.dir.as_deref(), &args.model, &args.limits)?;
    let chosen = args.id.as_deref().map(RunId::new).transpose()?;
    let goal = settings::goal(goal::read(said)?, args.system.as_deref(), config)?;
    let store = settings::open_store(store)?;
    let host = settings::host(store.clone());
    let cancel = signals::cancel_on_signal();
    let sink = if args.stream_json {
        Sink::Json
    } else {
        Sink::for_stderr(args.show.quiet)
    };
    let (id, after) = match &chosen {
        Some(id) => (id.clone(), store.head(id).await?.map_or(0, |head| head.seq)),
        None => (Host::draw_id(), 0),
    };
    if !args.show.quiet {
        output::stderr(&format!("run {id}"));
    }
    let watcher = Watcher::new(store, id.clone(), after, sink);
    let run = match chosen {
        Some(_) => watched(watcher, host.run_as(id, goal, cancel)).await?,
        None => watched(watcher, host.run(id, goal, cancel)).await?,
    };
    Ok(conclude(&run, args.json, args.stream_json))
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
pub(crate) fn conclude(run: &Run, as_json: bool, streamed: bool) -> ExitCode {
    let Some(result) = RunResult::of(run) else {
        return ExitCode::from(Code::Internal.exit_code());
    };
    if as_json {
        output::stdout(&json::result(&result));
    } else if result.is_success() && !streamed {
        output::stdout(&result.reason);
    }
    if result.is_success() {
        return ExitCode::SUCCESS;
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
    ExitCode::from(Code::RunFailed.exit_code())
}
