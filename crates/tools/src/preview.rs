//! What a call of `edit`, `write` or `append` would make of its file, for a person who is asked about it.
//!
//! Nothing is changed and nothing is executed: the file is opened as the tools open it, beneath the working directory
//! and by no link that leads out, and what it would become is computed by the tools' own functions. A call that
//! cannot succeed says why.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Stat, fstat};
use serde_json::Value;

use crate::append::AppendArguments;
use crate::beneath::Links;
use crate::bounds::FILE_BYTES_MAX;
use crate::fault::ToolFault;
use crate::mark::mark;
use crate::protected::{Around, Protected, around, identity};
use crate::tool::parse;
use crate::workdir::{Workdir, load, open_entry, shown, size_of};
use crate::{edit, write};

/// The content of a file before a call and after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The real path beneath the working directory, without links.
    pub path: String,
    /// As it is now.
    pub before: Before,
    /// As the call would leave it.
    pub after: Vec<u8>,
    /// Whether only a call that a person looked at may change this file, or could.
    pub is_guarded: bool,
}

/// A file as it is before a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// The call would create it.
    Missing,
    /// All that is in it.
    Content(Vec<u8>),
    /// Larger than a tool takes into memory: its size, and when it was changed, in nanoseconds.
    Huge {
        /// How large it is.
        bytes: u64,
        /// Tells it from what somebody else makes of it meanwhile.
        changed_ns: i128,
    },
}

impl Before {
    /// Nothing where there is no file, or too much of it.
    pub fn content(&self) -> Option<&[u8]> {
        match self {
            Self::Content(content) => Some(content),
            Self::Missing | Self::Huge { .. } => None,
        }
    }
}

/// What a call would do to its file; nothing where the tool changes no file.
pub fn preview(
    workdir: &Workdir,
    tool: &str,
    arguments: &str,
) -> Option<Result<Preview, ToolFault>> {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    match tool {
        "edit" => Some(parse(arguments).and_then(|it| of_edit(workdir, &it))),
        "write" => Some(parse(arguments).and_then(|it| of_write(workdir, &it))),
        "append" => Some(parse(arguments).and_then(|it| of_append(workdir, &it))),
        _ => None,
    }
}

fn of_edit(workdir: &Workdir, arguments: &edit::EditArguments) -> Result<Preview, ToolFault> {
    edit::check(arguments)?;
    let found = look(workdir, &arguments.path)?;
    let before = match &found.before {
        Before::Missing => return Err(edit::not_found(&arguments.path)),
        before => content(before, &arguments.path)?,
    };
    let (_, after) = edit::edited(arguments, before)?;
    Ok(found.becoming(after.into_bytes()))
}

fn of_write(workdir: &Workdir, arguments: &write::WriteArguments) -> Result<Preview, ToolFault> {
    let found = look(workdir, &arguments.path)?;
    let content = arguments.content.as_bytes();
    if found.before.content() != Some(content) {
        let before = match &found.before {
            Before::Missing => None,
            Before::Content(content) => Some(mark(content)),
            // Only its content could be what is expected, and nobody reads that.
            Before::Huge { .. } => Some("of a file that is too large to read".into()),
        };
        write::refuse_unexpected(before, &found.path, arguments)?;
    }
    Ok(found.becoming(content.to_vec()))
}

fn of_append(workdir: &Workdir, arguments: &AppendArguments) -> Result<Preview, ToolFault> {
    let found = look(workdir, &arguments.path)?;
    let mut after = match &found.before {
        Before::Missing => vec![],
        before => content(before, &arguments.path)?.to_vec(),
    };
    after.extend_from_slice(arguments.content.as_bytes());
    Ok(found.becoming(after))
}

/// What a tool can only work with whole.
fn content<'a>(before: &'a Before, path: &str) -> Result<&'a [u8], ToolFault> {
    match before {
        Before::Missing => Ok(&[]),
        Before::Content(content) => Ok(content),
        Before::Huge { bytes, .. } => Err(ToolFault::too_large(path, *bytes, FILE_BYTES_MAX)),
    }
}

/// A file as it is now.
struct Found {
    path: String,
    before: Before,
    is_guarded: bool,
}

impl Found {
    fn becoming(self, after: Vec<u8>) -> Preview {
        Preview {
            path: self.path,
            before: self.before,
            after,
            is_guarded: self.is_guarded,
        }
    }
}

/// Opens what a path names as the tools do: beneath the directory, never through a link at its end, never waiting.
fn look(workdir: &Workdir, path: &str) -> Result<Found, ToolFault> {
    let relative = workdir.relative(path)?;
    let end = workdir
        .root()
        .end_of(&relative, Links::Inside)
        .map_err(|error| ToolFault::from_open(error, path))?;
    let mut missing = end.left;
    let name = missing.pop().ok_or_else(|| ToolFault::is_directory(path))?;
    let names = end.names.iter().chain(&missing).chain([&name]);
    let real: PathBuf = names.collect();
    let opened = match missing.is_empty() {
        true => open_entry(&end.dir, Path::new(&name)),
        false => Err(io::ErrorKind::NotFound.into()),
    };
    let fail = |error: &io::Error| ToolFault::from_io(error, path);
    let file = match opened {
        Ok(Some(file)) => Some(file),
        Ok(None) => return Err(ToolFault::not_a_file(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(fail(&error)),
    };
    let stat = fstat(&end.dir).map_err(|errno| fail(&errno.into()))?;
    let first = missing.first().unwrap_or(&name);
    let around = around(workdir.identity(), end.dir.as_fd(), identity(&stat), first);
    let around = around.map_err(|errno| fail(&errno.into()))?;
    let links = file.as_ref().map_or(1, |(_, stat)| stat.st_nlink);
    let is_guarded = around != Around::Nothing || links > 1 || is_guarded(&relative, &real);
    let before = match &file {
        Some((file, stat)) => whole(file, stat).map_err(|error| fail(&error))?,
        None => Before::Missing,
    };
    Ok(Found {
        path: shown(&real),
        before,
        is_guarded,
    })
}

fn whole(file: &File, stat: &Stat) -> io::Result<Before> {
    Ok(match load(file, stat, FILE_BYTES_MAX)? {
        Some(content) => Before::Content(content),
        None => Before::Huge {
            bytes: size_of(stat),
            changed_ns: i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec),
        },
    })
}

/// More than what is protected by name: what begins with a dot is a program's, and some of it configures programs.
fn is_guarded(given: &Path, real: &Path) -> bool {
    let is_hidden = |path: &Path| {
        let mut names = path.iter();
        names.any(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    [given, real]
        .iter()
        .any(|path| Protected::by_path(path).is_some() || is_hidden(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Dir(tempfile::TempDir);

    impl Dir {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory can be made");
            std::fs::write(dir.path().join("a"), "one\ntwo\n").expect("it can be written");
            std::os::unix::fs::symlink("/etc/passwd", dir.path().join("out"))
                .expect("a link can be made");
            std::os::unix::fs::symlink("a", dir.path().join("in")).expect("a link can be made");
            Self(dir)
        }

        fn preview(&self, tool: &str, arguments: &Value) -> Result<Preview, &'static str> {
            let workdir = Workdir::open(self.0.path()).expect("it can be opened");
            let preview = preview(&workdir, tool, &arguments.to_string());
            preview
                .expect("the tool changes files")
                .map_err(|fault| fault.code)
        }
    }

    #[test]
    fn what_a_call_would_make_of_its_file_is_told_and_nothing_is_changed() {
        let dir = Dir::new();
        for (tool, arguments, before, after) in [
            (
                "edit",
                json!({"path": "a", "old": "two", "new": "2"}),
                Some("one\ntwo\n"),
                "one\n2\n",
            ),
            (
                "edit",
                json!({"path": "in", "old": "two", "new": "2"}),
                Some("one\ntwo\n"),
                "one\n2\n",
            ),
            (
                "write",
                json!({"path": "a", "content": "x"}),
                Some("one\ntwo\n"),
                "x",
            ),
            ("write", json!({"path": "new/b", "content": "x"}), None, "x"),
            (
                "append",
                json!({"path": "a", "content": "x"}),
                Some("one\ntwo\n"),
                "one\ntwo\nx",
            ),
        ] {
            let preview = dir.preview(tool, &arguments).expect("it can be done");
            let bytes = |text: &str| text.as_bytes().to_vec();
            let before = before.map_or(Before::Missing, |it| Before::Content(bytes(it)));
            assert_eq!(preview.before, before, "{arguments}");
            assert_eq!(preview.after, bytes(after), "{arguments}");
            assert!(!preview.is_guarded, "{arguments}");
        }
        let now = std::fs::read_to_string(dir.0.path().join("a")).expect("it is there");
        assert_eq!(now, "one\ntwo\n");
        assert!(!dir.0.path().join("new").exists());
    }

    #[test]
    fn a_call_that_must_fail_says_so_before_it_is_approved() {
        let dir = Dir::new();
        for (tool, arguments, code) in [
            (
                "edit",
                json!({"path": "a", "old": "three", "new": "3"}),
                "unexpected_match_count",
            ),
            (
                "edit",
                json!({"path": "b", "old": "x", "new": "y"}),
                "not_found",
            ),
            (
                "write",
                json!({"path": "../a", "content": "x"}),
                "outside_directory",
            ),
            (
                "write",
                json!({"path": "out", "content": "x"}),
                "outside_directory",
            ),
            (
                "write",
                json!({"path": "a", "content": "x", "must_be_new": true}),
                "already_exists",
            ),
            (
                "write",
                json!({"path": ".", "content": "x"}),
                "is_directory",
            ),
        ] {
            assert_eq!(dir.preview(tool, &arguments), Err(code), "{arguments}");
        }
    }

    #[test]
    fn what_configures_later_programs_is_known() {
        let dir = Dir::new();
        std::fs::hard_link(dir.0.path().join("a"), dir.0.path().join("second"))
            .expect("a second name can be made");
        for path in [".git/config", "helper.ai", ".bashrc", "sub/.env", "second"] {
            let preview = dir.preview("append", &json!({"path": path, "content": "x"}));
            assert!(preview.expect("it can be done").is_guarded, "{path}");
        }
    }
}
