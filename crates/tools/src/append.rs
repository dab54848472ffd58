//! `append`: adds to the end of a file.

use std::sync::Arc;

use bonded_kernel::{ToolEffect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounds::FILE_BYTES_MAX;
use crate::fault::ToolFault;
use crate::file_tool::{FileTool, Job};
use crate::mark::mark;
use crate::place::Place;
use crate::workdir::Workdir;

#[derive(Deserialize)]
pub(crate) struct Arguments {
    path: String,
    content: String,
}

pub(crate) fn tool(workdir: Arc<Workdir>) -> FileTool<Arguments> {
    let spec = ToolSpec::closed(
        "append",
        ToolEffect::Write,
        "Adds text to the end of a file, atomically, and keeps what is there; creates the file if it is \
         missing. It adds no line break of its own.",
        &json!({
            "path": { "type": "string", "description": "File inside the working directory." },
            "content": { "type": "string", "description": "The text to add." }
        }),
        &["path", "content"],
    );
    FileTool {
        spec,
        workdir,
        work: append,
    }
}

fn append(job: &Job<'_>, arguments: &Arguments) -> Result<Value, ToolFault> {
    let place = Place::find(job.workdir, &arguments.path)?;
    let added = arguments.content.as_bytes();
    let (mut bytes, metadata) = match place.current()? {
        Some(current) => (current.bytes, Some(current.metadata)),
        None => (Vec::new(), None),
    };
    bytes.extend_from_slice(added);
    let size_bytes = bytes.len() as u64;
    // A file that grew past the limit could never be appended to again.
    if size_bytes > FILE_BYTES_MAX {
        return Err(ToolFault::too_large(
            &place.path,
            size_bytes,
            FILE_BYTES_MAX,
        ));
    }
    place.replace(&bytes, metadata.as_ref(), &job.call.key(), job.cancel)?;
    Ok(json!({
        "path": place.path,
        "bytes_appended": added.len(),
        "size_bytes": size_bytes,
        "hash": mark(&bytes),
    }))
}
