//! What the page of a run shows above its entries.

use bonded_host::shapes::json::held_value;
use bonded_host::shapes::listing;
use bonded_host::{PendingReview, RunResult};
use bonded_kernel::Run;
use bonded_state::Listed;
use serde::Serialize;
use serde_json::Value;

use super::Console;
use super::access::{self, Access};
use super::inbox::WaitingDto;
use super::reading::{ChildDto, ReadRun};
use super::refusal::ConsoleRefusal;
use super::rows::{self, RunRowDto};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Run"))]
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
    /// The run that called this one.
    parent: Option<String>,
    /// The runs that calls of this one began.
    children: Vec<ChildDto>,
    /// Of a work item, which its plan alone goes on with.
    plan: Option<String>,
    item: Option<String>,
    /// Which of approve, cancel, fork and resume this person may do at all.
    may: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Sandbox"))]
pub(super) struct SandboxDto {
    pub(super) level: String,
    pub(super) network: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Tool"))]
struct ToolDto {
    name: String,
    effect: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Usage"))]
struct UsageDto {
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Chain"))]
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

/// Everything but the entries. A damaged log is said to be damaged.
pub(super) async fn show(
    console: &Console,
    access: &Access,
    listed: &Listed,
) -> Result<RunPageDto, ConsoleRefusal> {
    let host = &console.host;
    let status = listing::status(&*host.store, listed).await;
    let read = ReadRun::of(host, &listed.run).await?;
    let row = rows::row_of_run(host, listed, status, &read.run).await;
    let may = access::offers(access, listed).await;
    let pending = match PendingReview::of(&*host.store, &read.run).await? {
        Some(waits) if waits.run == listed.run => Some(WaitingDto::of(&read, &waits, may.clone())),
        Some(waits) => {
            let below = ReadRun::of(host, &waits.run).await?;
            Some(WaitingDto::of(&below, &waits, may.clone()))
        }
        None => None,
    };
    Ok(RunPageDto::of(row, &read.run, read.children, pending, may))
}

impl RunPageDto {
    fn of(
        row: RunRowDto,
        run: &Run,
        children: Vec<ChildDto>,
        pending: Option<WaitingDto>,
        may: Vec<&'static str>,
    ) -> Self {
        let (spend, config, head) = (run.spend(), run.config(), run.head());
        let (used, _) = spend.used();
        let answer = run.termination().and_then(|_| RunResult::of(run));
        let targets = config.targets.iter();
        let tools = run.catalog().specs().map(|spec| ToolDto {
            name: spec.name.to_string(),
            effect: spec.effect.as_str(),
        });
        let item = config.item.as_ref();
        Self {
            row,
            whole_goal: run.goal().to_string(),
            system: run.system().to_string(),
            directory: config.dir.clone(),
            sandbox: SandboxDto::of(run),
            models: targets
                .map(|it| format!("{}/{}", it.provider, it.model))
                .collect(),
            tools: tools.collect(),
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
            children,
            plan: item.map(|it| it.plan.clone()),
            item: item.map(|it| it.item.clone()),
            may,
        }
    }
}
