//! What the page of a run shows above its entries.

use bonded_host::shapes::json::held_value;
use bonded_host::shapes::listing;
use bonded_host::{Host, PendingReview, RunResult};
use bonded_kernel::{Run, RunId};
use bonded_state::{ListFilter, Listed};
use serde::Serialize;
use serde_json::Value;

use super::inbox::{self, WaitingDto};
use super::refusal::ConsoleRefusal;
use super::rows::{self, RunRowDto};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunPageDto {
    #[serde(flatten)]
    row: RunRowDto,
    /// The goal, which a row shows the beginning of.
    whole_goal: String,
    system: String,
    directory: String,
    sandbox: Option<SandboxDto>,
    models: Vec<String>,
    tools: Vec<ToolDto>,
    usage: UsageDto,
    #[serde(skip_serializing_if = "Value::is_null")]
    held: Value,
    elapsed_ms: u64,
    requests: u32,
    chain: ChainDto,
    answer: Option<String>,
    last_text: Option<String>,
    pending: Option<WaitingDto>,
    parent: Option<String>,
    /// Of a work item, which its plan alone goes on with.
    plan: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct SandboxDto {
    pub(super) level: String,
    pub(super) network: bool,
}

#[derive(Debug, Serialize)]
struct ToolDto {
    name: String,
    effect: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UsageDto {
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
}

#[derive(Debug, Serialize)]
struct ChainDto {
    entries: u64,
    head: String,
}

impl SandboxDto {
    pub(super) fn of(run: &Run) -> Option<Self> {
        let sandbox = run.config().sandbox.as_deref()?;
        Some(Self {
            level: sandbox.level.as_str().to_owned(),
            network: sandbox.network,
        })
    }
}

/// The run whose id begins so; the beginning must be one run's alone.
pub(super) async fn find(host: &Host, named: &str) -> Result<Listed, ConsoleRefusal> {
    let filter = ListFilter {
        prefix: Some(named.to_owned()),
        limit: 2,
    };
    let mut listed = match RunId::new(named) {
        Ok(_) => host.store.list(filter).await?,
        Err(_) => vec![],
    };
    let exact = listed.iter().position(|it| it.run.as_str() == named);
    match (exact, listed.len()) {
        (Some(at), _) => Ok(listed.swap_remove(at)),
        (None, 1) => Ok(listed.swap_remove(0)),
        (None, 0) => Err(ConsoleRefusal::missing(format!("there is no run {named}"))),
        (None, _) => Err(ConsoleRefusal::missing(format!(
            "{named} is the beginning of more than one run"
        ))),
    }
}

/// Everything but the entries. A damaged log is said to be damaged.
pub(super) async fn show(host: &Host, named: &str) -> Result<RunPageDto, ConsoleRefusal> {
    let listed = find(host, named).await?;
    let status = listing::status(&*host.store, &listed).await;
    let row = rows::row(host, &listed, status).await;
    let run = host.load(&listed.run).await?;
    let waits = PendingReview::of(&*host.store, &run).await?;
    let pending = match &waits {
        Some(waits) => Some(inbox::waiting(host, &run, waits).await?),
        None => None,
    };
    let spend = run.spend();
    let (used, _) = spend.used();
    let config = run.config();
    let answer = run.termination().and_then(|_| RunResult::of(&run));
    let head = run.head();
    Ok(RunPageDto {
        row,
        whole_goal: run.goal().to_string(),
        system: run.system().to_string(),
        directory: config.dir.clone(),
        sandbox: SandboxDto::of(&run),
        models: config
            .targets
            .iter()
            .map(|it| format!("{}/{}", it.provider, it.model))
            .collect(),
        tools: run
            .catalog()
            .specs()
            .map(|spec| ToolDto {
                name: spec.name.to_string(),
                effect: spec.effect.as_str(),
            })
            .collect(),
        usage: UsageDto {
            input_tokens: used.input,
            output_tokens: used.output,
            cached_input_tokens: used.cached,
        },
        held: held_value(&spend.held),
        elapsed_ms: run.elapsed_ms(),
        requests: spend.requests,
        chain: ChainDto {
            entries: head.seq,
            head: head.hash.to_string(),
        },
        answer: answer
            .as_ref()
            .filter(|it| it.is_success())
            .map(|it| it.reason.to_string()),
        last_text: run.last_text().map(str::to_owned),
        pending,
        parent: config.parent.as_ref().map(|it| it.run.to_string()),
        plan: config.item.as_ref().map(|it| it.plan.clone()),
    })
}
