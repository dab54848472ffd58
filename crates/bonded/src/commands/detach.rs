//! `bonded run --detach`: queues runs, and drives none.
//!
//! What is checked before a run begins is checked here, where the person is: the goal, the settings, the tools. What the
//! run is bound to is in its first entry, and the worker that takes it needs no more than that. Ids that exist are left
//! as they are, so that the same file can be given again.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::{Goal, Host, HostError, Queueing, load_run};
use bonded_kernel::RunId;

use crate::agents::Verbosity;
use crate::args::RunArgs;
use crate::commands::run;
use crate::error::{CliError, Code};
use crate::review::person;
use crate::settings::RunSetup;
use crate::{agents, goal, goal_images, output, settings};

/// Prints the id of each run that is queued, or was before. One goal that cannot be queued stops no other.
pub(crate) async fn detach(args: &RunArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let queues = settings::open_queues(store)
        .map_err(|error| error.hint("or run it here, without --detach"))?;
    let goals = goals(args)?;
    let prepared = settings::prepare(&args.into())?;
    let images = match &goals[..] {
        [(_, asked, _)] if args.each.is_none() => goal_images::of(&args.images, asked, &prepared)?,
        _ => vec![],
    };
    if !prepared.options.quiet {
        for warning in &prepared.warnings {
            output::stderr(&format!("warning: {warning}"));
        }
    }
    let shown = Verbosity::of(&prepared.options);
    let (host, tools) = agents::host(queues, prepared.workplace.clone(), shown);
    let queueing = Queueing {
        queue: args.queue.clone(),
        needs: args.needs.clone(),
        tools: tools.clone(),
    };
    let mut failed = None;
    let is_one = goals.len() == 1;
    for (id, _, input) in goals {
        let goal = Goal {
            images: images.clone(),
            ..prepared.checked_goal(input)
        };
        match queue(args, &host, &queueing, &prepared, &id, goal).await {
            Ok(()) => output::stdout(id.as_str()),
            Err(error) if is_one => failed = Some(error),
            Err(error) => {
                output::stderr(&error.render());
                let message = "not all goals are queued";
                failed = Some(CliError::new(Code::RunFailed, message));
            }
        }
    }
    tools.stop().await;
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The goals, each with the id of its run, what was asked, and that with what was piped in.
fn goals(args: &RunArgs) -> Result<Vec<(RunId, String, String)>, CliError> {
    if let Some(file) = &args.each {
        let lines = goal::read_lines(file)?.into_iter();
        return Ok(lines
            .map(|(id, asked)| (id, asked.clone(), asked))
            .collect());
    }
    let id = args.id.as_deref().map(RunId::new).transpose()?;
    let given = run::goal_and_material(args)?;
    for warning in given.piped.iter().flat_map(|piped| &piped.warnings) {
        output::stderr(&format!("warning: {warning}"));
    }
    let id = id.unwrap_or_else(Host::draw_id);
    Ok(vec![(id, given.asked, given.input)])
}

async fn queue(
    args: &RunArgs,
    host: &Host,
    queueing: &Queueing,
    prepared: &RunSetup,
    id: &RunId,
    goal: Goal,
) -> Result<(), CliError> {
    prepared.check(&goal.text)?;
    if args.each.is_some() {
        goal_images::none_named(&goal.text)?;
    }
    let images = goal.images.clone();
    let asked = goal.text.clone();
    let submitter = args.submitter.clone().unwrap_or_else(person);
    if host.queue(queueing, &submitter, id, goal).await? {
        return Ok(());
    }
    let there = load_run(&*host.store, id).await?;
    match asked == *there.goal() && images == there.images() {
        true => Ok(()),
        false => Err(HostError::OtherGoal { run: id.clone() }.into()),
    }
}
