//! `list`: the entries of a directory.

use std::path::Path;
use std::sync::Arc;

use bonded_kernel::{ToolEffect, ToolSpec};
use cap_std::fs::Dir;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounds::{budget, json_bytes};
use crate::fault::ToolFault;
use crate::file_tool::{FileTool, Job};
use crate::task::Cancel;
use crate::walk::{Found, Kind, entries};
use crate::workdir::{Workdir, shown};

/// The fixed fields of the output and of an entry, as JSON.
const FIXED_BYTES: usize = 64;
const ENTRY_BYTES: usize = 64;

#[derive(Deserialize)]
pub(crate) struct Arguments {
    #[serde(default = "here")]
    path: String,
    #[serde(default = "one")]
    depth: u32,
    #[serde(default = "limit_default")]
    limit: usize,
}

fn here() -> String {
    ".".into()
}

fn one() -> u32 {
    1
}

fn limit_default() -> usize {
    500
}

pub(crate) fn tool(workdir: Arc<Workdir>) -> FileTool<Arguments> {
    let spec = ToolSpec::closed(
        "list",
        ToolEffect::Read,
        "Lists a directory, sorted by name, hidden entries included. Links are shown and not followed; \
         .git is shown and not entered. `truncated` says that there is more.",
        &json!({
            "path": { "type": "string", "description": "Directory; default: the working directory." },
            "depth": {
                "type": "integer", "minimum": 1, "maximum": 10,
                "description": "How many levels to show; default 1."
            },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": 10000,
                "description": "The most entries to show; default 500."
            }
        }),
        &[],
    );
    FileTool {
        spec,
        workdir,
        work: list,
    }
}

fn list(job: &Job<'_>, arguments: &Arguments) -> Result<Value, ToolFault> {
    let relative = job.workdir.relative(&arguments.path)?;
    let dir = job
        .workdir
        .dir()
        .open_dir(&relative)
        .map_err(|error| ToolFault::from_io(&error, &arguments.path))?;
    let prefix = relative.strip_prefix(".").unwrap_or(&relative);
    let mut listing = Listing {
        entries: Vec::new(),
        limit: arguments.limit,
        bytes_left: budget(job.call, FIXED_BYTES),
        truncated: false,
        cancel: job.cancel,
    };
    listing.add(&dir, prefix, arguments.depth)?;
    Ok(json!({ "entries": listing.entries, "truncated": listing.truncated }))
}

struct Listing<'a> {
    entries: Vec<Value>,
    limit: usize,
    bytes_left: usize,
    truncated: bool,
    cancel: &'a Cancel,
}

impl Listing<'_> {
    /// Adds a directory's entries, each directory followed by its own, `depth` levels deep.
    fn add(&mut self, dir: &Dir, prefix: &Path, depth: u32) -> Result<(), ToolFault> {
        let room = self.limit - self.entries.len();
        let (found, more) = entries(dir, room, &shown(prefix), self.cancel)?;
        for found in found {
            if self.truncated {
                return Ok(());
            }
            let path = prefix.join(&found.name);
            self.push(dir, &found, &path);
            let enter = found.kind == Kind::Dir && depth > 1 && found.name != ".git";
            if enter && !self.truncated {
                self.descend(dir, &found, &path, depth - 1)?;
            }
        }
        self.truncated |= more;
        Ok(())
    }

    fn descend(
        &mut self,
        dir: &Dir,
        found: &Found,
        path: &Path,
        depth: u32,
    ) -> Result<(), ToolFault> {
        match dir.open_dir(&found.name) {
            Ok(inner) => self.add(&inner, path, depth),
            // It cannot be entered, or is gone: its own line is all there is to show.
            Err(_) => Ok(()),
        }
    }

    fn push(&mut self, dir: &Dir, found: &Found, path: &Path) {
        let path = shown(path);
        let bytes = json_bytes(&path) + ENTRY_BYTES;
        if self.entries.len() == self.limit || bytes > self.bytes_left {
            self.truncated = true;
            return;
        }
        self.bytes_left -= bytes;
        let mut entry = json!({ "path": path, "kind": found.kind.as_str() });
        let size_bytes = (found.kind == Kind::File)
            .then(|| dir.symlink_metadata(&found.name).ok())
            .flatten()
            .map(|metadata| metadata.len());
        if let Some(size_bytes) = size_bytes {
            entry["size_bytes"] = size_bytes.into();
        }
        self.entries.push(entry);
    }
}
