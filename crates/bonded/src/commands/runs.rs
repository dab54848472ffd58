//! `bonded runs`: the list.
//!
//! Each line is made from the first and the last entry of a log, so that a store of many long runs is listed fast.
//! A log that is damaged is listed as such: one bad run hides no other. Runs of rules lie in the data directory of their
//! workspace; they stand among the others, by when they began. Which data directories there are is noted when one is made
//! or served; one that cannot be read is named and hides nothing. A store that is named is listed alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_host::Status;
use bonded_host::shapes::listing::{Beginning, DAMAGED, json_line_from, status};
use bonded_host::shapes::text;
use bonded_kernel::{Millis, RunEnded, RunId};
use bonded_serve::workspace::data_dir::DataDir;
use bonded_serve::workspace::known_dirs::KnownDir;
use bonded_state::{ListFilter, Listed, Store};
use bonded_workspace::store::{Page, RunFilter};
use serde_json::{Value, json};

use crate::args::RunsArgs;
use crate::error::{CliError, Code, store_error};
use crate::render::run_table::{self, ListedRun};
use crate::render::table::{self, Side};
use crate::style::{Look, Stream};
use crate::workspace::place;
use crate::{output, settings};

const NO_RUNS: &str = "no runs yet; start one with `bonded run`, or try `bonded demo`";

/// A run of the list.
struct ListedRow {
    listed: Listed,
    /// `None` where its log cannot be read.
    status: Option<Status>,
    beginning: Option<Beginning>,
    /// The data directory that it lies in.
    data: Option<PathBuf>,
    /// What it waits for in its queue.
    waits_for: Option<String>,
}

pub(crate) async fn runs(args: &RunsArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let mut rows = match settings::open_store_to_read(store) {
        // Nobody has run anything yet, which is an answer and not a mistake.
        Err(error) if error.code == Code::StoreMissing && store.is_none() => vec![],
        opened => rows_of(&*opened?, args.limit).await?,
    };
    add_waits(&mut rows, store).await?;
    match &args.data {
        Some(dir) => add_rules(&mut rows, &place::open(dir)?, store, args.limit).await?,
        None if store.is_none() => add_known(&mut rows, args.limit).await,
        None => {}
    }
    if args.json {
        for row in &rows {
            output::stdout(&json_line_from(
                &row.listed,
                row.status,
                row.begun_by(),
                row.waits_for.as_deref(),
            ));
        }
    } else if rows.is_empty() {
        output::stderr(NO_RUNS);
    } else if Look::of(Stream::Out).terminal {
        let runs = rows
            .iter()
            .map(|row| ListedRun::of(&row.listed, row.status, row.label()));
        run_table::print(&runs.collect::<Vec<_>>());
    } else {
        output::stdout(&table(&rows));
    }
    Ok(ExitCode::SUCCESS)
}

/// The status of a run that has not ended depends on whether somebody drives it just now, which only the store
/// knows.
async fn rows_of(store: &dyn Store, limit: usize) -> Result<Vec<ListedRow>, CliError> {
    let filter = ListFilter {
        prefix: None,
        limit,
    };
    let listed = store.list(filter).await?;
    let mut rows = Vec::with_capacity(listed.len());
    for listed in listed {
        let status = status(store, &listed).await;
        let first = listed.ends.as_ref().ok().map(|ends| &ends.first);
        let beginning = first.and_then(Beginning::of);
        rows.push(ListedRow {
            listed,
            status,
            beginning,
            data: None,
            waits_for: None,
        });
    }
    Ok(rows)
}

/// Says of each queued run what it waits for.
async fn add_waits(rows: &mut [ListedRow], store: Option<&Path>) -> Result<(), CliError> {
    let queued = rows.iter().filter(|row| row.status == Some(Status::Queued));
    let queued: Vec<RunId> = queued.map(|row| row.listed.run.clone()).collect();
    if queued.is_empty() {
        return Ok(());
    }
    let waits = settings::waits(store, queued).await?;
    for row in rows {
        row.waits_for = waits.get(&row.listed.run).cloned();
    }
    Ok(())
}

/// Adds the runs of a data directory, and says of each run which rule it is of. A server may have been told to keep them
/// in the store that is listed anyway.
async fn add_rules(
    rows: &mut Vec<ListedRow>,
    dir: &DataDir,
    store: Option<&Path>,
    limit: usize,
) -> Result<(), CliError> {
    let file = dir.runs_file();
    let is_on_server = settings::store_address(Some(&file))?.is_some();
    let is_listed = settings::store_path(store)? == settings::store_path(Some(&file))?;
    if (is_on_server || file.exists()) && !is_listed {
        let store = settings::open_store_to_read(Some(&file))?;
        let there = rows_of(&*store, limit).await?;
        let path = dir.path().canonicalize();
        let path = path.unwrap_or_else(|_| dir.path().to_owned());
        rows.extend(there.into_iter().map(|row| ListedRow {
            data: Some(path.clone()),
            ..row
        }));
        rows.sort_by_key(|row| std::cmp::Reverse(row.began()));
        rows.truncate(limit);
    }
    let names = rule_names(dir, limit).await?;
    for row in rows {
        if let Some(name) = names.get(&row.listed.run) {
            row.beginning = Some(Beginning::Rule(name.clone()));
        }
    }
    Ok(())
}

/// Adds the runs of the data directories that were noted.
async fn add_known(rows: &mut Vec<ListedRow>, limit: usize) {
    for known in settings::known_dirs() {
        let (dir, why) = match known {
            KnownDir::Open(dir) => match add_rules(rows, &dir, None, limit).await {
                Ok(()) => continue,
                Err(error) => (dir.path().to_owned(), error.message().to_owned()),
            },
            KnownDir::Closed { dir, why } => (dir, why.to_owned()),
        };
        output::stderr(&format!("not listed: the runs of {}: {why}", dir.display()));
    }
}

/// The name of the rule of each run, else its id.
async fn rule_names(dir: &DataDir, limit: usize) -> Result<BTreeMap<RunId, String>, CliError> {
    let store = dir.open_store_to_read()?;
    let filter = RunFilter {
        workspace: None,
        rule: None,
        status: None,
        page: Page {
            limit: limit as u64,
            offset: 0,
        },
    };
    let runs = store.runs(filter).await.map_err(store_error)?;
    let mut names = BTreeMap::new();
    for run in runs {
        let rule = store.rule(run.rule_id).await.map_err(store_error)?;
        let name = rule.and_then(|rule| rule.rule.draft.name);
        let id = run.rule_id.to_string();
        let name = name.unwrap_or_else(|| id.chars().take(8).collect());
        names.insert(run.run_id, name);
    }
    Ok(names)
}

impl ListedRow {
    /// What began it and where it lies, for programs.
    fn begun_by(&self) -> Option<Value> {
        let beginning = self.beginning.as_ref().map(Beginning::json);
        let Some(data) = &self.data else {
            return beginning;
        };
        let mut from = beginning.unwrap_or_else(|| json!({ "kind": "workspace" }));
        from["data"] = json!(data);
        Some(from)
    }

    /// The same before a goal.
    fn label(&self) -> Option<String> {
        if let Some(waits_for) = &self.waits_for {
            return Some(format!("waits for {waits_for}"));
        }
        let data = self.data.as_deref().and_then(Path::file_name);
        let data = data.map(|name| name.to_string_lossy());
        match (self.beginning.as_ref().map(Beginning::label), data) {
            (Some(label), Some(data)) => Some(format!("{label} in {data}")),
            (Some(label), None) => Some(label),
            (None, data) => data.map(|data| format!("in {data}")),
        }
    }

    /// What cannot be read stands last.
    fn began(&self) -> Option<Millis> {
        self.listed.ends.as_ref().ok().map(|ends| ends.first.at)
    }
}

fn table(rows: &[ListedRow]) -> String {
    let titles = [
        ("RUN", Side::Left),
        ("STATUS", Side::Left),
        ("STARTED", Side::Left),
        ("TURNS", Side::Right),
        ("TOKENS", Side::Right),
        ("COST", Side::Right),
        ("GOAL", Side::Left),
    ];
    table::table(titles, rows.iter().map(cells))
}

/// Tokens and cost are known at the end only; until then they are empty. What began a run stands before its goal.
fn cells(row: &ListedRow) -> [String; 7] {
    let id = text::short_id(&row.listed.run).to_owned();
    let (Some(status), Ok(ends)) = (row.status, &row.listed.ends) else {
        let hint = format!("bonded verify {id}");
        let none = String::new;
        return [id, DAMAGED.into(), none(), none(), none(), none(), hint];
    };
    let goal = ends.first.event.started().map(|it| match &it.refused {
        Some(why) => format!("{}: {}", text::brief(&it.goal, 30), text::brief(why, 80)),
        None => text::brief(&it.goal, 60),
    });
    let goal = goal.unwrap_or_default();
    let goal = match row.label() {
        Some(label) => format!("{}: {goal}", text::brief(&label, 40)),
        None => goal,
    };
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
        goal,
    ]
}
