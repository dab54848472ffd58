//! `bonded resume`: goes on with what was interrupted.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::{Host, Status};
use bonded_kernel::RunId;
use bonded_state::{ListFilter, Store};

use crate::args::ResumeArgs;
use crate::commands::{run, runs};
use crate::error::{CliError, Code};
use crate::render::progress::{Sink, Watcher};
use crate::{output, settings, signals};

pub(crate) async fn resume(args: &ResumeArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let store = settings::open_existing_store(store)?;
    let (mut host, tools) = settings::host(store.clone());
    let cancel = signals::cancel_on_signal();
    let runs = match &args.run {
        Some(named) => vec![settings::find_run(&*store, named).await?],
        None => interrupted(&*store).await?,
    };
    if runs.is_empty() {
        output::stderr("no run is interrupted");
    }
    let mut all_succeeded = true;
    for id in runs {
        let run = one(args, &mut host, &store, id, cancel.clone()).await?;
        all_succeeded &= run == ExitCode::SUCCESS;
    }
    tools.stop().await;
    if all_succeeded {
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::from(Code::RunFailed.exit_code()))
    }
}

async fn one(
    args: &ResumeArgs,
    host: &mut Host,
    store: &Arc<dyn Store>,
    id: RunId,
    cancel: bonded_host::CancellationToken,
) -> Result<ExitCode, CliError> {
    let after = store.head(&id).await?.map_or(0, |head| head.seq);
    if !args.show.quiet {
        output::stderr(&format!("run {id}"));
    }
    let sink = Sink::for_stderr(args.show.quiet, &id);
    let watcher = Watcher::new(store.clone(), id.clone(), after, sink);
    host.live = watcher.live_sink();
    let run = run::watched(watcher, host.resume(&id, cancel)).await?;
    run::conclude(&**store, &run, args.json, false).await
}

async fn interrupted(store: &dyn Store) -> Result<Vec<RunId>, CliError> {
    let listed = store.list(ListFilter::default()).await?;
    Ok(listed
        .iter()
        .filter(|listed| runs::status(listed) == Some(Status::Interrupted))
        .map(|listed| listed.run.clone())
        .collect())
}
