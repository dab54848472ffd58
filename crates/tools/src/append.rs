//! `append`: adds to the end of a file.

use std::sync::Arc;

use bonded_kernel::{Invocation, ToolEffect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounds::FILE_BYTES_MAX;
use crate::fault::ToolFault;
use crate::mark::mark;
use crate::place::Place;
use crate::task::{Cancel, blocking};
use crate::tool::{BoxFuture, Tool, parse, spec};
use crate::workdir::Workdir;

pub(crate) struct Append {
    spec: ToolSpec,
    workdir: Arc<Workdir>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

impl Append {
    pub(crate) fn new(workdir: Arc<Workdir>) -> Self {
        let spec = spec(
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
        Self { spec, workdir }
    }
}

impl Tool for Append {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<Value, ToolFault>> {
        Box::pin(async move {
            let arguments: Arguments = parse(arguments)?;
            let workdir = Arc::clone(&self.workdir);
            let key = call.key();
            blocking(move |cancel| append(&workdir, &arguments, &key, cancel)).await
        })
    }
}

fn append(
    workdir: &Workdir,
    arguments: &Arguments,
    key: &str,
    cancel: &Cancel,
) -> Result<Value, ToolFault> {
    let place = Place::find(workdir, &arguments.path)?;
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
    place.replace(&bytes, metadata.as_ref(), key, cancel)?;
    Ok(json!({
        "path": place.path,
        "bytes_appended": added.len(),
        "size_bytes": size_bytes,
        "hash": mark(&bytes),
    }))
}
