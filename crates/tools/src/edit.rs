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
    pub(crate) path: String,
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
    check(arguments)?;
    update(job, &arguments.path, |place, seen| {
        let seen = seen.ok_or_else(|| not_found(&arguments.path))?;
        let current = seen.content(&place.path)?;
        let (matches, edited) = edited(arguments, current)?;
        let value = json!({
            "path": place.path,
            "matches": matches,
            "hash_before": mark(current),
            "hash_after": mark(edited.as_bytes()),
        });
        Ok(FileChange::Replace(edited.into_bytes(), value))
    })
}

/// Whether the arguments say a change at all.
pub(crate) fn check(arguments: &EditArguments) -> Result<(), ToolFault> {
    if arguments.old.is_empty() || arguments.old == arguments.new {
        let message = "old must not be empty, and new must differ from it";
        return Err(ToolFault::new(fault::BAD_ARGUMENTS, message));
    }
    Ok(())
}

pub(crate) fn not_found(path: &str) -> ToolFault {
    ToolFault::new(
        fault::NOT_FOUND,
        format!("{path:?}: there is no such file; use write to create it"),
    )
}

/// How often the text was found, and what the file is with all of them replaced.
pub(crate) fn edited(
    arguments: &EditArguments,
    current: &[u8],
) -> Result<(usize, String), ToolFault> {
    let EditArguments {
        path,
        old,
        new,
        expected_matches,
    } = arguments;
    let text = std::str::from_utf8(current)
        .map_err(|_| ToolFault::not_utf8(path, current.len() as u64))?;
    let matches = text.matches(old.as_str()).count();
    if matches != *expected_matches {
        let message = format!(
            "{path:?} has {matches} matches of old, expected {expected_matches}; nothing was changed"
        );
        return Err(ToolFault::new(fault::UNEXPECTED_MATCH_COUNT, message));
    }
    Ok((matches, text.replace(old.as_str(), new)))
}
