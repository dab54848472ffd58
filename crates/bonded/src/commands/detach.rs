//! `bonded run --detach`: queues runs, and drives none.
//!
//! What is checked before a run begins is checked here, where the person is: the goal, the settings, the tools. What the
//! run is bound to is in its first entry, and the worker that takes it needs no more than that. Ids that exist are left
//! as they are, so that the same file can be given again.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::{Host, HostError, Queueing, load_run};
use bonded_kernel::RunId;

use crate::agents::Verbosity;
use crate::args::RunArgs;
use crate::commands::run;
use crate::error::{CliError, Code};
use crate::review::person;
use crate::settings::RunSetup;
use crate::{agents, goal, output, settings};

/// Prints the id of each run that is queued, or was before. One goal that cannot be queued stops no other.
pub(crate) async fn detach(args: &RunArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let queues = settings::open_queues(store)
        .map_err(|error| error.hint("or run it here, without --detach"))?;
    let goals = goals(args)?;
    let prepared = settings::prepare(&args.into())?;
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
    for (id, input) in goals {
        match queue(args, &host, &queueing, &prepared, &id, input).await {
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

/// The goals, each with the id of its run.
fn goals(args: &RunArgs) -> Result<Vec<(RunId, String)>, CliError> {
    if let Some(file) = &args.each {
        return goal::read_lines(file);
    }
    let id = args.id.as_deref().map(RunId::new).transpose()?;
    let (input, piped) = run::goal_and_material(args)?;
    for warning in piped.iter().flat_map(|piped| &piped.warnings) {
        output::stderr(&format!("warning: {warning}"));
    }
    Ok(vec![(id.unwrap_or_else(Host::draw_id), input)])
}

async fn queue(
    args: &RunArgs,
    host: &Host,
    queueing: &Queueing,
    prepared: &RunSetup,
    id: &RunId,
    input: String,
) -> Result<(), CliError> {
    prepared.check(&input)?;
    let goal = prepared.checked_goal(input);
    let asked = goal.text.clone();
    let submitter = args.submitter.clone().unwrap_or_else(person);
    if host.queue(queueing, &submitter, id, goal).await? {
        return Ok(());
    }
    let there = load_run(&*host.store, id).await?;
    match asked == *there.goal() {
        true => Ok(()),
        false => Err(HostError::OtherGoal { run: id.clone() }.into()),
    }
}
