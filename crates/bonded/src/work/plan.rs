//! A plan, checked whole before anything runs.
//!
//! A plan may depend on items of other plans on the same tree, which may be at work just now. So a check that fails
//! for nothing but such dependencies is repeated for a while; what nobody has done by then is missing, and what
//! depends on it is blocked and not failed. Every other fault refuses the plan at once, with all faults and their
//! lines.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use bonded_host::document::{line_of, parse_document};
use bonded_work::{History, PlanRecord, WorkError, Workshop};
use bonded_work_rules::{Constraints, ItemId, PlanContext, PlanFault, PlanFaultKind, WorkPlan};
use serde_json::Value;

use crate::args::WorkArgs;
use crate::error::{CliError, Code};
use crate::output;
use bonded_host::shapes::text;

/// How often it is looked whether another plan has done what this one waits for.
pub(crate) const LOOK_AFTER: Duration = Duration::from_millis(200);
/// How long dependencies that nobody has done yet are waited for.
const WAIT_MS: u64 = 300_000;
/// More faults than this are counted, not told.
const FAULTS_SHOWN_MAX: usize = 20;

/// A plan that can be worked off.
pub(crate) struct CheckedPlan {
    pub(crate) plan: WorkPlan,
    /// Dependencies of other plans that are not done; what waits for them is blocked.
    pub(crate) missing: BTreeSet<ItemId>,
    /// How long the tree is waited for: whoever did what was waited for may still be at work on it.
    pub(crate) tree_wait_ms: u64,
}

/// What was missing when the plan began is missing when it is resumed, unless it has been done since: a resume
/// waits for nothing that was waited for already.
pub(crate) async fn check(
    args: &WorkArgs,
    workshop: &Workshop,
    record: &PlanRecord,
) -> Result<CheckedPlan, CliError> {
    let file = args.plan.as_deref().unwrap_or(Path::new("-"));
    let value = parse_document(&record.plan).map_err(|bad| {
        let message = format!("{}: {bad}", file.display());
        CliError::new(Code::BadPlan, message)
            .hint("a plan is JSON or YAML; see `bonded explain bad-plan`")
    })?;
    let mut missing = known_missing(record);
    let wait_ms = args
        .wait_ms
        .unwrap_or(if args.dry_run { 0 } else { WAIT_MS });
    let defaults = Constraints::preset(&args.limits_of).unwrap_or_default();
    let began = Instant::now();
    let mut shown = BTreeSet::new();
    loop {
        let mut done = history(workshop, &record.root)?.done();
        missing.retain(|id| !done.contains(id));
        done.extend(missing.iter().cloned());
        let faults = match read(&value, &record.root, &done, defaults) {
            Ok(plan) => {
                let waited_ms = if shown.is_empty() { 0 } else { wait_ms };
                return Ok(CheckedPlan {
                    plan,
                    missing,
                    tree_wait_ms: args.wait_ms.unwrap_or(waited_ms),
                });
            }
            Err(faults) => faults,
        };
        let awaited: Option<BTreeSet<ItemId>> = faults.iter().map(awaited).collect();
        match awaited.filter(|_| wait_ms > 0) {
            None => return Err(bad_plan(file, &record.plan, &faults)),
            Some(awaited) if began.elapsed() < Duration::from_millis(wait_ms) => {
                tell_waiting(&awaited, wait_ms, &mut shown);
                tokio::time::sleep(LOOK_AFTER).await;
            }
            Some(awaited) => missing.extend(awaited),
        }
    }
}

/// Each dependency once. Nothing runs yet: a signal ends the process.
fn tell_waiting(awaited: &BTreeSet<ItemId>, wait_ms: u64, shown: &mut BTreeSet<ItemId>) {
    for id in awaited {
        if shown.insert(id.clone()) {
            output::stderr(&format!(
                "waiting for dependency {id}, which no plan on this tree has done yet: at most {} (--wait 0 does \
                 not wait, Ctrl-C gives up)",
                text::duration(wait_ms)
            ));
        }
    }
}

/// Looked at without the lock, and so never mended here.
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

/// Everything that is wrong with a plan that nobody waits for, each with its line.
pub(super) fn mistakes(
    text: &str,
    workshop: &Workshop,
    root: &Path,
) -> Result<Vec<String>, CliError> {
    let value = match parse_document(text) {
        Ok(value) => value,
        Err(bad) => return Ok(vec![bad.to_string()]),
    };
    let done = history(workshop, root)?.done();
    let read = read(&value, root, &done, Constraints::default());
    Ok(read
        .err()
        .map_or_else(Vec::new, |faults| told(text, &faults)))
}

/// Limits that an item does not name are the defaults.
fn read(
    value: &Value,
    root: &Path,
    done: &BTreeSet<ItemId>,
    defaults: Constraints,
) -> Result<WorkPlan, Vec<PlanFault>> {
    let context = PlanContext {
        root: root.to_str(),
        done,
        defaults,
    };
    WorkPlan::from_value(value, &context)
}

/// The dependency that another plan may yet do. One that is nearly that of an item of this plan is a slip.
fn awaited(fault: &PlanFault) -> Option<ItemId> {
    let PlanFaultKind::UnknownDependency { id, nearest: None } = &fault.kind else {
        return None;
    };
    ItemId::new(id).ok()
}

/// Faults as a person is told of them, each with its line, up to a number.
fn told(text: &str, faults: &[PlanFault]) -> Vec<String> {
    let texts = faults.iter().take(FAULTS_SHOWN_MAX).map(|fault| {
        let line = line_of(text, &fault.at).map(|line| format!("line {line}: "));
        format!("{}{fault}", line.unwrap_or_default())
    });
    let mut lines: Vec<String> = texts.collect();
    let more = faults.len().saturating_sub(FAULTS_SHOWN_MAX);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// Everything that is wrong with a plan, each with its line.
fn bad_plan(file: &Path, text: &str, faults: &[PlanFault]) -> CliError {
    let lines = told(text, faults);
    let message = format!(
        "the plan {} has errors; nothing was run\n  {}",
        file.display(),
        lines.join("\n  ")
    );
    CliError::new(Code::BadPlan, message)
}
