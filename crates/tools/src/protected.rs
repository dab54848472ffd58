//! What an agent must not change, and what it must not see, whichever tool it takes: one list for the file tools and
//! for commands.
//!
//! Whatever configures what starts later is a person's to change: what git and its kin keep, our own settings, and agent
//! files. And in a person's home, what lies below a name with a dot is where programs keep keys.
//!
//! Told by its name, in every spelling that some file system takes for the same, and by what it is: a directory that
//! git would take for a repository, or one that the `.git` of a directory above it leads to.

mod home;
mod layout;
mod repository;
mod spelling;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path};

pub use home::{homes, is_private};
pub use layout::BareLayout;
pub(crate) use repository::{Around, Identity, around, identity};

use spelling::folded;

/// Whether what has this name configures what starts later.
pub fn configures(name: &OsStr) -> bool {
    Protected::by_name(name).is_some()
}

/// What is protected, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protected {
    /// What git and its kin keep: a hook or a setting there runs commands when a person next uses them.
    Repository,
    /// The settings and keys of later runs.
    Settings,
    /// An agent: what a later run is told, and what it may do.
    Agent,
}

impl Protected {
    /// What a path leads into by one of its names; `None` where it is not protected by name.
    pub fn by_path(path: &Path) -> Option<Self> {
        let mut names = path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        let last = names.clone().next_back()?;
        names
            .find_map(Self::of_directory)
            .or_else(|| is_agent(last).then_some(Self::Agent))
    }

    /// What an entry of a directory is by its name, whether it is a file or a directory.
    pub fn by_name(name: &OsStr) -> Option<Self> {
        Self::of_directory(name).or_else(|| is_agent(name).then_some(Self::Agent))
    }

    /// What everything below such a name belongs to.
    fn of_directory(name: &OsStr) -> Option<Self> {
        let name = folded(name);
        let is_git =
            [".git", "git~1", ".hg", ".jj"].contains(&name.as_str()) || name.starts_with(".git:");
        let is_settings =
            name.starts_with(".ai-agent") || name == "ai-agent.json" || name == "ai-agent.env";
        match (is_git, is_settings) {
            (true, _) => Some(Self::Repository),
            (_, true) => Some(Self::Settings),
            _ => None,
        }
    }
}

impl fmt::Display for Protected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Repository => {
                "belongs to what git keeps, which can run commands when git is next used"
            }
            Self::Settings => "belongs to the settings of later runs",
            Self::Agent => "is an agent file, which decides what a later run does",
        })
    }
}

/// A directory may be named so; what lies in it is not an agent.
fn is_agent(name: &OsStr) -> bool {
    let name = folded(name);
    name.len() > 3 && name.ends_with(".ai")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protected_path_is_known_in_every_spelling_and_others_are_not_taken_for_one() {
        use Protected::{Agent, Repository, Settings};
        for (path, expected) in [
            (".git", Some(Repository)),
            ("a/.git/config", Some(Repository)),
            (".GIT/config", Some(Repository)),
            (".Git./hooks/x", Some(Repository)),
            (".git /hooks/x", Some(Repository)),
            ("git~1/config", Some(Repository)),
            (".git::$INDEX_ALLOCATION/config", Some(Repository)),
            (".g\u{200d}it/config", Some(Repository)),
            (".gi\u{feff}t", Some(Repository)),
            (".hg/hgrc", Some(Repository)),
            (".jj/repo/config.toml", Some(Repository)),
            (".ai-agent.json", Some(Settings)),
            ("sub/.AI-Agent.env", Some(Settings)),
            (".ai-agent/ai-agent.json", Some(Settings)),
            (".ai-agent.j\u{17f}on", Some(Settings)),
            (".ai-agent.local.json", Some(Settings)),
            ("etc/ai-agent.json", Some(Settings)),
            ("helper.ai", Some(Agent)),
            ("a/b/Helper.AI", Some(Agent)),
            ("helper.ai.", Some(Agent)),
            ("character.ai/readme", None),
            (".gitignore", None),
            (".github/workflows/x.yml", None),
            ("git/x", None),
            (".ai", None),
            ("ai-agent/main.rs", None),
            ("notes.ait", None),
            ("", None),
        ] {
            assert_eq!(Protected::by_path(Path::new(path)), expected, "{path:?}");
        }
    }
}
