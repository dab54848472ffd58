//! `list`: the entries of a directory.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use bonded_kernel::{ToolEffect, ToolSpec};
use rustix::fs::{AtFlags, statat};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounds::{budget, json_bytes};
use crate::fault::ToolFault;
use crate::file_tool::{FileJob, FileTool};
use crate::walk::{Kind, WalkEntry, entries};
use crate::workdir::{FILES, Workdir, enter, shown, size_of};

/// The fixed fields of the output and of an entry, as JSON.
const FIXED_BYTES: usize = 64;
const ENTRY_BYTES: usize = 64;

#[derive(Deserialize)]
pub(crate) struct ListArguments {
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

pub(crate) fn tool(workdir: Arc<Workdir>) -> FileTool<ListArguments> {
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
    ).of_resource(FILES);
    FileTool {
        spec,
        workdir,
        work: list,
    }
}

fn list(job: &FileJob<'_>, arguments: &ListArguments) -> Result<Value, ToolFault> {
    let relative = job.workdir.relative(&arguments.path)?;
    let (dir, real) = job
        .workdir
        .directory(&relative, job.call, &arguments.path)?;
    let prefix = relative.strip_prefix(".").unwrap_or(&relative);
    let mut listing = DirectoryListing {
        entries: Vec::new(),
        limit: arguments.limit,
        bytes_left: budget(job.call, FIXED_BYTES),
        truncated: false,
        job,
    };
    listing.add(&dir, prefix, &real, arguments.depth)?;
    Ok(json!({ "entries": listing.entries, "truncated": listing.truncated }))
}

struct DirectoryListing<'a> {
    entries: Vec<Value>,
    limit: usize,
    bytes_left: usize,
    truncated: bool,
    job: &'a FileJob<'a>,
}

impl DirectoryListing<'_> {
    /// Adds a directory's entries, each directory followed by its own, `depth` levels deep. `prefix` is how the model
    /// calls it, `real` its path without links.
    fn add(
        &mut self,
        dir: &OwnedFd,
        prefix: &Path,
        real: &Path,
        depth: u32,
    ) -> Result<(), ToolFault> {
        let room = self.limit - self.entries.len();
        let (found, more) = entries(dir, room, &shown(prefix), self.job.cancel)?;
        for found in found {
            if self.truncated {
                return Ok(());
            }
            let path = prefix.join(&found.name);
            self.push(dir, &found, &path);
            let enters = found.kind == Kind::Dir && depth > 1 && found.name != ".git";
            let real = real.join(&found.name);
            let is_open = self.job.call.approved() || !self.job.workdir.guard().hides(&real);
            if enters && is_open && !self.truncated {
                // What cannot be entered, or is gone, has its own line and nothing more.
                if let Ok(inner) = enter(dir, Path::new(&found.name)) {
                    self.add(&inner, &path, &real, depth - 1)?;
                }
            }
        }
        self.truncated |= more;
        Ok(())
    }

    fn push(&mut self, dir: &OwnedFd, found: &WalkEntry, path: &Path) {
        let path = shown(path);
        let bytes = json_bytes(&path) + ENTRY_BYTES;
        if self.entries.len() == self.limit || bytes > self.bytes_left {
            self.truncated = true;
            return;
        }
        self.bytes_left -= bytes;
        let mut entry = json!({ "path": path, "kind": found.kind.as_str() });
        let size_bytes = (found.kind == Kind::File)
            .then(|| statat(dir, &found.name, AtFlags::SYMLINK_NOFOLLOW).ok())
            .flatten()
            .map(|stat| size_of(&stat));
        if let Some(size_bytes) = size_bytes {
            entry["size_bytes"] = size_bytes.into();
        }
        self.entries.push(entry);
    }
}
