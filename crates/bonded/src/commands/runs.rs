//! `bonded runs`: the list.
//!
//! Each line is made from the first and the last entry of a log, so that a store of many long runs is listed fast.
//! A log that is damaged is listed as such: one bad run hides no other.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::Status;
use bonded_kernel::RunEnded;
use bonded_state::{ListFilter, Listed, Store};

use crate::args::RunsArgs;
use crate::error::{CliError, Code};
use crate::render::run_table;
use crate::render::style::{Look, Stream};
use crate::render::table::{self, Side};
use bonded_host::shapes::listing::{json_line, status};
use bonded_host::shapes::text;

use crate::{output, settings};

use bonded_host::shapes::listing::DAMAGED;
const NO_RUNS: &str = "no runs yet; start one with `bonded run`, or try `bonded demo`";

pub(crate) async fn runs(args: &RunsArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let argument = store;
    let store = match settings::open_store_to_read(argument) {
        // Nobody has run anything yet, which is an answer and not a mistake.
        Err(error) if error.code == Code::StoreMissing && argument.is_none() => {
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
    } else if Look::of(Stream::Out).terminal {
        run_table::print(&listed);
    } else {
        output::stdout(&table(&listed));
    }
    Ok(ExitCode::SUCCESS)
}

/// The status of a run that has not ended depends on whether somebody drives it just now, which only the store
/// knows.
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

/// Tokens and cost are known at the end only; until then they are empty.
fn row(one: &Listed, status: Option<Status>) -> [String; 7] {
    let id = text::short_id(&one.run).to_owned();
    let (Some(status), Ok(ends)) = (status, &one.ends) else {
        let hint = format!("bonded verify {id}");
        let none = String::new;
        return [id, DAMAGED.into(), none(), none(), none(), none(), hint];
    };
    let goal = ends.first.event.started().map(|it| match &it.refused {
        Some(why) => format!("{}: {}", text::brief(&it.goal, 30), text::brief(why, 80)),
        None => text::brief(&it.goal, 60),
    });
    let spent = ends.last.event.ended().map(RunEnded::used);
    let (tokens, cost) = spent.map_or_else(Default::default, |(used, paid)| {
        let paid = text::cost(paid).unwrap_or_default();
        (text::grouped(used.total()), paid)
    });
    [
        id,
        status.as_str().to_owned(),
        text::local_time(ends.first.at),
        ends.last.turn.to_string(),
        tokens,
        cost,
        goal.unwrap_or_default(),
    ]
}
