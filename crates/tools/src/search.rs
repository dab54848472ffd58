//! `search`: finds lines by a regular expression, or files by name.

mod ignored;
mod query;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::{ToolEffect, ToolSpec};
use rustix::fs::Stat;
use serde_json::{Value, json};

use crate::bounds::{FILE_BYTES_MAX, budget, json_bytes};
use crate::fault::{self, ToolFault};
use crate::file_tool::{FileJob, FileTool};
use crate::walk::{Kind, WalkEntry, entries};
use crate::workdir::{FILES, Workdir, enter, load, open_entry, shown};
use ignored::Ignored;
use query::{Query, SearchArguments};

/// The fixed fields of the output and of a match, as JSON.
const FIXED_BYTES: usize = 128;
const MATCH_BYTES: usize = 64;

/// Deeper directories and larger ones are searched only in part, which `truncated` says.
const DEPTH_MAX: usize = 128;
const ENTRIES_MAX: usize = 100_000;

pub(crate) fn tool(workdir: Arc<Workdir>) -> FileTool<SearchArguments> {
    let spec = ToolSpec::closed(
        "search",
        ToolEffect::Read,
        "Searches text files for lines that match a regular expression, or lists files by name if only \
         glob is given; one of both is required. Skips .git, what .gitignore names, binary files and \
         files over 16 MiB. Results are sorted by path.",
        &json!({
            "pattern": {
                "type": "string", "minLength": 1,
                "description": "Regular expression in Rust syntax, matched within one line."
            },
            "glob": {
                "type": "string", "minLength": 1,
                "description": "File name pattern such as *.rs; with a '/' it is matched against the path \
                                below `path`, e.g. src/**/*.rs."
            },
            "path": { "type": "string", "description": "Directory or file; default: the working directory." },
            "case_insensitive": { "type": "boolean", "description": "Default false." },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": 10000,
                "description": "The most results; default 100."
            }
        }),
        &[],
    ).of_resource(FILES);
    FileTool {
        spec,
        workdir,
        work: search,
    }
}

fn search(job: &FileJob<'_>, arguments: &SearchArguments) -> Result<Value, ToolFault> {
    let query = Query::new(arguments)?;
    let relative = job.workdir.relative(&arguments.path)?;
    let start = relative
        .strip_prefix(".")
        .unwrap_or(&relative)
        .to_path_buf();
    let mut hunt = Hunt {
        query: &query,
        start: &start,
        results: Vec::new(),
        limit: arguments.limit,
        bytes_left: budget(job.call, FIXED_BYTES),
        truncated: false,
        files_searched: 0,
        files_skipped: 0,
        job,
    };
    match job.workdir.file(&relative, job.call, &arguments.path) {
        Ok((file, stat, _)) => hunt.visit_file(&start, file, &stat)?,
        Err(fault) if fault.code == fault::IS_DIRECTORY => {
            let (dir, real) = job
                .workdir
                .directory(&relative, job.call, &arguments.path)?;
            let mut ignored = Ignored::above(job.workdir.root(), &start);
            hunt.enter(&dir, &start, &real, &mut ignored)?;
        }
        Err(fault) => return Err(fault),
    }
    Ok(hunt.answer())
}

/// A search under way.
struct Hunt<'a> {
    query: &'a Query,
    /// Where it began, relative to the working directory.
    start: &'a Path,
    results: Vec<Value>,
    limit: usize,
    bytes_left: usize,
    truncated: bool,
    files_searched: u64,
    files_skipped: u64,
    job: &'a FileJob<'a>,
}

impl Hunt<'_> {
    /// Searches a directory. `path` is how the model calls it, `real` its path without links.
    fn enter(
        &mut self,
        dir: &OwnedFd,
        path: &Path,
        real: &Path,
        ignored: &mut Ignored,
    ) -> Result<(), ToolFault> {
        ignored.enter(dir, path);
        let (found, more) = entries(dir, ENTRIES_MAX, &shown(path), self.job.cancel)?;
        for found in found {
            if self.truncated {
                break;
            }
            self.job.cancel.check()?;
            let (inner, real) = (path.join(&found.name), real.join(&found.name));
            let is_open = self.job.call.approved() || !self.job.workdir.guard().hides(&real);
            let is_left_out = found.name == ".git" || !is_open;
            if !is_left_out && !ignored.matches(&inner, found.kind == Kind::Dir) {
                self.visit(dir, &found, &inner, &real, ignored)?;
            }
        }
        self.truncated |= more;
        ignored.leave();
        Ok(())
    }

    fn visit(
        &mut self,
        dir: &OwnedFd,
        found: &WalkEntry,
        path: &Path,
        real: &Path,
        ignored: &mut Ignored,
    ) -> Result<(), ToolFault> {
        match found.kind {
            Kind::Dir if ignored.depth() >= DEPTH_MAX => {
                self.truncated = true;
                Ok(())
            }
            Kind::Dir => match enter(dir, Path::new(&found.name)) {
                Ok(inner) => self.enter(&inner, path, real, ignored),
                // It cannot be entered, or is gone.
                Err(_) => Ok(()),
            },
            Kind::File | Kind::Symlink if !self.query.wants_name(path, self.start) => Ok(()),
            Kind::File | Kind::Symlink if self.query.pattern.is_none() => {
                self.files_searched += 1;
                self.push(shown(path).into(), json_bytes(&shown(path)) + 3);
                Ok(())
            }
            Kind::File => {
                let opened = open_entry(dir, Path::new(&found.name)).ok().flatten();
                self.search_lines(opened, path)
            }
            Kind::Symlink | Kind::Other => Ok(()),
        }
    }

    /// The one file that the search was given instead of a directory.
    fn visit_file(&mut self, path: &Path, file: File, stat: &Stat) -> Result<(), ToolFault> {
        let name = path
            .file_name()
            .map_or_else(|| path.to_path_buf(), PathBuf::from);
        if !self.query.wants_name(&name, Path::new("")) {
            return Ok(());
        }
        if self.query.pattern.is_none() {
            self.files_searched += 1;
            self.push(shown(path).into(), json_bytes(&shown(path)) + 3);
            return Ok(());
        }
        self.search_lines(Some((file, *stat)), path)
    }

    fn search_lines(&mut self, opened: Option<(File, Stat)>, path: &Path) -> Result<(), ToolFault> {
        let path = shown(path);
        let content =
            opened.and_then(|(file, stat)| load(&file, &stat, FILE_BYTES_MAX).ok().flatten());
        // Unreadable, too large or binary: one such file must not end the search.
        let Some(content) = content.filter(|content| !content.contains(&0)) else {
            self.files_skipped += 1;
            return Ok(());
        };
        self.files_searched += 1;
        for (at, line) in content.split(|b| *b == b'\n').enumerate() {
            if self.truncated {
                break;
            }
            self.job.cancel.check()?;
            if let Some(text) = self.query.excerpt(line) {
                let bytes = json_bytes(&path) + json_bytes(&text) + MATCH_BYTES;
                self.push(json!({ "path": path, "line": at + 1, "text": text }), bytes);
            }
        }
        Ok(())
    }

    fn push(&mut self, result: Value, bytes: usize) {
        if self.results.len() == self.limit || bytes > self.bytes_left {
            self.truncated = true;
            return;
        }
        self.bytes_left -= bytes;
        self.results.push(result);
    }

    fn answer(self) -> Value {
        let results = match self.query.pattern {
            Some(_) => "matches",
            None => "files",
        };
        json!({
            results: self.results,
            "truncated": self.truncated,
            "files_searched": self.files_searched,
            "files_skipped": self.files_skipped,
        })
    }
}
