//! `bonded approve`: a person lets a call be executed that waits.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::trust::Stance;
use bonded_host::{CancellationToken, Host, Reviewed, Waiting};
use bonded_kernel::{Run, RunId, Verdict};

use crate::args::{ApproveArgs, ResumeArgs, ShowProgress, VerdictArgs};
use crate::commands::resume;
use crate::error::{CliError, Code};
use crate::keeping::Keeper;
use crate::render::{text, waiting};
use crate::{output, settings, signals};

/// How often a run is claimed whose driver is just letting go of it.
const CLAIM_TRIES: u32 = 20;
const CLAIM_PAUSE_MS: u64 = 100;

pub(crate) async fn approve(
    args: &ApproveArgs,
    store: Option<&Path>,
) -> Result<ExitCode, CliError> {
    judge(&args.verdict, Verdict::Approved, store).await
}

/// Shows the call that waits, records the verdict and goes on with the run.
pub(super) async fn judge(
    args: &VerdictArgs,
    verdict: Verdict,
    store: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let store = settings::open_existing_store(store)?;
    let id = settings::find_run(&*store, &args.run).await?;
    let (mut host, tools) = settings::host(store.clone(), Stance::Refuse);
    let run = host.load(&id).await?;
    let waits = match Waiting::of(&*store, &run).await? {
        Some(waits) if args.call.is_none_or(|call| call == waits.call.call) => waits,
        other => return Err(nothing_waits(&run, other.as_ref())),
    };
    output::stderr(&waiting::described(&waits));
    let word = match verdict {
        Verdict::Approved => "approved",
        Verdict::Denied { .. } => "denied",
    };
    match host.review(&waits, verdict, &person()).await? {
        Reviewed::TooLate => return Err(nothing_waits(&run, None)),
        Reviewed::Recorded => output::stderr(&format!("{word}: {}", waits.call.tool)),
    }
    if args.no_resume {
        return Ok(ExitCode::SUCCESS);
    }
    let root = host.root_of(&id).await?;
    if let Some(item) = &host.load(&root).await?.config().item {
        let plan = &item.plan;
        output::stderr(&format!(
            "it goes on with its plan: bonded work --resume {plan}"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let cancel = signals::cancel_on_signal();
    let code = go_on(args, &mut host, &root, cancel).await;
    tools.stop().await;
    code
}

/// The process that asked may be about to let go of the run.
async fn go_on(
    args: &VerdictArgs,
    host: &mut Host,
    root: &RunId,
    cancel: CancellationToken,
) -> Result<ExitCode, CliError> {
    let keeper = Keeper::new(host.store.clone());
    let mut tries = 1;
    loop {
        let quiet = args.show.quiet || tries > 1;
        let as_resumed = ResumeArgs {
            trust: false,
            run: None,
            all: false,
            billing_file: None,
            sessions_dir: None,
            show: ShowProgress { quiet },
            json: args.json,
        };
        let driven = resume::one(&as_resumed, host, &keeper, root.clone(), cancel.clone()).await;
        match driven {
            Err(error) if error.code == Code::RunHeld && tries < CLAIM_TRIES => {
                tries += 1;
                tokio::time::sleep(std::time::Duration::from_millis(CLAIM_PAUSE_MS)).await;
            }
            driven => return driven,
        }
    }
}

fn nothing_waits(run: &Run, other: Option<&Waiting>) -> CliError {
    let id = text::short_id(run.id());
    let message = match (other, run.termination()) {
        (Some(other), _) => format!(
            "run {id} waits for call {} of turn {} ({}), not for the one that was named",
            other.call.call, other.call.turn, other.call.tool
        ),
        (None, Some(end)) => format!(
            "no call of run {id} waits: it ended as {}",
            end.kind.as_str()
        ),
        (None, None) => format!("no call of run {id} waits for a person"),
    };
    CliError::new(Code::NothingWaits, message).hint(format!("look at it: bonded show {id}"))
}

/// Who is at the keyboard, as far as the system says.
fn person() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok());
    named.unwrap_or_else(|| "unknown".into())
}
