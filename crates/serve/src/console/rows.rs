//! Runs of the list: most of a row comes from the first and the last entry of a log, so that a long list is quick.
//! Only of runs on the page that have not ended is the log read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bonded_host::shapes::listing::{self, Beginning, DAMAGED};
use bonded_host::shapes::text::brief;
use bonded_host::{Host, PendingReview, Status};
use bonded_kernel::{Effect, Limits, Run, RunConfig, RunStarted, next};
use bonded_state::{Ends, ListFilter, Listed};
use serde::Serialize;
use serde_json::Value;

use super::Console;
use super::access::{self, Access};
use super::refusal::ConsoleRefusal;
use crate::json_api::query::Query;

/// So many of the newest runs are looked at; a person who wants an older one has its id.
const LOOKED_AT_MAX: usize = 2_000;
/// A row shows one line.
const GOAL_CHARS_MAX: usize = 300;
const ACTIVITY_CHARS_MAX: usize = 200;
/// The states of the filter, and what of the contract's statuses each stands for.
pub(super) const STATES: [&str; 7] = [
    "waiting",
    "running",
    "interrupted",
    "failed",
    "limit",
    "done",
    "cancelled",
];

/// Rows of the list where nobody says how many.
const ROWS: u64 = 50;
const ROWS_MAX: u64 = 200;

/// What of the list is wanted.
#[derive(Debug)]
pub(super) struct ListQuery {
    limit: usize,
    /// Only what stands behind this in the list.
    before: Option<Place>,
    /// Words that the goal, the id or the agent must hold.
    text: String,
    /// One of `STATES`.
    state: Option<String>,
    agent: Option<String>,
    /// Only what began at this moment or later, in milliseconds.
    since: u64,
    untrusted: Option<bool>,
}

/// A place in the list: when a run began, and among those of one millisecond its id.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u64, String);

impl Place {
    fn of(listed: &Listed) -> Self {
        Self(began(listed), listed.run.to_string())
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.0, self.1)
    }
}

/// A moment alone stands before all that began then.
impl std::str::FromStr for Place {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (moment, run) = text.split_once('-').unwrap_or((text, ""));
        Ok(Self(moment.parse()?, run.to_owned()))
    }
}

impl ListQuery {
    pub(super) fn read(query: &Query) -> Result<Self, ConsoleRefusal> {
        let text = |name: &str| query.text(name).filter(|it| !it.is_empty());
        let state = text("state");
        if let Some(state) = state.filter(|it| !STATES.contains(it)) {
            let states = STATES.join(", ");
            let message = format!("there is no state {state:?}; the states are {states}");
            return Err(ConsoleRefusal::bad_request(message));
        }
        Ok(Self {
            limit: query.number("limit", ROWS, 1..=ROWS_MAX)? as usize,
            before: query.read("before", "what `next` of the list before says")?,
            text: text("q").unwrap_or_default().to_lowercase(),
            state: state.map(str::to_owned),
            agent: text("agent").map(str::to_owned),
            since: query.number("since", 0, 0..=u64::MAX)?,
            untrusted: query.read("untrusted", "true or false")?,
        })
    }

    /// What the first entry of a log says decides.
    fn fits(&self, listed: &Listed) -> bool {
        let began_late = began(listed) >= self.since;
        let is_agent = self.agent.is_none() || agent_of(listed) == self.agent.as_deref();
        began_late && is_agent && has_text(listed, &self.text)
    }

    fn is_reached(&self, place: &Place) -> bool {
        self.before.as_ref().is_none_or(|before| place < before)
    }
}

/// The newest runs that a person sees.
pub(super) async fn newest(host: &Host, access: &Access) -> Result<Vec<Listed>, ConsoleRefusal> {
    let filter = ListFilter {
        prefix: None,
        limit: LOOKED_AT_MAX,
    };
    access::seen(access, host.store.list(filter).await?).await
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RunList"))]
pub(super) struct RunListDto {
    runs: Vec<RunRowDto>,
    more: bool,
    /// Passed as `before`, it gives the rows after these; null where there are no more.
    next: Option<String>,
    /// How many runs there are of each state.
    counts: BTreeMap<&'static str, usize>,
    /// How many of the newest runs were looked at.
    counted: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RunRow"))]
pub(super) struct RunRowDto {
    run_id: String,
    status: &'static str,
    state: &'static str,
    goal: String,
    agent: Option<String>,
    model: Option<String>,
    started_at: u64,
    updated_at: u64,
    turns: u32,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
    limits: LimitsDto,
    #[serde(skip_serializing_if = "Option::is_none")]
    termination: Option<TerminationDto>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    activity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<WaitingRowDto>,
    untrusted: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RunLimits"))]
pub(super) struct LimitsDto {
    turns: u32,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
    time_ms: Option<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Termination"))]
struct TerminationDto {
    kind: &'static str,
    reason: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "WaitingRow"))]
struct WaitingRowDto {
    tool: String,
    turn: u32,
    call: u32,
    since: u64,
}

impl From<&Limits> for LimitsDto {
    fn from(limits: &Limits) -> Self {
        Self {
            turns: limits.turns_max,
            tokens: limits.tokens_max,
            cost_usd: limits.cost_max.map(|it| it.dollars()),
            time_ms: limits.elapsed_ms_max,
        }
    }
}

/// The newest runs that fit the query, and how many there are of each state.
pub(super) async fn list(
    console: &Console,
    access: &Access,
    query: &ListQuery,
) -> Result<RunListDto, ConsoleRefusal> {
    let mut listed = newest(&console.host, access).await?;
    let counted = listed.len();
    listed.retain(|one| query.fits(one));
    // Runs that began in one millisecond have an order too, or a page could end between them.
    listed.sort_by_cached_key(|one| Reverse(Place::of(one)));
    let mut counts = BTreeMap::from([("all", 0)]);
    let (mut runs, mut next, mut more) = (vec![], None, false);
    for one in &listed {
        let status = listing::status(&*console.host.store, one).await;
        let state = state_of(one, status);
        *counts.entry("all").or_default() += 1;
        *counts.entry(state).or_default() += 1;
        let place = Place::of(one);
        let is_state = query.state.as_deref().is_none_or(|it| it == state);
        if more
            || !is_state
            || !query.is_reached(&place)
            || !is_marked_so(console, query, one).await
        {
            continue;
        }
        if runs.len() < query.limit {
            runs.push(row(console, one, status).await);
            next = Some(place.to_string());
        } else {
            more = true;
        }
    }
    Ok(RunListDto {
        runs,
        next: next.filter(|_| more),
        more,
        counts,
        counted,
    })
}

async fn is_marked_so(console: &Console, query: &ListQuery, one: &Listed) -> bool {
    match query.untrusted {
        Some(wanted) => console.marks.of(&console.host, one).await == wanted,
        None => true,
    }
}

/// The row of one run, whose log may be damaged.
async fn row(console: &Console, listed: &Listed, status: Option<Status>) -> RunRowDto {
    let host = &console.host;
    let Ok(ends) = &listed.ends else {
        return RunRowDto::damaged(listed);
    };
    if ends.last.event.ended().is_none()
        && let Ok(run) = host.load(&listed.run).await
    {
        return row_of_run(host, listed, status, &run).await;
    }
    let mut row = RunRowDto::of_ends(listed, ends, status);
    row.untrusted = console.marks.of(host, listed).await;
    row
}

/// The same where the whole log was read.
pub(super) async fn row_of_run(
    host: &Host,
    listed: &Listed,
    status: Option<Status>,
    run: &Run,
) -> RunRowDto {
    let Ok(ends) = &listed.ends else {
        return RunRowDto::damaged(listed);
    };
    let mut row = RunRowDto::of_ends(listed, ends, status);
    row.untrusted = run.marked_by().is_some();
    if ends.last.event.ended().is_none() {
        row.add_run(host, run).await;
    }
    row
}

impl RunRowDto {
    /// What the first and the last entry say.
    fn of_ends(listed: &Listed, ends: &Ends, status: Option<Status>) -> Self {
        let started = ends.first.event.started();
        let config = started.map(|it| &it.config);
        let ended = ends.last.event.ended();
        let spent = ended.map(|it| it.used());
        Self {
            run_id: listed.run.to_string(),
            status: status.map_or(DAMAGED, Status::as_str),
            state: state_of(listed, status),
            goal: started.map_or_else(String::new, |it| brief(&it.goal, GOAL_CHARS_MAX)),
            agent: agent_of(listed).map(str::to_owned),
            model: config.and_then(model_of),
            started_at: ends.first.at.0,
            updated_at: ends.last.at.0,
            turns: ends.last.turn,
            tokens: spent.map(|(used, _)| used.total()),
            cost_usd: spent.map(|(_, paid)| paid.dollars()),
            limits: LimitsDto::from(&config.map(|it| it.limits.clone()).unwrap_or_default()),
            termination: ended.map(|it| TerminationDto {
                kind: it.termination.kind.as_str(),
                reason: brief(it.termination.reason(), ACTIVITY_CHARS_MAX),
            }),
            from: Beginning::of(&ends.first).map(|it| it.json()),
            activity: None,
            waiting: None,
            untrusted: false,
        }
    }

    fn damaged(listed: &Listed) -> Self {
        Self {
            run_id: listed.run.to_string(),
            status: DAMAGED,
            state: "failed",
            goal: String::new(),
            agent: None,
            model: None,
            started_at: 0,
            updated_at: 0,
            turns: 0,
            tokens: None,
            cost_usd: None,
            limits: LimitsDto::from(&Limits::default()),
            termination: None,
            from: None,
            activity: Some("the log is damaged".into()),
            waiting: None,
            untrusted: false,
        }
    }

    /// What only the whole log says.
    async fn add_run(&mut self, host: &Host, run: &Run) {
        let (used, paid) = run.spend().used();
        (self.tokens, self.cost_usd) = (Some(used.total()), Some(paid.dollars()));
        self.activity = Some(activity(run));
        // What cannot be read now is told where it is needed.
        let waits = PendingReview::of(&*host.store, run).await.ok().flatten();
        self.waiting = waits.map(|waits| WaitingRowDto {
            tool: waits.call.tool.to_string(),
            turn: waits.call.turn,
            call: waits.call.call,
            since: run.last_at().0,
        });
    }
}

/// What comes next, in a few words.
fn activity(run: &Run) -> String {
    match next(run) {
        Effect::Ask { .. } => "asking the model".into(),
        Effect::Invoke(invocation) => format!("calling {}", brief(invocation.tool(), 80)),
        Effect::Wait { .. } => "waiting to ask again".into(),
        Effect::Review(_) => "waiting for approval".into(),
        Effect::Stop(_) => "ended".into(),
    }
}

fn model_of(config: &RunConfig) -> Option<String> {
    let first = config.targets.first()?;
    Some(format!("{}/{}", first.provider, first.model))
}

/// A log that cannot be read began before all others.
fn began(listed: &Listed) -> u64 {
    listed.ends.as_ref().map_or(0, |ends| ends.first.at.0)
}

fn started(listed: &Listed) -> Option<&RunStarted> {
    listed.ends.as_ref().ok()?.first.event.started()
}

fn agent_of(listed: &Listed) -> Option<&str> {
    let agent = started(listed)?.config.agent.as_ref()?;
    Some(&agent.name)
}

/// In any case of letters; the text is in small ones.
fn has_text(listed: &Listed, text: &str) -> bool {
    let has = |it: &str| it.to_lowercase().contains(text);
    text.is_empty()
        || listed.run.as_str().to_lowercase().starts_with(text)
        || started(listed).is_some_and(|it| has(&it.goal))
        || agent_of(listed).is_some_and(has)
}

/// What a person filters by.
pub(super) fn state_of(listed: &Listed, status: Option<Status>) -> &'static str {
    use bonded_kernel::TerminationKind::{BudgetExhausted, TimedOut, TurnsExhausted};
    let ended = listed
        .ends
        .as_ref()
        .ok()
        .and_then(|it| it.last.event.ended());
    let kind = ended.map(|it| it.termination.kind);
    match status {
        Some(Status::AwaitingReview) => "waiting",
        Some(Status::Running | Status::Queued | Status::AwaitingClient) => "running",
        Some(Status::Interrupted) => "interrupted",
        Some(Status::Cancelled) => "cancelled",
        Some(Status::Succeeded) => "done",
        Some(Status::TimedOut) => "limit",
        Some(Status::Failed)
            if matches!(kind, Some(BudgetExhausted | TimedOut | TurnsExhausted)) =>
        {
            "limit"
        }
        Some(Status::Failed | Status::Denied) | None => "failed",
    }
}
