//! What became of one work item: its stages, its changes, its tests and its receipt.

use bonded_host::off_the_runtime;
use bonded_kernel::Hash;
use bonded_state::Store;
use bonded_work::{EndedItem, KeptItem, KeptPlan, Workshop};
use bonded_work_rules::{Change, Node, WorkStatus};
use serde::Serialize;
use serde_json::{Value, json};

use super::entries::{CutText, cut};
use super::plans::ItemDto;
use super::refusal::ConsoleRefusal;

/// Of a longer content no text is shown.
const CONTENT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// More changes are counted.
const CHANGES_MAX: usize = 500;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ItemPage"))]
pub(super) struct ItemPageDto {
    #[serde(flatten)]
    item: ItemDto,
    /// run, admission, tests, publish and receipt, in this order.
    stages: Vec<StageDto>,
    /// What was published, or what the run of an item that was not published left in its copy.
    changes: Vec<ChangedDto>,
    changes_left: usize,
    tests: Option<TestsDto>,
    /// The text of the receipt's file, byte for byte.
    receipt: Option<String>,
    receipt_path: Option<String>,
    /// What came of it before it was begun again.
    attempts: Vec<AttemptDto>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Stage"))]
struct StageDto {
    name: &'static str,
    /// done, failed, running, waiting, or none where the item did not come so far
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// When it was over, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Changed"))]
struct ChangedDto {
    path: String,
    /// created, modified or deleted
    kind: &'static str,
    /// How long it is now.
    bytes: Option<u64>,
    /// A text, or `cut` of a long one as in entries; null where there is none that can be shown.
    before: Value,
    after: Value,
    /// Whether it is no text.
    binary: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Tests"))]
struct TestsDto {
    command: String,
    exit_code: Option<i32>,
    passed: Option<u64>,
    failed: Option<u64>,
    ms: u64,
    /// A text, or `cut` of a long one as in entries.
    output: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Attempt"))]
struct AttemptDto {
    run_id: Option<String>,
    status: &'static str,
    error: Option<String>,
    ms: u64,
}

/// Everything that is kept of an item.
pub(super) async fn show(
    store: &dyn Store,
    workshop: &Workshop,
    plan: &KeptPlan,
    named: &str,
) -> Result<ItemPageDto, ConsoleRefusal> {
    let (item, kept) = ItemDto::find(store, workshop, plan, named).await?;
    let ended = ended(&kept);
    let sealed = match &kept {
        KeptItem::Sealed(sealed) => Some(sealed),
        KeptItem::Ended(_) | KeptItem::Begun { .. } => None,
    };
    let receipt = sealed.map(|it| it.receipt_text()).transpose();
    let receipt = receipt.map_err(|error| ConsoleRefusal::fault(&error))?;
    let changes = ended.map_or(&[][..], |it| it.changes.as_slice());
    let shown = off_the_runtime(|| {
        let shown = changes.iter().enumerate().take(CHANGES_MAX);
        let shown = shown.map(|(at, change)| ChangedDto::of(workshop, at, change));
        shown.collect()
    });
    let attempts = ended.map_or(&[][..], |it| it.earlier_attempts.as_slice());
    Ok(ItemPageDto {
        stages: stages(&item, &kept),
        changes: shown,
        changes_left: changes.len().saturating_sub(CHANGES_MAX),
        tests: ended.and_then(TestsDto::of),
        receipt: receipt.flatten(),
        receipt_path: sealed.map(|it| it.result.receipt_path.clone()),
        attempts: attempts
            .iter()
            .map(|it| AttemptDto {
                run_id: it.run_id.as_ref().map(ToString::to_string),
                status: it.status.as_str(),
                error: it.error.clone(),
                ms: it.execution_time_ms,
            })
            .collect(),
        item,
    })
}

/// All of a text that the page of an item cut.
pub(super) async fn text(
    store: &dyn Store,
    workshop: &Workshop,
    plan: &KeptPlan,
    named: &str,
    at: &str,
) -> Result<CutText, ConsoleRefusal> {
    let (_, kept) = ItemDto::find(store, workshop, plan, named).await?;
    let missing = || ConsoleRefusal::missing(format!("item {named} has no text at {at:?}"));
    let ended = ended(&kept).ok_or_else(missing)?;
    let parts: Vec<&str> = at.split('/').collect();
    let text = match parts.as_slice() {
        ["", "tests", "output"] => ended.tests.as_ref().map(|(_, output)| output.clone()),
        ["", "changes", index, side] => {
            let index: usize = index.parse().map_err(|_| missing())?;
            let change = ended.changes.get(index).ok_or_else(missing)?;
            let node = match *side {
                "before" => change.before.as_ref(),
                "after" => change.after.as_ref(),
                _ => return Err(missing()),
            };
            node.and_then(|node| text_of(workshop, node).ok().flatten())
        }
        _ => None,
    };
    CutText::of(&mut json!(text), "").ok_or_else(missing)
}

fn ended(kept: &KeptItem) -> Option<&EndedItem> {
    match kept {
        KeptItem::Sealed(sealed) => Some(&sealed.ended),
        KeptItem::Ended(ended) => Some(ended.as_ref()),
        KeptItem::Begun { .. } => None,
    }
}

impl TestsDto {
    fn of(ended: &EndedItem) -> Option<Self> {
        let (report, output) = ended.tests.as_ref()?;
        let mut output = json!(output);
        cut(&mut output, &mut "/tests/output".to_owned());
        Some(Self {
            command: report.command.clone(),
            exit_code: report.exit_code,
            passed: report.counts.map(|it| it.passed),
            failed: report.counts.map(|it| it.failed),
            ms: report.duration_ms,
            output,
        })
    }
}

/// No text is to be had of it.
struct NoText;

/// The text of a node; none where there is nothing that could have one.
fn text_of(workshop: &Workshop, node: &Node) -> Result<Option<String>, NoText> {
    let bytes = match node {
        Node::File { content, .. } => content_of(workshop, *content).ok_or(NoText)?,
        Node::Link { target } => target.to_vec(),
        Node::Directory { .. } | Node::Special { .. } => return Ok(None),
    };
    let text = String::from_utf8(bytes).map_err(|_| NoText)?;
    match text.contains('\0') {
        true => Err(NoText),
        false => Ok(Some(text)),
    }
}

fn content_of(workshop: &Workshop, hash: Hash) -> Option<Vec<u8>> {
    workshop.content(hash, CONTENT_BYTES_MAX)
}

impl ChangedDto {
    fn of(workshop: &Workshop, index: usize, change: &Change) -> Self {
        let mut binary = false;
        let mut side = |node: Option<&Node>, name: &str| {
            let text = node.map(|node| text_of(workshop, node));
            binary |= matches!(text, Some(Err(NoText)));
            let mut shown = json!(text.and_then(Result::ok).flatten());
            cut(&mut shown, &mut format!("/changes/{index}/{name}"));
            shown
        };
        let (before, after) = (
            side(change.before.as_ref(), "before"),
            side(change.after.as_ref(), "after"),
        );
        Self {
            path: change.path.to_string(),
            kind: match (change.created(), change.deleted()) {
                (true, _) => "created",
                (false, true) => "deleted",
                (false, false) => "modified",
            },
            bytes: match &change.after {
                Some(Node::File { bytes, .. }) => Some(*bytes),
                Some(Node::Link { .. } | Node::Directory { .. } | Node::Special { .. }) | None => {
                    None
                }
            },
            before,
            after,
            binary,
        }
    }
}

impl StageDto {
    fn new(name: &'static str, state: &'static str) -> Self {
        Self {
            name,
            state,
            why: None,
            at: None,
            ms: None,
        }
    }
}

/// How far an item came, stage after stage.
fn stages(item: &ItemDto, kept: &KeptItem) -> Vec<StageDto> {
    match kept {
        KeptItem::Begun { is_tested } => begun(item, *is_tested),
        KeptItem::Ended(ended) => {
            let mut stages = worked(ended, ended.status);
            stages.push(StageDto::new("publish", "waiting"));
            stages.push(StageDto::new("receipt", "waiting"));
            stages
        }
        KeptItem::Sealed(sealed) => {
            let status = sealed.ended.status;
            let mut stages = worked(&sealed.ended, sealed.in_copy.unwrap_or(status));
            if let (Some(run), Some(record)) = (stages.first_mut(), &sealed.receipt.outcome.run) {
                run.at = Some(record.ended_at.0);
                run.ms = Some(record.ended_at.0.saturating_sub(record.started_at.0));
            }
            stages.push(match (status, sealed.in_copy) {
                (WorkStatus::Success, _) => StageDto::new("publish", "done"),
                (_, Some(WorkStatus::Success)) => StageDto {
                    why: sealed.ended.why.clone(),
                    ..StageDto::new("publish", "failed")
                },
                _ => StageDto::new("publish", "none"),
            });
            stages.push(StageDto {
                at: Some(sealed.receipt.sealed_at.0),
                ..StageDto::new("receipt", "done")
            });
            stages
        }
    }
}

fn begun(item: &ItemDto, is_tested: bool) -> Vec<StageDto> {
    let (run, admission, tests) = match (is_tested, item.state()) {
        (true, _) => ("done", "done", "running"),
        (false, "queued") => ("none", "none", "none"),
        (false, "waiting" | "interrupted") => ("waiting", "none", "none"),
        (false, _) => ("running", "none", "none"),
    };
    vec![
        StageDto::new("run", run),
        StageDto::new("admission", admission),
        StageDto::new("tests", tests),
        StageDto::new("publish", "none"),
        StageDto::new("receipt", "none"),
    ]
}

/// Run, admission and tests of an item that ended. Which of them it failed at is told by what is there: tests run only
/// after what the run left was admitted.
fn worked(ended: &EndedItem, status: WorkStatus) -> Vec<StageDto> {
    let failed_at = match (status, &ended.tests) {
        (WorkStatus::Success, _) => 3,
        (WorkStatus::Denied, _) => 1,
        (WorkStatus::Failure | WorkStatus::Timeout, Some(_)) => 2,
        (WorkStatus::Failure | WorkStatus::Timeout, None) => 0,
    };
    let state = |stage: usize| match stage.cmp(&failed_at) {
        std::cmp::Ordering::Less => "done",
        std::cmp::Ordering::Equal => "failed",
        std::cmp::Ordering::Greater => "none",
    };
    let mut stages: Vec<StageDto> = ["run", "admission", "tests"]
        .into_iter()
        .enumerate()
        .map(|(at, name)| StageDto::new(name, state(at)))
        .collect();
    if let Some(failed) = stages.get_mut(failed_at) {
        failed.why.clone_from(&ended.why);
    }
    if let Some(tests) = stages.get_mut(2) {
        match &ended.tests {
            Some((report, _)) => tests.ms = Some(report.duration_ms),
            // None were asked for.
            None => tests.state = "none",
        }
    }
    stages
}
