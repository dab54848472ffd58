//! `bonded cancel`: ends a run from another process.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::trust::Stance;
use bonded_kernel::TerminationKind;

use crate::args::CancelArgs;
use crate::error::CliError;
use crate::{output, settings};

pub(crate) async fn cancel(args: &CancelArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let store = settings::open_existing_store(store)?;
    let id = settings::find_run(&*store, &args.run).await?;
    let (host, _) = settings::host(store, Stance::Refuse);
    let run = host.cancel_waiting(&id, &args.reason).await?;
    let message = match run.termination().map(|termination| termination.kind) {
        Some(TerminationKind::Cancelled) => format!("run {id} is cancelled"),
        Some(kind) => format!("run {id} had ended before: {}", kind.as_str()),
        None => format!("run {id} goes on"),
    };
    output::stderr(&message);
    Ok(ExitCode::SUCCESS)
}
