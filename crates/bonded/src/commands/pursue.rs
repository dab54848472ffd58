//! `bonded run --continue`: another goal for a run that has ended.
//!
//! The run goes on from what was said, with what it began with and the limits of this command; its log goes on, too. Of what
//! is found now only what is trusted counts, as with `resume`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::trust::Stance;
use bonded_host::{CancellationToken, Host, PendingReview, keeping};
use bonded_kernel::{GoalGiven, GoalRefused, Run, RunFiles, RunId};
use bonded_state::Store;

use crate::args::RunArgs;
use crate::commands::attend::{self, Attended};
use crate::commands::run::{self, GivenGoal};
use crate::error::{CliError, Code};
use crate::render::progress::{RunWatcher, Sink};
use crate::render::trace::Trace;
use crate::review::Attendant;
use crate::stdin::Piped;
use crate::{goal_images, output, settings, signals};
use bonded_host::keeping::Keeper;
use bonded_host::shapes::text::short_id;

/// Refused before anything is written where the run takes no goal, or would be another run with what is typed.
pub(crate) async fn pursue(args: &RunArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    settings::refuse_bound(args.into())?;
    let GivenGoal {
        input,
        asked,
        piped,
    } = run::goal_and_material(args)?;
    goal_images::none_in_a_next_goal(&asked)?;
    let is_wanted = !(args.json || args.stream_json || args.prompting.no_prompt);
    let mut attendant = Attendant::here(is_wanted, store);
    let (store, id) = find(args.continue_run.as_deref(), args.dir.as_deref(), store).await?;
    let (mut host, tools) = settings::host(store.clone(), stance(args));
    let run = host.load(&id).await?;
    refuse_closed(&host, &run).await?;
    settings::refuse_looser(args.into(), run.config())?;
    let given = settings::goal_given(args.into(), &run, input)?;
    warn_of(piped.as_ref());
    let driven = drive(args, &mut host, &run, given, attendant.as_mut()).await;
    tools.stop().await;
    match driven? {
        Attended::Left(left) => {
            let (run, shown) = *left;
            run::conclude(&*store, &run, args.json, &shown).await
        }
        Attended::Stopped(code) => Ok(code),
    }
}

/// Of what is found only what is trusted counts, unless the person says so now.
pub(super) fn stance(args: &RunArgs) -> Stance {
    match args.agent.trust {
        true => Stance::Once,
        false => Stance::Refuse,
    }
}

fn warn_of(piped: Option<&Piped>) {
    for warning in piped.iter().flat_map(|piped| &piped.warnings) {
        output::stderr(&format!("warning: {warning}"));
    }
}

/// The run that is named, or the last one of the directory.
pub(super) async fn find(
    named: Option<&str>,
    dir: Option<&Path>,
    store: Option<&Path>,
) -> Result<(Arc<dyn Store>, RunId), CliError> {
    if let Some(named) = named {
        return settings::find_run_to_steer(store, named).await;
    }
    let dir = settings::working_directory(dir)?;
    let store = settings::open_existing_store(store)?;
    let run = settings::last_run_here(&*store, &dir).await?;
    Ok((store, run))
}

/// Says what can be done with a run that takes no goal.
pub(super) async fn refuse_closed(host: &Host, run: &Run) -> Result<(), CliError> {
    let Err(why) = run.takes_goal() else {
        return Ok(());
    };
    let id = short_id(run.id());
    let message = format!("run {id} takes no other goal: {why}");
    let hint = match &why {
        GoalRefused::NotEnded => match PendingReview::of(&*host.store, run).await? {
            Some(_) => format!("it waits for you: bonded approve {id}, or bonded deny {id}"),
            None => format!("resume it: bonded resume {id}; or end it: bonded cancel {id}"),
        },
        GoalRefused::Called { caller } => {
            format!("continue the run that called it: {}", short_id(caller))
        }
        GoalRefused::OfPlan { .. }
        | GoalRefused::Loops
        | GoalRefused::NeverBegan { .. }
        | GoalRefused::Denied
        | GoalRefused::Served
        | GoalRefused::Blank => "begin a new run: bonded run".to_owned(),
    };
    Err(CliError::new(Code::CannotContinue, message).hint(hint))
}

/// Gives the goal to the run, and drives and shows it until it has ended again.
pub(super) async fn drive(
    args: &RunArgs,
    host: &mut Host,
    run: &Run,
    given: GoalGiven,
    attendant: Option<&mut Attendant>,
) -> Result<Attended, CliError> {
    let (store, id) = (host.store.clone(), run.id().clone());
    let kept = kept(&*store, &id).await?;
    let keeper = Keeper::new(store.clone());
    keeper.refuse_cut(&id, Some(&kept)).await?;
    let following = keeper.follow(&id, Some(&kept))?;
    signals::interrupt_on_signal();
    let cancel = CancellationToken::new();
    let quiet = args.agent.options.given.contains_key("quiet");
    let verbose = args.agent.options.given.contains_key("verbose");
    let traces = args.agent.options.given.contains_key("traceMCP");
    if !quiet {
        run::name_run(&id, "");
    }
    let watch = |after| {
        let sink = match args.stream_json {
            true => Sink::json(args.live),
            false => Sink::for_stderr(quiet, &id),
        };
        RunWatcher::new(store.clone(), id.clone(), after, sink).tracing(Trace::new(verbose, traces))
    };
    let watcher = watch(run.head().seq);
    host.live = watcher.live_sink();
    let driving = Box::pin(host.pursue(&id, given, cancel.clone()));
    let driven = match run::watched(watcher, driving).await {
        Ok(run) => Box::pin(attend::see_through(attendant, host, run, watch, &cancel)).await,
        Err(error) => Err(error),
    };
    following.settle().await;
    driven
}

/// Where the run is kept: as it was when it began.
pub(super) async fn kept(store: &dyn Store, id: &RunId) -> Result<RunFiles, CliError> {
    let recorded = keeping::kept(store, id).await?;
    Ok(recorded.map(|(kept, _)| kept).unwrap_or_default())
}
