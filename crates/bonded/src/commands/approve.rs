//! `bonded approve`: a person lets a call be executed that waits.
//!
//! The promise is that nobody approves what nobody saw. At a terminal the call is shown and asked about; elsewhere a
//! digest must be given, which is that of the call that waits at this moment. The verdict is recorded for that call
//! alone, under a condition that fails if the run has gone on. After the verdict the run goes on here, unless it
//! belongs to a plan, or the person says otherwise.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::trust::Stance;
use bonded_host::{CancellationToken, Host, PendingReview, Reviewed};
use bonded_kernel::{Run, RunId, Verdict};
use bonded_state::Store;

use crate::args::{ApproveArgs, ResumeArgs, ShowProgress, VerdictArgs};
use crate::commands::resume;
use crate::error::{CliError, Code};
use crate::review::{Attendant, Judged, person};
use crate::{output, settings, signals};
use bonded_host::keeping::Keeper;
use bonded_host::shapes::text;
use bonded_host::shapes::waiting::{self, Extent};

/// How often a run is claimed whose driver is just letting go of it.
const CLAIM_TRIES: u32 = 20;
/// Between two tries, in milliseconds: two seconds in all.
const CLAIM_PAUSE_MS: u64 = 100;

/// The same as a denial but for the verdict; the care that only an approval needs is taken in `judge`.
pub(crate) async fn approve(
    args: &ApproveArgs,
    store: Option<&Path>,
) -> Result<ExitCode, CliError> {
    judge(&args.verdict, Verdict::Approved, store).await
}

/// Records the verdict on the call that waits, and goes on with the run. At a terminal an approval is asked about, and
/// the answer may be a no. A denial is not asked about: it can do no harm. What waits may be a call of an agent that
/// the run has called, so that the run which is gone on with is the root.
pub(super) async fn judge(
    args: &VerdictArgs,
    verdict: Verdict,
    named: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let is_wanted = !args.json && !args.prompting.no_prompt;
    let attendant = Attendant::here(is_wanted, named);
    let mut attendant = attendant.map(|it| it.showing_all(args.full));
    let (store, id) = settings::find_run_to_steer(named, &args.run).await?;
    let (mut host, tools) = settings::host(store.clone(), Stance::Refuse);
    let run = host.load(&id).await?;
    let waits = match PendingReview::of(&*store, &run).await? {
        Some(waits) if args.call.is_none_or(|call| call == waits.call.call) => waits,
        other => return Err(nothing_waits(&run, other.as_ref())),
    };
    signals::interrupt_on_signal();
    let cancel = CancellationToken::new();
    let is_asked = verdict == Verdict::Approved && args.digest.is_none();
    match attendant.as_mut().filter(|_| is_asked) {
        Some(attendant) => match Box::pin(attendant.judge(&host, &run, &cancel)).await? {
            Judged::Answered => {}
            Judged::Nothing => return Err(nothing_waits(&run, None)),
            Judged::Stopped(code) => return Ok(code),
        },
        None => record(args, verdict, &host, &run, &waits).await?,
    }
    let root = host.root_of(&id).await?;
    if is_queued(&*store, &root).await? || args.no_resume {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(item) = &host.load(&root).await?.config().item {
        let plan = &item.plan;
        output::stderr(&format!("resume its plan: bonded work --resume {plan}"));
        return Ok(ExitCode::SUCCESS);
    }
    let code = go_on(args, &mut host, &root, cancel, attendant.as_mut()).await;
    tools.stop().await;
    code
}

/// Whether a worker goes on with the run: the verdict has queued it.
async fn is_queued(store: &dyn Store, root: &RunId) -> Result<bool, CliError> {
    let is_queued = match store.queues() {
        Some(queues) => queues.is_of_a_queue(root).await?,
        None => false,
    };
    if is_queued {
        let id = text::short_id(root);
        output::stderr(&format!("queued: a worker resumes run {id}"));
    }
    Ok(is_queued)
}

/// Records a verdict that was given on the command line.
async fn record(
    args: &VerdictArgs,
    verdict: Verdict,
    host: &Host,
    run: &Run,
    waits: &PendingReview,
) -> Result<(), CliError> {
    let extent = match args.full {
        true => Extent::Whole,
        false => Extent::Cut,
    };
    output::stderr(&waiting::described(waits, extent));
    let is_meant = |digest: &String| waits.call.digest.to_string().starts_with(digest.as_str());
    if args.digest.as_ref().is_some_and(|digest| !is_meant(digest)) {
        return Err(other_call(run, waits));
    }
    let word = match verdict {
        Verdict::Approved if args.digest.is_none() => return Err(look_first(args, run, waits)),
        Verdict::Approved => "approved",
        Verdict::Denied { .. } => "denied",
    };
    match host.review(waits, verdict, &person()).await? {
        Reviewed::TooLate => Err(too_late(&host.store, &host.load(run.id()).await?).await),
        Reviewed::Recorded => {
            output::stderr(&format!("{word}: {}", waits.call.tool));
            Ok(())
        }
    }
}

/// Nothing is approved that nobody was asked about, or of which only the beginning was shown.
fn look_first(args: &VerdictArgs, run: &Run, waits: &PendingReview) -> CliError {
    let id = text::short_id(run.id());
    if !args.full && !waiting::is_whole(waits) {
        let message = "nothing was approved: only the beginning of the arguments is shown";
        let hint = format!("see all of them: bonded approve {id} --full");
        return CliError::new(Code::LookFirst, message).hint(hint);
    }
    let message = "nothing was approved: there is no terminal to ask at";
    let hint = format!("approve exactly this: {}", waiting::approval(run, waits));
    CliError::new(Code::LookFirst, message).hint(hint)
}

/// The call was judged, or the run has gone on, while a person looked at it.
async fn too_late(store: &Arc<dyn Store>, run: &Run) -> CliError {
    match PendingReview::of(&**store, run).await {
        Ok(Some(waits)) => {
            output::stderr(&waiting::described(&waits, Extent::Cut));
            other_call(run, &waits)
        }
        _ => nothing_waits(run, None),
    }
}

/// What waits now was just shown.
fn other_call(run: &Run, waits: &PendingReview) -> CliError {
    let message = format!(
        "the pending call is not the one that you saw: it is now call {} of turn {}, as shown",
        waits.call.call, waits.call.turn
    );
    let hint = format!("if it may be executed: {}", waiting::approval(run, waits));
    CliError::new(Code::OtherCall, message).hint(hint)
}

/// The process that asked may be letting go just now: a run that is held is claimed again for a while. Progress is
/// shown only at the first try, or each of them would begin with the same line.
async fn go_on(
    args: &VerdictArgs,
    host: &mut Host,
    root: &RunId,
    cancel: CancellationToken,
    mut attendant: Option<&mut Attendant>,
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
            prompting: args.prompting,
            json: args.json,
        };
        let (root, cancel, asked) = (root.clone(), cancel.clone(), attendant.as_deref_mut());
        let driven = resume::one(&as_resumed, host, &keeper, root, cancel, asked).await;
        match driven {
            Err(error) if error.code == Code::RunHeld && tries < CLAIM_TRIES => {
                tries += 1;
                tokio::time::sleep(std::time::Duration::from_millis(CLAIM_PAUSE_MS)).await;
            }
            driven => return driven,
        }
    }
}

/// Says why: another call waits, the run has ended, or nothing was asked.
fn nothing_waits(run: &Run, other: Option<&PendingReview>) -> CliError {
    let id = text::short_id(run.id());
    let message = match (other, run.termination()) {
        (Some(other), _) => format!(
            "run {id} waits for call {} of turn {} ({}), not for the one you named",
            other.call.call, other.call.turn, other.call.tool
        ),
        (None, Some(end)) => format!(
            "nothing to approve: run {id} has finished ({})",
            end.kind.as_str()
        ),
        (None, None) => format!("no call of run {id} needs approval"),
    };
    CliError::new(Code::NothingWaits, message).hint(format!("look at it: bonded show {id}"))
}
