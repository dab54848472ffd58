//! `bonded cancel`: ends a run from another process.
//!
//! The end is written to the log, whoever drives the run: its driver finds it there and lets go. Agents that it
//! called and that wait for a person end with it. One that ended before stays as it is: a cancellation never
//! changes how something ended, and is no error then.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::trust::Stance;
use bonded_kernel::TerminationKind;

use crate::args::CancelArgs;
use crate::error::CliError;
use crate::{output, settings};

/// What the run had come to in the meantime is read back, and that is what is printed.
pub(crate) async fn cancel(args: &CancelArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let (store, id) = settings::find_run_to_steer(store, &args.run).await?;
    let (host, _) = settings::host(store, Stance::Refuse);
    let run = host.cancel_waiting(&id, &args.reason).await?;
    let message = match run.termination().map(|termination| termination.kind) {
        Some(TerminationKind::Cancelled) => format!("run {id} is cancelled"),
        Some(kind) => format!("run {id} has already finished ({})", kind.as_str()),
        None => format!("run {id} is still running"),
    };
    output::stderr(&message);
    Ok(ExitCode::SUCCESS)
}
