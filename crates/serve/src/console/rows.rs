//! Runs of the list: most of a row comes from the first and the last entry of a log, so that a long list is quick.
//! Only of runs on the page that have not ended is the log read.

use std::collections::BTreeMap;

use bonded_host::shapes::listing::{self, Beginning, DAMAGED};
use bonded_host::shapes::text::brief;
use bonded_host::{Host, PendingReview, Status};
use bonded_kernel::{Effect, Limits, Run, RunConfig, next};
use bonded_state::{ListFilter, Listed};
use serde::Serialize;
use serde_json::Value;

use super::refusal::ConsoleRefusal;

/// So many of the newest runs are looked at; a person who wants an older one has its id.
const LOOKED_AT_MAX: usize = 2_000;
/// A row shows one line.
const GOAL_CHARS_MAX: usize = 300;
const ACTIVITY_CHARS_MAX: usize = 200;
/// The states of the filter, and what of the contract's statuses each stands for.
const STATES: [&str; 7] = [
    "waiting",
    "running",
    "interrupted",
    "failed",
    "limit",
    "done",
    "cancelled",
];

/// What of the list is wanted.
#[derive(Debug)]
pub(super) struct ListQuery {
    pub(super) limit: usize,
    /// Only what began earlier, in milliseconds.
    pub(super) before: Option<u64>,
    /// Words that the goal, the id or the agent must hold.
    pub(super) text: String,
    /// One of `STATES`.
    pub(super) state: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RunListDto {
    runs: Vec<RunRowDto>,
    more: bool,
    counts: BTreeMap<&'static str, usize>,
    counted: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
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
pub(super) struct LimitsDto {
    turns: u32,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
    time_ms: Option<u64>,
}

#[derive(Debug, Serialize)]
struct TerminationDto {
    kind: &'static str,
    reason: String,
}

#[derive(Debug, Serialize)]
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
pub(super) async fn list(host: &Host, query: &ListQuery) -> Result<RunListDto, ConsoleRefusal> {
    if let Some(state) = &query.state
        && !STATES.contains(&state.as_str())
    {
        let states = STATES.join(", ");
        let message = format!("there is no state {state:?}; the states are {states}");
        return Err(ConsoleRefusal::bad_request(message));
    }
    let filter = ListFilter {
        prefix: None,
        limit: LOOKED_AT_MAX,
    };
    let listed = host.store.list(filter).await?;
    let mut counts = BTreeMap::from([("all", 0)]);
    let (mut runs, mut more) = (vec![], false);
    for one in &listed {
        if !fits(one, &query.text) {
            continue;
        }
        let status = listing::status(&*host.store, one).await;
        let state = state_of(one, status);
        *counts.entry("all").or_default() += 1;
        *counts.entry(state).or_default() += 1;
        let is_earlier = query.before.is_none_or(|before| began(one) < before);
        let is_wanted = query.state.as_deref().is_none_or(|it| it == state);
        if is_earlier && is_wanted && runs.len() < query.limit {
            runs.push(row(host, one, status).await);
        } else {
            more |= is_earlier && is_wanted;
        }
    }
    Ok(RunListDto {
        runs,
        more,
        counts,
        counted: listed.len(),
    })
}

/// The row of one run, whose log may be damaged.
pub(super) async fn row(host: &Host, listed: &Listed, status: Option<Status>) -> RunRowDto {
    let state = state_of(listed, status);
    let Ok(ends) = &listed.ends else {
        return RunRowDto::damaged(listed);
    };
    let started = ends.first.event.started();
    let config = started.map(|it| &it.config);
    let ended = ends.last.event.ended();
    let spent = ended.map(|it| it.used());
    let mut row = RunRowDto {
        run_id: listed.run.to_string(),
        status: status.map_or(DAMAGED, Status::as_str),
        state,
        goal: started.map_or_else(String::new, |it| brief(&it.goal, GOAL_CHARS_MAX)),
        agent: config
            .and_then(|it| it.agent.as_ref())
            .map(|it| it.name.clone()),
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
    };
    if ended.is_none()
        && let Ok(run) = host.load(&listed.run).await
    {
        row.add_run(host, &run).await;
    }
    row
}

impl RunRowDto {
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
        self.untrusted = run.marked_by().is_some();
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

/// In any case of letters.
fn fits(listed: &Listed, text: &str) -> bool {
    if text.is_empty() || listed.run.as_str().starts_with(text) {
        return true;
    }
    let Some(started) = listed
        .ends
        .as_ref()
        .ok()
        .and_then(|it| it.first.event.started())
    else {
        return false;
    };
    let text = text.to_lowercase();
    let agent = started
        .config
        .agent
        .as_ref()
        .map(|it| it.name.to_lowercase());
    started.goal.to_lowercase().contains(&text) || agent.is_some_and(|it| it.contains(&text))
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
        Some(Status::Running) => "running",
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
