//! Who does the work of an item.

use std::path::Path;
use std::sync::Arc;

use bonded_work_rules::WorkItem;

use bonded_host::agent::AgentTools;
use bonded_host::{Goal, Host};

/// Gives each item somebody who works on it. What can be asked, with which tools and which model, is not decided by
/// items.
pub trait Staff: Send + Sync {
    /// `dir` is the item's copy of the tree. An error is why nobody can.
    fn assign(&self, item: &WorkItem, dir: &Path) -> Result<Assigned, String>;
}

/// A host for one item's run, and what the run is to do.
#[derive(Debug)]
pub struct Assigned {
    pub host: Host,
    pub goal: Goal,
    /// Stopped when the item has ended.
    pub tools: Arc<AgentTools>,
}

/// What an item asks, in words.
pub fn goal_text(item: &WorkItem) -> String {
    let mut text = item.description.clone();
    let listed = |paths: &[_]| {
        let lines = paths.iter().map(|path| format!("\n- {path}"));
        lines.collect::<String>()
    };
    if let Some(paths) = &item.input_files {
        text.push_str("\n\nRead these first:");
        text.push_str(&listed(paths));
    }
    if let Some(paths) = &item.output_files {
        text.push_str("\n\nMake or change these, and nothing else:");
        text.push_str(&listed(paths));
    }
    let limits = item.constraints;
    text.push_str(&format!(
        "\n\nAt most {} files may be changed, with at most {} tool calls.",
        limits.max_files, limits.max_tool_ops
    ));
    if let Some(command) = &item.test_command {
        text.push_str(&format!(
            "\n\nThe result is accepted only if this passes:\n{command}"
        ));
    }
    text
}
