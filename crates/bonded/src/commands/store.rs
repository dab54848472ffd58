//! `bonded store`: the store itself. It is made on a server by a person who may; a file is made by the first run anyway. Its
//! queues and agents are listed and bounded. Its runs are copied to another one.

mod copying;

use std::path::Path;
use std::process::ExitCode;

use bonded_postgres::{Bounded, Initialised, QueueState, initialise, initialise_schema};
use bonded_state::{HeldPlan, PlanObjects as _};
use bonded_workspace::store::SERVER_SCHEMA;
use serde_json::json;

use crate::args::{StoreArgs, StoreCommand, StoreInitArgs, StoreLimitArgs, StorePlanArgs};
use crate::error::{CliError, Code};
use crate::render::table::{self, Side};
use crate::{output, settings};

pub(crate) async fn store(args: &StoreArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    match &args.command {
        StoreCommand::Init(args) => init(args, store).await,
        StoreCommand::Queue(args) => limit(Bounded::Queue, args, store).await,
        StoreCommand::Agent(args) => limit(Bounded::Agent, args, store).await,
        StoreCommand::Copy(args) => Box::pin(copying::copy(args)).await,
        StoreCommand::Adopt(args) => copying::adopt(args, store).await,
        StoreCommand::Plan(args) => plan(args, store).await,
    }
}

async fn init(args: &StoreInitArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let Some(address) = settings::store_address(store)? else {
        if let Some(user) = args.grant.first() {
            let message = format!("--grant {user}: a store in a file has no users");
            let hint = "name a server: --store postgres://OWNER@HOST/DATABASE";
            return Err(CliError::new(Code::Usage, message).hint(hint));
        }
        drop(settings::open_store(store)?);
        let path = settings::store_path(store)?;
        output::stderr(&format!("ready: {}", path.display()));
        return Ok(ExitCode::SUCCESS);
    };
    let runs = Box::pin(initialise(&address, &args.grant)).await?;
    let workspaces = initialise_schema(&address, &args.grant, SERVER_SCHEMA);
    let workspaces = Box::pin(workspaces).await?;
    let (runs, workspaces) = (what_was_done(runs), what_was_done(workspaces));
    let message = format!(
        "ready: {}: {runs}; workspaces: {workspaces}",
        address.label()
    );
    output::stderr(&message);
    Ok(ExitCode::SUCCESS)
}

fn what_was_done(made: Initialised) -> String {
    match (made.before, made.after) {
        (0, after) => format!("created, format {after}"),
        (before, after) if before == after => format!("up to date, format {after}"),
        (before, after) => format!("brought from format {before} to {after}"),
    }
}

async fn limit(
    of: Bounded,
    args: &StoreLimitArgs,
    store: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let (word, title) = match of {
        Bounded::Queue => ("queue", "QUEUE"),
        Bounded::Agent => ("agent", "AGENT"),
    };
    let store = settings::open_queues(store)?;
    if let Some(name) = &args.name {
        store.bound(of, name.clone(), args.concurrent).await?;
        let message = match args.concurrent {
            Some(count) => format!("{word} {name}: at most {count} at once"),
            None => format!("{word} {name}: no limit"),
        };
        output::stderr(&message);
        return Ok(ExitCode::SUCCESS);
    }
    let queues = store.states(of).await?;
    if args.json {
        for queue in &queues {
            let line = json!({
                "name": queue.name, "queued": queue.queued, "driven": queue.driven,
                "concurrent": queue.concurrent,
            });
            output::stdout(&line.to_string());
        }
    } else if queues.is_empty() {
        output::stderr(&format!(
            "no {word}s yet; queue a run with `bonded run --detach`"
        ));
    } else {
        let titles = [
            (title, Side::Left),
            ("QUEUED", Side::Right),
            ("DRIVEN", Side::Right),
            ("LIMIT", Side::Right),
        ];
        output::stdout(&table::table(titles, queues.iter().map(cells)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The machine that has the tree of a plan removes what was sent for it; this is for plans that nobody resumes.
async fn plan(args: &StorePlanArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let store = settings::open_queues(store)?;
    if let Some(plan) = &args.plan {
        if !store.remove(plan).await? {
            let message = format!("runs of plan {plan} are queued or driven; nothing was removed");
            return Err(CliError::new(Code::RunHeld, message).hint(format!(
                "cancel them first: bonded runs, then bonded cancel {plan}.ITEM"
            )));
        }
        output::stderr(&format!("removed what was sent for plan {plan}"));
        return Ok(ExitCode::SUCCESS);
    }
    let plans = store.held_plans().await?;
    if args.json {
        for held in &plans {
            let line = json!({ "plan": held.plan, "contents": held.contents, "bytes": held.bytes });
            output::stdout(&line.to_string());
        }
    } else if plans.is_empty() {
        output::stderr("nothing of a plan is in the store");
    } else {
        let titles = [
            ("PLAN", Side::Left),
            ("CONTENTS", Side::Right),
            ("BYTES", Side::Right),
        ];
        let row = |held: &HeldPlan| {
            let HeldPlan {
                plan,
                contents,
                bytes,
            } = held;
            [plan.clone(), contents.to_string(), bytes.to_string()]
        };
        output::stdout(&table::table(titles, plans.iter().map(row)));
    }
    Ok(ExitCode::SUCCESS)
}

fn cells(queue: &QueueState) -> [String; 4] {
    let limit = queue.concurrent.map(|count| count.to_string());
    [
        queue.name.clone(),
        queue.queued.to_string(),
        queue.driven.to_string(),
        limit.unwrap_or_default(),
    ]
}
