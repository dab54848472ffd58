//! Plans of work items and what became of their items, as far as files and logs say it.

use std::collections::BTreeMap;

use bonded_host::Status;
use bonded_host::shapes::listing;
use bonded_state::{ListFilter, Store};
use bonded_work::{KeptItem, KeptPlan, PlanId, Workshop, plans_beginning};
use bonded_work_rules::{Constraints, ItemId, Metrics, WorkItem, WorkStatus};
use serde::Serialize;

use super::refusal::ConsoleRefusal;

/// So many of the newest are listed.
const PLANS_MAX: usize = 200;
/// Of one plan, runs that are looked at.
const RUNS_MAX: usize = 10_000;
/// How the error of an item begins that never ran.
const BLOCKED: &str = "Blocked by dependency";

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PlanList"))]
pub(super) struct PlanListDto {
    plans: Vec<PlanRowDto>,
    more: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PlanRow"))]
struct PlanRowDto {
    id: String,
    /// The directory that it works on.
    tree: String,
    started_at: u64,
    ended: bool,
    items: usize,
    /// How many items there are in each state.
    states: BTreeMap<&'static str, usize>,
    /// Why nothing more can be said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Plan"))]
pub(super) struct PlanDto {
    id: String,
    tree: String,
    started_at: u64,
    ended: bool,
    states: BTreeMap<&'static str, usize>,
    /// The ids of items that run side by side, level after level.
    levels: Vec<Vec<String>>,
    items: Vec<ItemDto>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Item"))]
pub(super) struct ItemDto {
    id: String,
    description: String,
    agent: String,
    dependencies: Vec<String>,
    level: usize,
    /// queued, running, waiting, interrupted, testing, sealing, success, failure, denied, timeout or blocked
    state: &'static str,
    why: Option<String>,
    limits: ItemLimitsDto,
    test_command: Option<String>,
    /// The oldest first.
    run_ids: Vec<String>,
    receipt_id: Option<String>,
    published: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ItemLimits"))]
struct ItemLimitsDto {
    files: UsedDto,
    tool_ops: UsedDto,
    delta: UsedDto,
    time_ms: UsedDto,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Used"))]
struct UsedDto {
    max: u64,
    /// Null until the item is sealed.
    used: Option<u64>,
}

impl ItemLimitsDto {
    fn of(limits: &Constraints, metrics: Option<&Metrics>) -> Self {
        let used = |max: u64, used: fn(&Metrics) -> u64| UsedDto {
            max,
            used: metrics.map(used),
        };
        Self {
            files: used(limits.max_files, |it| it.files_touched),
            tool_ops: used(limits.max_tool_ops, |it| it.tool_ops_count),
            delta: used(limits.max_delta_size, |it| it.delta_size),
            time_ms: used(limits.timeout_ms, |it| it.execution_time_ms),
        }
    }
}

/// The runs of each item of a plan, the oldest first, with how each stands.
pub(super) struct ItemRuns(BTreeMap<String, Vec<(String, Option<Status>)>>);

impl ItemRuns {
    /// The ids of the runs begin with that of the plan.
    async fn of(store: &dyn Store, plan: &PlanId) -> Result<Self, ConsoleRefusal> {
        let filter = ListFilter {
            prefix: Some(format!("{plan}.")),
            limit: RUNS_MAX,
        };
        let mut runs: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for listed in store.list(filter).await?.iter().rev() {
            let started = listed.ends.as_ref().ok();
            let started = started.and_then(|ends| ends.first.event.started());
            let Some(item) = started.and_then(|it| it.config.item.as_ref()) else {
                continue;
            };
            let status = listing::status(store, listed).await;
            let runs = runs.entry(item.item.clone()).or_default();
            runs.push((listed.run.to_string(), status));
        }
        Ok(Self(runs))
    }

    fn of_item(&self, item: &ItemId) -> &[(String, Option<Status>)] {
        self.0.get(item.as_str()).map_or(&[], Vec::as_slice)
    }
}

/// How an item stands: what its files say, else what the log of its last run says.
fn state_of(kept: &KeptItem, runs: &[(String, Option<Status>)]) -> &'static str {
    match kept {
        KeptItem::Sealed(sealed) if is_blocked(sealed.ended.why.as_deref()) => "blocked",
        KeptItem::Sealed(sealed) => sealed.ended.status.as_str(),
        KeptItem::Ended(_) => "sealing",
        KeptItem::Begun { is_tested: true } => "testing",
        KeptItem::Begun { is_tested: false } => match runs.last().and_then(|(_, status)| *status) {
            None | Some(Status::Queued) => "queued",
            Some(Status::AwaitingReview) => "waiting",
            Some(Status::Interrupted) => "interrupted",
            Some(
                Status::Running
                | Status::AwaitingClient
                | Status::Succeeded
                | Status::Failed
                | Status::TimedOut
                | Status::Cancelled
                | Status::Denied,
            ) => "running",
        },
    }
}

fn is_blocked(why: Option<&str>) -> bool {
    why.is_some_and(|why| why.starts_with(BLOCKED))
}

/// The newest plans.
pub(super) async fn list(
    store: &dyn Store,
    workshop: &Workshop,
) -> Result<PlanListDto, ConsoleRefusal> {
    let ids = plans_beginning(workshop, "").map_err(|error| ConsoleRefusal::fault(&error))?;
    let mut plans = vec![];
    for id in ids {
        match KeptPlan::read(workshop, &id) {
            Ok(Some(kept)) => plans.push((kept.record.started_at.0, id, Ok(kept))),
            Ok(None) => {}
            Err(error) => plans.push((0, id, Err(error.to_string()))),
        }
    }
    plans.sort_by(|a, b| (b.0, &b.1).cmp(&(a.0, &a.1)));
    let more = plans.len() > PLANS_MAX;
    plans.truncate(PLANS_MAX);
    let mut rows = vec![];
    for (_, id, kept) in plans {
        rows.push(match kept {
            Ok(kept) => row(store, workshop, &kept).await?,
            Err(fault) => PlanRowDto::damaged(&id, fault),
        });
    }
    Ok(PlanListDto { plans: rows, more })
}

impl PlanRowDto {
    fn damaged(id: &PlanId, fault: String) -> Self {
        Self {
            id: id.to_string(),
            tree: String::new(),
            started_at: 0,
            ended: false,
            items: 0,
            states: BTreeMap::new(),
            fault: Some(fault),
        }
    }
}

async fn row(
    store: &dyn Store,
    workshop: &Workshop,
    kept: &KeptPlan,
) -> Result<PlanRowDto, ConsoleRefusal> {
    let plan = PlanDto::of(store, workshop, kept).await?;
    Ok(PlanRowDto {
        id: plan.id,
        tree: plan.tree,
        started_at: plan.started_at,
        ended: plan.ended,
        items: plan.items.len(),
        states: plan.states,
        fault: None,
    })
}

/// The plan that an address names.
pub(super) fn find(workshop: &Workshop, named: &str) -> Result<KeptPlan, ConsoleRefusal> {
    let missing = || {
        let shown: String = named.chars().take(64).collect();
        ConsoleRefusal::missing(format!("there is no plan {shown}"))
    };
    let id = PlanId::new(named).map_err(|_| missing())?;
    match KeptPlan::read(workshop, &id) {
        Ok(kept) => kept.ok_or_else(missing),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err(ConsoleRefusal::conflict(error.to_string()))
        }
        Err(error) => Err(ConsoleRefusal::fault(&error)),
    }
}

impl PlanDto {
    pub(super) async fn of(
        store: &dyn Store,
        workshop: &Workshop,
        kept: &KeptPlan,
    ) -> Result<Self, ConsoleRefusal> {
        let record = &kept.record;
        let runs = ItemRuns::of(store, &record.id).await?;
        let mut items = vec![];
        for item in kept.plan.items() {
            items.push(ItemDto::of(workshop, kept, item, &runs)?.0);
        }
        let mut states = BTreeMap::new();
        for item in &items {
            *states.entry(item.state).or_default() += 1;
        }
        let levels = kept.plan.levels().into_iter();
        let ids = |level: Vec<&WorkItem>| level.iter().map(|it| it.id.to_string()).collect();
        Ok(Self {
            id: record.id.to_string(),
            tree: record.root.to_string_lossy().into_owned(),
            started_at: record.started_at.0,
            ended: kept.has_ended,
            states,
            levels: levels.map(ids).collect(),
            items,
        })
    }
}

impl ItemDto {
    pub(super) fn state(&self) -> &'static str {
        self.state
    }

    fn of(
        workshop: &Workshop,
        plan: &KeptPlan,
        item: &WorkItem,
        runs: &ItemRuns,
    ) -> Result<(Self, KeptItem), ConsoleRefusal> {
        let kept = KeptItem::read(workshop, &plan.record.id, &item.id);
        let kept = kept.map_err(|error| ConsoleRefusal::fault(&error))?;
        let runs = runs.of_item(&item.id);
        let levels = plan.plan.levels();
        let mut at = levels.iter();
        let level = at.position(|level| level.iter().any(|it| it.id == item.id));
        let (sealed, why) = match &kept {
            KeptItem::Sealed(sealed) => (Some(sealed), sealed.ended.why.clone()),
            KeptItem::Ended(ended) => (None, ended.why.clone()),
            KeptItem::Begun { .. } => (None, None),
        };
        let shown = Self {
            id: item.id.to_string(),
            description: item.description.clone(),
            agent: item.agent_id.to_string(),
            dependencies: item.dependencies.iter().map(ItemId::to_string).collect(),
            level: level.unwrap_or(0),
            state: state_of(&kept, runs),
            why,
            limits: ItemLimitsDto::of(&item.constraints, sealed.map(|it| &it.result.metrics)),
            test_command: item.test_command.clone(),
            run_ids: runs.iter().map(|(run, _)| run.clone()).collect(),
            receipt_id: sealed.map(|it| it.result.receipt_id.clone()),
            published: sealed.is_some_and(|it| it.ended.status == WorkStatus::Success),
        };
        Ok((shown, kept))
    }

    /// One item of a plan.
    pub(super) async fn find(
        store: &dyn Store,
        workshop: &Workshop,
        plan: &KeptPlan,
        named: &str,
    ) -> Result<(Self, KeptItem), ConsoleRefusal> {
        let mut items = plan.plan.items().iter();
        let item = items.find(|item| item.id.as_str() == named);
        let item = item.ok_or_else(|| {
            let shown: String = named.chars().take(64).collect();
            ConsoleRefusal::missing(format!("plan {} has no item {shown}", plan.record.id))
        })?;
        let runs = ItemRuns::of(store, &plan.record.id).await?;
        Self::of(workshop, plan, item, &runs)
    }
}
