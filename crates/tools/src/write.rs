//! `write`: makes a file what it should be. Doing it twice is the same as doing it once.

use std::sync::Arc;

use bonded_kernel::{ToolEffect, ToolSpec};
use cap_std::fs::Metadata;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounds::FILE_BYTES_MAX;
use crate::fault::{self, ToolFault};
use crate::file_tool::{FileTool, Job};
use crate::mark::mark;
use crate::place::Place;
use crate::workdir::{Workdir, load};

#[derive(Deserialize)]
pub(crate) struct Arguments {
    path: String,
    content: String,
    expected_hash: Option<String>,
    #[serde(default)]
    must_be_new: bool,
}

pub(crate) fn tool(workdir: Arc<Workdir>) -> FileTool<Arguments> {
    let spec = ToolSpec::closed(
        "write",
        ToolEffect::Idempotent,
        "Creates a file or replaces its whole content, atomically; makes missing directories. If the file \
         already has this content, nothing happens and `unchanged` is true. Use edit for a small change.",
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
    );
    FileTool {
        spec,
        workdir,
        work: write,
    }
}

fn write(job: &Job<'_>, arguments: &Arguments) -> Result<Value, ToolFault> {
    let place = Place::find(job.workdir, &arguments.path)?;
    let content = arguments.content.as_bytes();
    let existing = Existing::look(&place, content)?;
    let unchanged = matches!(existing, Existing::Equal);
    if !unchanged {
        existing.check(&place, arguments)?;
        place.replace(content, existing.metadata(), &job.call.key(), job.cancel)?;
    }
    Ok(json!({
        "path": place.path,
        "bytes": content.len(),
        "hash": mark(content),
        "created": matches!(existing, Existing::Nothing),
        "unchanged": unchanged,
    }))
}

/// What is at the place before the write.
enum Existing {
    Nothing,
    /// Exactly the content that is to be written.
    Equal,
    Other(Metadata),
}

impl Existing {
    /// Reads the file only where its size leaves the answer open.
    fn look(place: &Place, content: &[u8]) -> Result<Self, ToolFault> {
        let Some((mut file, metadata)) = place.open()? else {
            return Ok(Self::Nothing);
        };
        if metadata.len() == content.len() as u64 {
            let current = load(&mut file, &metadata, metadata.len())
                .map_err(|error| ToolFault::from_io(&error, &place.path))?;
            if current.as_deref() == Some(content) {
                return Ok(Self::Equal);
            }
        }
        Ok(Self::Other(metadata))
    }

    fn metadata(&self) -> Option<&Metadata> {
        match self {
            Self::Other(metadata) => Some(metadata),
            Self::Nothing | Self::Equal => None,
        }
    }

    fn check(&self, place: &Place, arguments: &Arguments) -> Result<(), ToolFault> {
        let path = &place.path;
        if arguments.must_be_new && matches!(self, Self::Other(_)) {
            let message = format!("{path:?} exists with other content");
            return Err(ToolFault::new(fault::ALREADY_EXISTS, message));
        }
        let Some(expected) = &arguments.expected_hash else {
            return Ok(());
        };
        let actual = match self.metadata() {
            Some(metadata) if metadata.len() > FILE_BYTES_MAX => {
                return Err(ToolFault::too_large(path, metadata.len(), FILE_BYTES_MAX));
            }
            _ => place.current()?.map(|current| current.mark()),
        };
        if actual.as_ref() == Some(expected) {
            return Ok(());
        }
        let actual = actual.unwrap_or_else(|| "no file".into());
        let message = format!("{path:?}: expected hash {expected}, actual {actual}; read it again");
        Err(ToolFault::new(fault::PRECONDITION_FAILED, message))
    }
}
