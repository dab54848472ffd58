//! `write`: makes a file what it should be. Doing it twice is the same as doing it once.

use std::sync::Arc;

use bonded_kernel::{ToolEffect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounds::FILE_BYTES_MAX;
use crate::fault::{self, ToolFault};
use crate::file_tool::{FileJob, FileTool};
use crate::mark::mark;
use crate::place::{FileChange, HeldFile, Place, update};
use crate::workdir::{FILES, Workdir};

/// A smaller file is seen at a glance.
const DROPPED_BYTES_MIN: u64 = 500;

#[derive(Deserialize)]
pub(crate) struct WriteArguments {
    pub(crate) path: String,
    pub(crate) content: String,
    expected_hash: Option<String>,
    #[serde(default)]
    must_be_new: bool,
}

pub(crate) fn tool(workdir: Arc<Workdir>) -> FileTool<WriteArguments> {
    let spec = ToolSpec::closed(
        "write",
        ToolEffect::Idempotent,
        "Creates a file or replaces its whole content, atomically; makes missing directories. If the file \
         already has this content, nothing happens and `unchanged` is true. `warning` says that most of a file \
         is gone. Use edit for a small change.",
        &json!({
            "path": { "type": "string", "description": "File inside the working directory." },
            "content": { "type": "string", "description": "The whole new content." },
            "expected_hash": {
                "type": "string", "minLength": 16, "maxLength": 16,
                "description": "Replace only if the file's hash, as given by read, is this."
            },
            "must_be_new": {
                "type": "boolean",
                "description": "Fail if a file with other content exists; default false."
            }
        }),
        &["path", "content"],
    ).of_resource(FILES);
    FileTool {
        spec,
        workdir,
        work: write,
    }
}

fn write(job: &FileJob<'_>, arguments: &WriteArguments) -> Result<Value, ToolFault> {
    let content = arguments.content.as_bytes();
    update(job, &arguments.path, |place, seen| {
        let before_bytes = seen.as_ref().map(|seen| seen.size_bytes());
        let mut answer = json!({
            "path": place.path,
            "bytes": content.len(),
            "hash": mark(content),
            "created": seen.is_none(),
            "unchanged": false,
        });
        if let Some(before_bytes) = before_bytes.filter(|it| drops_most(*it, content.len() as u64))
        {
            answer["warning"] = format!(
                "the file had {before_bytes} bytes and has {} now; what is not in `content` is gone",
                content.len()
            )
            .into();
        }
        match seen {
            Some(seen) => {
                if has_content(seen, content, &place.path)? {
                    answer["unchanged"] = true.into();
                    return Ok(FileChange::Nothing(answer));
                }
                check(Some(seen), place, arguments)?;
            }
            None => check(None, place, arguments)?,
        }
        Ok(FileChange::Replace(content.to_vec(), answer))
    })
}

/// Whether hardly anything of a file is left, which may not have been meant.
fn drops_most(before_bytes: u64, now_bytes: u64) -> bool {
    before_bytes >= DROPPED_BYTES_MIN && now_bytes < before_bytes / 2
}

/// Reads the file only where its size leaves the answer open.
fn has_content(seen: &mut HeldFile, content: &[u8], path: &str) -> Result<bool, ToolFault> {
    let may_have = seen.size_bytes() == content.len() as u64 && seen.size_bytes() <= FILE_BYTES_MAX;
    Ok(may_have && seen.content(path)? == content)
}

fn check(
    seen: Option<&mut HeldFile>,
    place: &Place<'_>,
    arguments: &WriteArguments,
) -> Result<(), ToolFault> {
    let path = &place.path;
    let is_asked = arguments.expected_hash.is_some();
    let actual = match seen {
        Some(seen) if is_asked => Some(seen.mark(path)?),
        // Nobody compares it.
        Some(_) => Some(String::new()),
        None => None,
    };
    refuse_unexpected(actual, path, arguments)
}

/// Refuses a file that is not what the arguments expect: `actual` is its hash, or nothing where there is none.
pub(crate) fn refuse_unexpected(
    actual: Option<String>,
    path: &str,
    arguments: &WriteArguments,
) -> Result<(), ToolFault> {
    if arguments.must_be_new && actual.is_some() {
        let message = format!("{path:?} exists with other content");
        return Err(ToolFault::new(fault::ALREADY_EXISTS, message));
    }
    let Some(expected) = &arguments.expected_hash else {
        return Ok(());
    };
    if actual.as_ref() == Some(expected) {
        return Ok(());
    }
    let actual = actual.unwrap_or_else(|| "no file".into());
    let message = format!("{path:?}: expected hash {expected}, actual {actual}; read it again");
    Err(ToolFault::new(fault::PRECONDITION_FAILED, message))
}
