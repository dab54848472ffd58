//! Plans and what became of them, for people.
//!
//! Tables go to stdout at the end, lines to stderr on the way. A line never claims more than is durable: an item is
//! ready when its agent is done, and has its status only when its receipt is sealed.

use bonded_work::WorkNews;
use bonded_work_rules::{RunResult, WorkItem, WorkPlan, WorkStatus};

use super::table::{Side, table};
use bonded_host::shapes::text;

/// The levels and limits of a plan that is not run.
pub(crate) fn levels(plan: &WorkPlan) -> String {
    let titles = [
        ("LEVEL", Side::Right),
        ("ITEM", Side::Left),
        ("AGENT", Side::Left),
        ("FILES", Side::Right),
        ("OPS", Side::Right),
        ("DELTA", Side::Right),
        ("TIME", Side::Right),
        ("AFTER", Side::Left),
        ("TESTS", Side::Left),
    ];
    let levels = plan.levels();
    let numbered = levels.iter().enumerate();
    let rows = numbered.flat_map(|(level, items)| items.iter().map(move |item| (level, item)));
    table(titles, rows.map(|(level, item)| planned(level, item)))
}

/// One row, with the limits that hold for the item.
fn planned(level: usize, item: &WorkItem) -> [String; 9] {
    let limits = item.constraints;
    let after: Vec<&str> = item.dependencies.iter().map(|id| id.as_str()).collect();
    [
        level.to_string(),
        item.id.to_string(),
        item.agent_id.to_string(),
        limits.max_files.to_string(),
        limits.max_tool_ops.to_string(),
        limits.max_delta_size.to_string(),
        text::duration(limits.timeout_ms),
        or_dash(after.join(", ")),
        or_dash(text::brief(
            item.test_command.as_deref().unwrap_or_default(),
            60,
        )),
    ]
}

/// What became of the items.
pub(crate) fn results(results: &[RunResult]) -> String {
    let titles = [
        ("ITEM", Side::Left),
        ("STATUS", Side::Left),
        ("FILES", Side::Right),
        ("OPS", Side::Right),
        ("DELTA", Side::Right),
        ("TESTS", Side::Right),
        ("TIME", Side::Right),
        ("WHY", Side::Left),
    ];
    table(titles, results.iter().map(result))
}

fn result(result: &RunResult) -> [String; 8] {
    let metrics = result.metrics;
    [
        result.work_item_id.to_string(),
        result.status.as_str().to_owned(),
        metrics.files_touched.to_string(),
        metrics.tool_ops_count.to_string(),
        metrics.delta_size.to_string(),
        or_dash(tests(result)),
        text::duration(metrics.execution_time_ms),
        text::brief(why(result), 200),
    ]
}

/// Passed of all that ran; nothing where nobody counted.
fn tests(result: &RunResult) -> String {
    match (result.metrics.tests_passed, result.metrics.tests_failed) {
        (Some(passed), failed) => format!("{passed}/{}", passed + failed.unwrap_or(0)),
        _ => String::new(),
    }
}

/// The reason of a denial goes before an error.
fn why(result: &RunResult) -> &str {
    let reason = result.denial_reason.as_deref();
    reason.or(result.error.as_deref()).unwrap_or_default()
}

/// One line for each thing that happens.
pub(crate) fn news(news: &WorkNews<'_>) -> Option<String> {
    Some(match news {
        WorkNews::Recovered(recovered) => recovered.to_string(),
        WorkNews::HistoryRestored(history) => format!(
            "warning: {} lacked receipts that are there; {} lines were brought back from them",
            history.file().display(),
            history.restored()
        ),
        WorkNews::LevelBegun {
            level,
            items,
            before,
        } => {
            let before = before.to_string();
            format!(
                "level {level}: {} from state {}",
                text::counted(*items, "item"),
                &before[..12]
            )
        }
        WorkNews::ItemBegun(item) => format!("  {}  begins ({})", item.id, item.agent_id),
        WorkNews::ItemAgain(item, attempts, why) => format!(
            "  {}  begins again after attempt {attempts} of {}: {}",
            item.id,
            item.retries + 1,
            text::brief(why, 200)
        ),
        // What did not fail may still clash with another when it is published.
        WorkNews::ItemEnded(item, WorkStatus::Success) => format!("  {}  ready", item.id),
        WorkNews::ItemEnded(..) => return None,
        WorkNews::NotCommitted(item, path) => {
            format!(
                "  {}  {path} is published and not committed: git does not track it, or needs a filter of the \
                 repository's own for it",
                item.id
            )
        }
        WorkNews::Uncommitted(item, path) => {
            format!(
                "  {}  {path} is published and not committed: what you have not committed of it meets what the item \
                 changed",
                item.id
            )
        }
        WorkNews::Late(late) => format!(
            "warning: {} was open in another program when it was replaced; what that wrote is in {}",
            late.path,
            late.kept.display()
        ),
        WorkNews::ItemSealed(item, result) => {
            let why = match why(result) {
                "" => String::new(),
                why => format!(": {}", text::brief(why, 200)),
            };
            let files = text::counted(
                result.artifact_hashes.len() + result.deleted_files.len(),
                "file",
            );
            format!("  {}  {} ({files}){why}", item.id, result.status.as_str())
        }
    })
}

fn or_dash(text: String) -> String {
    match text.is_empty() {
        true => "-".into(),
        false => text,
    }
}
