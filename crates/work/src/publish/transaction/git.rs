//! The `git` program, asked for one thing at a time. It runs no hook, no monitor, no pager and no transport, takes no
//! lock that is optional, and heeds no variable that would lead it to another repository.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::commit_error::CommitError;

/// Settings that hold whatever the user has set. `all` is for a commit that outlives a power cut.
const SETTINGS: [&str; 9] = [
    "commit.gpgSign=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.fsync=all",
    "core.safecrlf=false",
    "gc.auto=0",
    "i18n.commitEncoding=UTF-8",
    "maintenance.auto=false",
    "protocol.allow=never",
];
/// The variables of git that are the user's own and lead nowhere else.
const KEPT_VARIABLES: [&str; 8] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
];

/// A setting whose key is a stranger's bytes.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) key: Vec<u8>,
    pub(super) value: &'static str,
}

/// Where commands run and what they see; it is copied freely and changed by copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Git<'a> {
    pub(super) tree: &'a Path,
    /// The repository's own where there is none.
    pub(super) index: Option<&'a Path>,
    /// What holds for this repository beside all else.
    pub(super) settings: &'a [Setting],
    /// Where objects are written; into the repository where there is none.
    objects: Option<&'a Path>,
}

/// One command of git.
#[derive(Debug)]
pub(super) struct GitCommand {
    command: Command,
    name: String,
}

impl<'a> Git<'a> {
    pub(super) fn of(tree: &'a Path) -> Self {
        Self {
            tree,
            index: None,
            settings: &[],
            objects: None,
        }
    }

    pub(super) fn with_settings(self, settings: &'a [Setting]) -> Self {
        Self { settings, ..self }
    }

    /// Objects are written to a directory of their own. Those of the repository are not seen then.
    pub(super) fn with_objects(self, dir: &'a Path) -> Self {
        let objects = Some(dir);
        Self { objects, ..self }
    }

    pub(super) fn with_index(self, index: &'a Path) -> Self {
        let index = Some(index);
        Self { index, ..self }
    }

    /// Every variable that begins with `GIT_` goes but those that are kept, since a hook or a wrapper around
    /// this program may have set ones that lead to another repository or index.
    pub(super) fn command<'s>(&self, arguments: impl IntoIterator<Item = &'s str>) -> GitCommand {
        let mut command = Command::new("git");
        for (variable, _) in std::env::vars_os() {
            let name = variable.as_bytes();
            let is_kept = KEPT_VARIABLES.iter().any(|kept| kept.as_bytes() == name);
            if name.starts_with(b"GIT_") && !is_kept {
                command.env_remove(&variable);
            }
        }
        command.arg("-C").arg(self.tree).arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.env("GIT_OPTIONAL_LOCKS", "0");
        command.env("GIT_TERMINAL_PROMPT", "0");
        command.env("GIT_NO_LAZY_FETCH", "1");
        // Versions that fetch all the same have no way to.
        command.env("GIT_ALLOW_PROTOCOL", "");
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (number, Setting { key, value }) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), OsStr::from_bytes(key));
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.env("LC_ALL", "C");
        if let Some(index) = self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some(objects) = self.objects {
            command.env("GIT_OBJECT_DIRECTORY", objects);
        }
        let arguments: Vec<&str> = arguments.into_iter().collect();
        let name = arguments.first().copied().unwrap_or_default().to_owned();
        command.args(arguments);
        GitCommand { command, name }
    }
}

impl GitCommand {
    pub(super) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(super) fn env(mut self, variable: &str, value: &str) -> Self {
        self.command.env(variable, value);
        self
    }

    /// What it says; it must succeed.
    pub(super) fn answer(self, input: &mut dyn Read) -> Result<Vec<u8>, CommitError> {
        let name = self.name.clone();
        let output = self.run(input)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(refused(&name, &output)),
        }
    }

    /// What it says in one line, without the end of that.
    pub(super) fn line(self, input: &mut dyn Read) -> Result<String, CommitError> {
        let answer = self.answer(input)?;
        Ok(one_line(&answer))
    }

    /// What it says; nothing where it ends with 1, which is its "no".
    pub(super) fn maybe(self, input: &mut dyn Read) -> Result<Option<Vec<u8>>, CommitError> {
        let name = self.name.clone();
        let output = self.run(input)?;
        match output.status.code() {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            _ => Err(refused(&name, &output)),
        }
    }

    /// What cannot be started counts as git that is not there.
    fn run(mut self, input: &mut dyn Read) -> Result<Output, CommitError> {
        let output = whole(input).and_then(|input| self.command.stdin(input).output());
        output.map_err(|source| CommitError::NoGit { source })
    }
}

/// All of the input, in a file without a name. From a pipe, git would take the part that it has for the whole if this
/// process died, and put that into an index or an object.
fn whole(input: &mut dyn Read) -> io::Result<Stdio> {
    let mut first = [0];
    if input.read(&mut first)? == 0 {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(&first)?;
    io::copy(input, &mut file)?;
    file.rewind()?;
    Ok(file.into())
}

/// Git's own words, for a person.
fn refused(name: &str, output: &Output) -> CommitError {
    let message = String::from_utf8_lossy(&output.stderr);
    CommitError::Refused {
        command: name.to_owned(),
        message: message.trim().to_owned(),
    }
}

pub(super) fn one_line(answer: &[u8]) -> String {
    let line = answer.strip_suffix(b"\n").unwrap_or(answer);
    String::from_utf8_lossy(line).into_owned()
}

/// An argument that is bytes.
pub(super) fn argument(prefix: &str, bytes: &[u8]) -> OsString {
    let mut argument = OsString::from(prefix);
    argument.push(OsStr::from_bytes(bytes));
    argument
}
