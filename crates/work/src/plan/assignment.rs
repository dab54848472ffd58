//! Who does the work of an item: an assignment of a host and a goal.
//!
//! The work itself knows no models, tools or prompts. A host that implements `Assigner` decides about them,
//! each time an attempt is taken up; what comes of it is then bound by the limits of the item, whatever the
//! assigner has set.

use std::path::Path;
use std::sync::Arc;

use bonded_work_rules::WorkItem;

use bonded_host::agent::AgentTools;
use bonded_host::{Goal, Host};

/// Gives each item somebody who works on it. What can be asked, with which tools and which model, is not decided by
/// items.
pub trait Assigner: Send + Sync {
    /// `dir` is the item's copy of the tree. An error is why nobody can.
    fn assign(&self, item: &WorkItem, dir: &Path) -> Result<Assignment, String>;
}

/// A host for one item's run, and what the run is to do.
#[derive(Debug)]
pub struct Assignment {
    /// Drives the run.
    pub host: Host,
    /// What the run is to do, with its settings.
    pub goal: Goal,
    /// Stopped when the item has ended.
    pub tools: Arc<AgentTools>,
}

/// What an item asks, in words.
///
/// The limits are told, although they are enforced elsewhere: a model that does not know them runs into them.
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
