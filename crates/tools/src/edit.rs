//! `edit`: replaces an exact text in a file.

use std::sync::Arc;

use bonded_kernel::{ToolEffect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fault::{self, ToolFault};
use crate::file_tool::{FileJob, FileTool};
use crate::mark::mark;
use crate::place::{FileChange, update};
use crate::workdir::{FILES, Workdir};

#[derive(Deserialize)]
pub(crate) struct EditArguments {
    path: String,
    old: String,
    new: String,
    #[serde(default = "one")]
    expected_matches: usize,
}

fn one() -> usize {
    1
}

pub(crate) fn tool(workdir: Arc<Workdir>) -> FileTool<EditArguments> {
    let spec = ToolSpec::closed(
        "edit",
        ToolEffect::Write,
        "Replaces an exact text in a file, atomically. `old` must occur exactly expected_matches times, \
         whitespace included, or nothing is changed; give enough context to make it unique.",
        &json!({
            "path": { "type": "string", "description": "File inside the working directory." },
            "old": { "type": "string", "description": "The exact text to replace; not empty." },
            "new": { "type": "string", "description": "The text to put in its place; not equal to old." },
            "expected_matches": {
                "type": "integer", "minimum": 1,
                "description": "How often old occurs; all are replaced; default 1."
            }
        }),
        &["path", "old", "new"],
    ).of_resource(FILES);
    FileTool {
        spec,
        workdir,
        work: edit,
    }
}

fn edit(job: &FileJob<'_>, arguments: &EditArguments) -> Result<Value, ToolFault> {
    let EditArguments {
        path,
        old,
        new,
        expected_matches,
    } = arguments;
    if old.is_empty() || old == new {
        let message = "old must not be empty, and new must differ from it";
        return Err(ToolFault::new(fault::BAD_ARGUMENTS, message));
    }
    update(job, path, |place, seen| {
        let seen = seen.ok_or_else(|| {
            ToolFault::new(
                fault::NOT_FOUND,
                format!("{path:?}: there is no such file; use write to create it"),
            )
        })?;
        let current = seen.content(&place.path)?;
        let text = std::str::from_utf8(current)
            .map_err(|_| ToolFault::not_utf8(path, current.len() as u64))?;
        let matches = text.matches(old.as_str()).count();
        if matches != *expected_matches {
            let message = format!(
                "{path:?} has {matches} matches of old, expected {expected_matches}; nothing was changed"
            );
            return Err(ToolFault::new(fault::UNEXPECTED_MATCH_COUNT, message));
        }
        let edited = text.replace(old.as_str(), new).into_bytes();
        let value = json!({
            "path": place.path,
            "matches": matches,
            "hash_before": mark(current),
            "hash_after": mark(&edited),
        });
        Ok(FileChange::Replace(edited, value))
    })
}
