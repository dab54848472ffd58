//! `bonded runs`: the list.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::{Status, Waiting, load_run};
use bonded_kernel::{Entry, Event};
use bonded_state::{ListFilter, Listed, Store};

use crate::args::RunsArgs;
use crate::error::{CliError, Code};
use crate::render::table::{self, Side};
use crate::render::{json, text};
use crate::{output, settings};

const DAMAGED: &str = "damaged";
const NO_RUNS: &str = "no runs yet; start one with `bonded run`, or try `bonded demo`";

pub(crate) async fn runs(args: &RunsArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let said = store;
    let store = match settings::open_store_to_read(said) {
        // Nobody has run anything yet, which is an answer and not a mistake.
        Err(error) if error.code == Code::StoreMissing && said.is_none() => {
            output::stderr(NO_RUNS);
            return Ok(ExitCode::SUCCESS);
        }
        opened => opened?,
    };
    let filter = ListFilter {
        prefix: None,
        limit: args.limit,
    };
    let listed = store.list(filter).await?;
    let listed = with_status(&*store, listed).await;
    if args.json {
        for (one, status) in &listed {
            output::stdout(&json_line(one, *status));
        }
    } else if listed.is_empty() {
        output::stderr(NO_RUNS);
    } else {
        output::stdout(&table(&listed));
    }
    Ok(ExitCode::SUCCESS)
}

/// A run of the list as one line of JSON.
pub(crate) fn json_line(listed: &Listed, status: Option<Status>) -> String {
    match (status, &listed.ends) {
        (Some(status), Ok(ends)) => json::listed(listed, ends, status),
        _ => json::no_result(listed.run.as_str(), DAMAGED, "the log is damaged"),
    }
}

/// A log that cannot be read has no status of its own. A run that nobody drives may wait for a person in an
/// agent that it called: only its log says so.
pub(crate) async fn status(store: &dyn Store, listed: &Listed) -> Option<Status> {
    let ends = listed.ends.as_ref().ok()?;
    let status = match &ends.last.event {
        Event::RunEnded(ended) => Status::of(Some(ended.termination.kind), &listed.held),
        Event::ReviewAsked { .. } => Status::AwaitingReview,
        _ => Status::of(None, &listed.held),
    };
    if status != Status::Interrupted || !calls_agents(&ends.first) {
        return Some(status);
    }
    let waits = async {
        let run = load_run(store, &listed.run).await?;
        Waiting::of(store, &run).await
    };
    // What cannot be read now is told by the commands that need it.
    match waits.await {
        Ok(Some(_)) => Some(Status::AwaitingReview),
        _ => Some(status),
    }
}

fn calls_agents(first: &Entry) -> bool {
    let Event::RunStarted(started) = &first.event else {
        return false;
    };
    let agent = started.config.agent.as_ref();
    agent.is_some_and(|agent| !agent.agents.is_empty())
}

async fn with_status(store: &dyn Store, listed: Vec<Listed>) -> Vec<(Listed, Option<Status>)> {
    let mut with_status = Vec::with_capacity(listed.len());
    for one in listed {
        let status = status(store, &one).await;
        with_status.push((one, status));
    }
    with_status
}

fn table(listed: &[(Listed, Option<Status>)]) -> String {
    let titles = [
        ("RUN", Side::Left),
        ("STATUS", Side::Left),
        ("STARTED", Side::Left),
        ("TURNS", Side::Right),
        ("TOKENS", Side::Right),
        ("COST", Side::Right),
        ("GOAL", Side::Left),
    ];
    table::table(titles, listed.iter().map(|(one, status)| row(one, *status)))
}

fn row(one: &Listed, status: Option<Status>) -> [String; 7] {
    let id = text::short_id(&one.run).to_owned();
    let (Some(status), Ok(ends)) = (status, &one.ends) else {
        let hint = format!("bonded verify {id}");
        let none = String::new;
        return [id, DAMAGED.into(), none(), none(), none(), none(), hint];
    };
    let goal = match &ends.first.event {
        Event::RunStarted(started) => match &started.refused {
            Some(why) => format!(
                "{}: {}",
                text::brief(&started.goal, 30),
                text::brief(why, 80)
            ),
            None => text::brief(&started.goal, 60),
        },
        _ => String::new(),
    };
    let (tokens, cost) = match &ends.last.event {
        Event::RunEnded(ended) => {
            let (used, paid) = ended.used();
            let paid = text::cost(paid).unwrap_or_default();
            (text::grouped(used.total()), paid)
        }
        _ => (String::new(), String::new()),
    };
    [
        id,
        status.as_str().to_owned(),
        text::local_time(ends.first.at),
        ends.last.turn.to_string(),
        tokens,
        cost,
        goal,
    ]
}
