//! What the file tools leave alone inside the working directory: nothing less than commands must.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use bonded_kernel::{Invocation, SandboxLevel};

use crate::fault::{self, ToolFault};
use crate::protected;
use crate::sandbox::SandboxPolicy;

/// Places of the machine that show what the processes of the person hold, or let in whoever may talk to them.
const OF_THE_MACHINE: [&str; 4] = ["/proc", "/run", "/var/run", "/etc/ai-agent"];

/// What the program keeps for the person, below the home or where the environment says.
const KEPT: [(&str, &str); 3] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// What lies before the name of the settings' secrets.
const SECRETS_FILES: [&str; 2] = [".ai-agent.env", "ai-agent.env"];

#[derive(Debug, Default)]
pub(crate) struct Guard {
    is_read_only: bool,
    /// Below the working directory: neither read nor written.
    hidden: Vec<PathBuf>,
    /// Below the working directory: read, and not written.
    protected: Vec<PathBuf>,
    /// The person's homes, where the working directory is one or holds one. Of what lies in it, a name that begins with
    /// a dot is a program's, and programs keep keys there.
    homes: Vec<PathBuf>,
    /// Absolute, without links.
    workdir: PathBuf,
}

impl Guard {
    /// `spellings` are those of the working directory.
    pub(crate) fn new(spellings: &[PathBuf], policy: &SandboxPolicy) -> Self {
        let is_read_only = policy.level == SandboxLevel::ReadOnly;
        let below = |path: &Path| relative_to(spellings, path);
        let mut hidden: Vec<PathBuf> = policy
            .hidden_paths
            .iter()
            .filter_map(|path| below(path))
            .collect();
        let protected = policy.protected_paths.iter();
        let protected = protected.filter_map(|path| below(path)).collect();
        let mut homes = vec![];
        let workdir = spellings.last().cloned().unwrap_or_default();
        // Whose commands may read everything has no need to hide it from a tool.
        if policy.level != SandboxLevel::Full {
            homes = protected::homes();
            let machine = OF_THE_MACHINE.iter().map(PathBuf::from);
            let places = machine.chain(kept(&homes));
            hidden.extend(places.filter_map(|path| below(&path)));
            homes.retain(|home| home.starts_with(&workdir));
        }
        hidden.sort();
        hidden.dedup();
        Self {
            is_read_only,
            hidden,
            protected,
            homes,
            workdir,
        }
    }

    /// Whether what lies at this path, which is real and relative to the working directory, is not shown.
    pub(crate) fn hides(&self, real: &Path) -> bool {
        if real.file_name().is_some_and(|name| {
            SECRETS_FILES
                .iter()
                .any(|file| name.eq_ignore_ascii_case(file))
        }) {
            return true;
        }
        self.hidden.iter().any(|hidden| is_at(real, hidden))
            || (!self.homes.is_empty()
                && protected::is_private(&self.workdir.join(real), &self.homes, &self.workdir))
    }

    pub(crate) fn check_read(
        &self,
        real: &Path,
        call: &Invocation,
        given: &str,
    ) -> Result<(), ToolFault> {
        if call.approved() || !self.hides(real) {
            return Ok(());
        }
        let why = "is one of the places where a person's keys or a program's own files are kept";
        Err(ToolFault::protected(given, why, call.tool()))
    }

    /// Nothing that anybody approves makes a run that may only read write.
    pub(crate) fn check_write(
        &self,
        real: &Path,
        call: &Invocation,
        given: &str,
    ) -> Result<(), ToolFault> {
        self.refuse_read_only()?;
        if !call.approved() && self.protected.iter().any(|it| real.starts_with(it)) {
            let why = "is where the accounts and the results of runs are kept";
            return Err(ToolFault::protected(given, why, call.tool()));
        }
        self.check_read(real, call, given)
    }

    pub(crate) fn refuse_read_only(&self) -> Result<(), ToolFault> {
        if self.is_read_only {
            let message = "this run may write nothing (--sandbox read-only)";
            return Err(ToolFault::new(fault::READ_ONLY, message));
        }
        Ok(())
    }
}

/// A hidden path, what lies below it, and what a program keeps beside it under a longer name, as databases do.
fn is_at(real: &Path, hidden: &Path) -> bool {
    if real.starts_with(hidden) {
        return true;
    }
    let beside = |name: &OsStr, longer: &OsStr| {
        let longer = longer.as_encoded_bytes();
        let rest = longer.strip_prefix(name.as_encoded_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"-") || rest.starts_with(b"."))
    };
    let mut names = real.components();
    let mut above = hidden.components();
    let Some(Component::Normal(last)) = above.next_back() else {
        return false;
    };
    above.all(|name| names.next() == Some(name))
        && matches!(names.next(), Some(Component::Normal(name)) if beside(last, name))
}

fn kept(homes: &[PathBuf]) -> Vec<PathBuf> {
    let places = KEPT.iter().flat_map(|(variable, default)| {
        let set = std::env::var_os(variable).map(PathBuf::from);
        let defaults = homes.iter().map(move |home| home.join(default));
        set.into_iter().chain(defaults)
    });
    places.map(|dir| dir.join("bonded")).collect()
}

/// The path below the working directory, if it lies there; whoever works in such a place was told to.
fn relative_to(spellings: &[PathBuf], path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize();
    let candidates = [real.as_deref().unwrap_or(path), path];
    candidates.iter().find_map(|path| {
        let below = spellings
            .iter()
            .find_map(|root| path.strip_prefix(root).ok());
        below
            .filter(|below| !below.as_os_str().is_empty())
            .map(Path::to_path_buf)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_places_and_what_lies_beside_them_are_told_from_their_neighbours() {
        let guard = Guard {
            is_read_only: false,
            hidden: vec!["data/store.db".into(), "keys".into()],
            protected: vec![],
            homes: vec!["/top/home/ada".into()],
            workdir: "/top".into(),
        };
        for (path, expected) in [
            ("data/store.db", true),
            ("data/store.db-wal", true),
            ("data/store.db.workers/1", true),
            ("data/store.dbx", false),
            ("data/other", false),
            ("keys/a/b", true),
            ("keysmith", false),
            ("home/ada/.ssh/id", true),
            ("home/ada/.bashrc", true),
            ("home/ada/work/.github/x", false),
            ("home/ada", false),
            (".github/x", false),
            ("sub/.ai-agent.env", true),
            ("sub/ai-agent.env", true),
            ("sub/.env", false),
        ] {
            assert_eq!(guard.hides(Path::new(path)), expected, "{path}");
        }
    }
}
