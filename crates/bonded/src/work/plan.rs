//! A plan, checked whole before anything runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use bonded_host::work::{History, PlanRecord, WorkError, Workshop, line_of, parse_plan};
use bonded_kernel::work::{Constraints, ItemId, PlanContext, PlanFault, PlanFaultKind, WorkPlan};
use serde_json::Value;

use crate::args::WorkArgs;
use crate::error::{CliError, Code};

/// How often it is looked whether another plan has done what this one waits for.
pub(crate) const LOOK_AFTER: Duration = Duration::from_millis(200);
/// More faults than this are counted, not told.
const FAULTS_TOLD_MAX: usize = 20;

/// A plan that can be worked off.
pub(crate) struct Checked {
    pub(crate) plan: WorkPlan,
    /// Dependencies of other plans that are not done; what waits for them is blocked.
    pub(crate) missing: BTreeSet<ItemId>,
}

pub(crate) async fn check(
    args: &WorkArgs,
    workshop: &Workshop,
    record: &PlanRecord,
) -> Result<Checked, CliError> {
    let file = args.plan.as_deref().unwrap_or(Path::new("-"));
    let value = parse_plan(&record.plan).map_err(|bad| {
        let message = format!("{}: {bad}", file.display());
        CliError::new(Code::BadPlan, message)
            .hint("a plan is JSON or YAML; see `bonded explain bad-plan`")
    })?;
    let mut missing = known_missing(record);
    let deadline = tokio::time::Instant::now() + Duration::from_millis(args.wait_ms);
    loop {
        let mut done = history(workshop, &record.root)?.done();
        missing.retain(|id| !done.contains(id));
        done.extend(missing.iter().cloned());
        let faults = match read(args, &value, &record.root, &done) {
            Ok(plan) => return Ok(Checked { plan, missing }),
            Err(faults) => faults,
        };
        let awaited: Option<BTreeSet<ItemId>> = faults.iter().map(awaited).collect();
        match awaited.filter(|_| args.wait_ms > 0) {
            None => return Err(bad_plan(file, &record.plan, &faults)),
            Some(_) if tokio::time::Instant::now() < deadline => {
                tokio::time::sleep(LOOK_AFTER).await;
            }
            Some(awaited) => missing.extend(awaited),
        }
    }
}

fn history(workshop: &Workshop, root: &Path) -> Result<History, CliError> {
    // Another plan may be writing to it: whoever holds the tree's lock mends what is wrong with it.
    let history = History::look(&workshop.tree_dir(root));
    Ok(history.map_err(WorkError::from)?)
}

/// What was waited for in vain when the plan was started.
fn known_missing(record: &PlanRecord) -> BTreeSet<ItemId> {
    let ids = record.missing.iter().map(|id| ItemId::new(id).ok());
    ids.flatten().collect()
}

fn read(
    args: &WorkArgs,
    value: &Value,
    root: &Path,
    done: &BTreeSet<ItemId>,
) -> Result<WorkPlan, Vec<PlanFault>> {
    let context = PlanContext {
        root: root.to_str(),
        done,
        defaults: Constraints::preset(&args.limits_of).unwrap_or_default(),
    };
    WorkPlan::from_value(value, &context)
}

/// The dependency that another plan may yet do.
fn awaited(fault: &PlanFault) -> Option<ItemId> {
    match &fault.kind {
        PlanFaultKind::UnknownDependency { id, .. } => ItemId::new(id).ok(),
        _ => None,
    }
}

/// Everything that is wrong with a plan, each with its line.
fn bad_plan(file: &Path, text: &str, faults: &[PlanFault]) -> CliError {
    let told = faults.iter().take(FAULTS_TOLD_MAX).map(|fault| {
        let line = line_of(text, &fault.at).map(|line| format!("line {line}: "));
        format!("{}{fault}", line.unwrap_or_default())
    });
    let mut lines: Vec<String> = told.collect();
    let more = faults.len().saturating_sub(FAULTS_TOLD_MAX);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    let message = format!(
        "{} is not a plan that can be worked off; nothing was run\n  {}",
        file.display(),
        lines.join("\n  ")
    );
    CliError::new(Code::BadPlan, message)
}
