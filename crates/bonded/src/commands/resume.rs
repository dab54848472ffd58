//! `bonded resume`: goes on with what was interrupted.
//!
//! Going on means claiming the run, reading its log and driving it from its last durable step. What counted when it
//! began is in the log: model, directory, limits, policy and the files that were trusted. Of what is found now only
//! what is trusted counts, and nobody is asked, because agents have worked here already.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::shapes::listing;
use bonded_host::trust::Stance;
use bonded_host::{CancellationToken, Host, Status};
use bonded_kernel::{Event, RunFiles, RunId};
use bonded_state::{ListFilter, Listed, Store};

use crate::args::ResumeArgs;
use crate::commands::attend::{self, Attended};
use crate::commands::run;
use crate::error::{CliError, Code};
use crate::render::progress::{RunWatcher, Sink};
use crate::review::Attendant;
use crate::{output, settings, signals};
use bonded_host::keeping::{self, Keeper};

/// With several runs, the exit code says whether all succeeded, and each failure is printed where it happens.
pub(crate) async fn resume(args: &ResumeArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    if args.all && args.trust {
        return Err(trust_for_all());
    }
    let mut attendant = Attendant::here(!args.json && !args.prompting.no_prompt, store);
    let (store, named) = match &args.run {
        Some(named) => {
            let (store, run) = settings::find_run_to_steer(store, named).await?;
            (store, Some(run))
        }
        None => (settings::open_existing_store(store)?, None),
    };
    let stance = match args.trust {
        true => Stance::Once,
        false => Stance::Refuse,
    };
    let (mut host, tools) = settings::host(store.clone(), stance);
    let keeper = Keeper::new(store.clone());
    signals::interrupt_on_signal();
    let cancel = CancellationToken::new();
    let runs = match named {
        Some(run) => vec![run],
        None => interrupted(&*store).await?,
    };
    if runs.is_empty() {
        output::stderr("no run is interrupted");
    }
    let is_one = runs.len() == 1;
    let mut all_succeeded = true;
    for id in runs {
        if signals::interrupt().is_cancelled() {
            let message = "not all runs were resumed";
            return Err(CliError::new(Code::Interrupted, message));
        }
        let asked = attendant.as_mut();
        let run = one(args, &mut host, &keeper, id, cancel.clone(), asked).await;
        if is_one {
            tools.stop().await;
            return run;
        }
        // What stops one run is no reason to leave the others.
        all_succeeded &= match run {
            Ok(code) => code == ExitCode::SUCCESS,
            Err(error) => {
                output::stderr(&error.render());
                false
            }
        };
    }
    tools.stop().await;
    if all_succeeded {
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::from(Code::RunFailed.exit_code()))
    }
}

/// A word of trust is for what is there before agents work. With several runs, those of the first would have worked
/// when the next is looked at.
fn trust_for_all() -> CliError {
    let message = "--trust is for one run: with --all, agents of the first would have worked before the next is trusted";
    CliError::new(Code::Usage, message)
        .hint("name the run: bonded resume RUN --trust")
        .hint("or look at what changed, and trust it: bonded trust DIR")
}

/// Goes on with one run and prints what came of it.
/// The host is changed: what is being said goes to the watcher of this run.
pub(crate) async fn one(
    args: &ResumeArgs,
    host: &mut Host,
    keeper: &Keeper,
    id: RunId,
    cancel: CancellationToken,
    attendant: Option<&mut Attendant>,
) -> Result<ExitCode, CliError> {
    let store = &host.store.clone();
    let kept = kept(args, &**store, &id).await?;
    keeper.refuse_cut(&id, Some(&kept)).await?;
    let following = keeper.follow(&id, Some(&kept))?;
    let after = store.head(&id).await?.map_or(0, |head| head.seq);
    if !args.show.quiet {
        run::name_run(&id, "");
    }
    let watch = |after| {
        let sink = Sink::for_stderr(args.show.quiet, &id);
        RunWatcher::new(store.clone(), id.clone(), after, sink)
    };
    let watcher = watch(after);
    host.live = watcher.live_sink();
    let driven = run::watched(watcher, Box::pin(host.resume(&id, cancel.clone()))).await;
    let driven = match driven {
        Ok(run) => Box::pin(attend::see_through(attendant, host, run, watch, &cancel)).await,
        Err(error) => Err(error),
    };
    following.settle().await;
    match driven? {
        Attended::Left(left) => {
            let (run, shown) = *left;
            run::conclude(&**store, &run, args.json, &shown).await
        }
        Attended::Stopped(code) => Ok(code),
    }
}

/// Where a run is kept: what is said now, else what was said when it began.
async fn kept(args: &ResumeArgs, store: &dyn Store, id: &RunId) -> Result<RunFiles, CliError> {
    let (recorded, dir) = keeping::kept(store, id).await?.unwrap_or_default();
    let arguments = keeping::kept_at(&args.billing_file, &args.sessions_dir, &dir);
    Ok(RunFiles {
        ledger: arguments.ledger.or(recorded.ledger),
        snapshots: arguments.snapshots.or(recorded.snapshots),
    })
}

/// Runs that wait for a person are not interrupted, and those of plans go on with their plans.
async fn interrupted(store: &dyn Store) -> Result<Vec<RunId>, CliError> {
    let listed = store.list(ListFilter::default()).await?;
    let mut interrupted = vec![];
    for one in &listed {
        let is_free = !is_of_plan(one);
        if is_free && listing::status(store, one).await == Some(Status::Interrupted) {
            interrupted.push(one.run.clone());
        }
    }
    Ok(interrupted)
}

/// What is for a work item goes on with its plan alone.
fn is_of_plan(listed: &Listed) -> bool {
    let first = listed.ends.as_ref().map(|ends| &ends.first.event);
    matches!(first, Ok(Event::RunStarted(started)) if started.config.item.is_some())
}
