//! `append`: adds to the end of a file.

use std::sync::Arc;

use bonded_kernel::{ToolEffect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fault::ToolFault;
use crate::file_tool::{FileJob, FileTool};
use crate::mark::mark;
use crate::place::extend;
use crate::workdir::{FILES, Workdir};

#[derive(Deserialize)]
pub(crate) struct AppendArguments {
    pub(crate) path: String,
    pub(crate) content: String,
}

pub(crate) fn tool(workdir: Arc<Workdir>) -> FileTool<AppendArguments> {
    let spec = ToolSpec::closed(
        "append",
        ToolEffect::Write,
        "Adds text to the end of a file and keeps what is there, also what others add meanwhile; creates the \
         file if it is missing. It adds no line break of its own.",
        &json!({
            "path": { "type": "string", "description": "File inside the working directory." },
            "content": { "type": "string", "description": "The text to add." }
        }),
        &["path", "content"],
    ).of_resource(FILES);
    FileTool {
        spec,
        workdir,
        work: append,
    }
}

fn append(job: &FileJob<'_>, arguments: &AppendArguments) -> Result<Value, ToolFault> {
    let added = arguments.content.as_bytes();
    let (path, content) = extend(job, &arguments.path, added)?;
    Ok(json!({
        "path": path,
        "bytes_appended": added.len(),
        "size_bytes": content.len(),
        "hash": mark(&content),
    }))
}
