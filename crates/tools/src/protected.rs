//! What an agent must not change, and what it must not see, whichever tool it takes: one list for the file tools and
//! for commands.
//!
//! Whatever configures a program that starts later would let an agent act outside its sandbox: what git and its kin
//! keep, our own configuration, and agent files. And in a person's home, what lies below a name with a dot is where
//! programs keep keys.

#![expect(
    dead_code,
    reason = "the file tools and the sandbox take it up one by one"
)]

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The names under which version control keeps its settings, which say what it starts.
const REPOSITORIES: [&str; 3] = [".git", ".hg", ".jj"];

/// Our own configuration begins so: `.ai-agent.json`, `.ai-agent.env`.
const CONFIGURATION: &str = ".ai-agent";

/// An agent file ends so.
const AGENT_FILE: &str = ".ai";

/// Whether what has this name configures what starts later. Some file systems do not tell upper case from lower.
pub(crate) fn configures(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let begins = |with: &str| {
        let head = name.get(..with.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(with.as_bytes()))
    };
    let ends = |with: &str| {
        let tail = name.len().checked_sub(with.len()).map(|at| &name[at..]);
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(with.as_bytes()))
    };
    let is_repository = REPOSITORIES
        .iter()
        .any(|kept| name.eq_ignore_ascii_case(kept.as_bytes()));
    is_repository || begins(CONFIGURATION) || (ends(AGENT_FILE) && name.len() > AGENT_FILE.len())
}

/// The entries of a directory that make it a repository by itself, without a `.git` around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BareLayout {
    head: bool,
    objects: bool,
    refs: bool,
    shared: bool,
}

impl BareLayout {
    /// Takes note of an entry of the directory.
    pub(crate) fn see(&mut self, name: &OsStr) {
        let is = |other: &str| {
            let name = name.as_encoded_bytes();
            name.eq_ignore_ascii_case(other.as_bytes())
        };
        self.head |= is("HEAD");
        self.objects |= is("objects");
        self.refs |= is("refs");
        self.shared |= is("commondir");
    }

    /// Whether git would take the directory for a repository.
    pub(crate) fn is_whole(self) -> bool {
        self.head && (self.shared || (self.objects && self.refs))
    }
}

/// The homes of whoever runs this: what HOME says, and what the user database says, which programs ask as well.
/// Absolute, without links, each once; a home that is the root of all files is none.
pub(crate) fn homes() -> Vec<PathBuf> {
    let said = std::env::var_os("HOME").map(PathBuf::from);
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let known = home_of(&users, rustix::process::getuid().as_raw());
    let mut homes: Vec<PathBuf> = [said, known]
        .into_iter()
        .flatten()
        .filter(|home| home.is_absolute())
        .filter_map(|home| home.canonicalize().ok())
        .filter(|home| home.parent().is_some())
        .collect();
    if homes.len() == 2 && homes[0] == homes[1] {
        homes.pop();
    }
    homes
}

fn home_of(users: &str, uid: u32) -> Option<PathBuf> {
    let mut lines = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let fields = lines.find(|fields| fields.get(2).and_then(|id| id.parse().ok()) == Some(uid))?;
    fields.get(5).map(PathBuf::from)
}

/// Whether a place is a person's own: in a home, at or below an entry whose name begins with a dot. A working
/// directory that lies there itself was named by the person. Both are absolute and without links.
pub(crate) fn is_private(place: &Path, homes: &[PathBuf], workdir: &Path) -> bool {
    homes.iter().any(|home| {
        let first = place
            .strip_prefix(home)
            .ok()
            .and_then(|inside| inside.components().next());
        let Some(Component::Normal(first)) = first else {
            return false;
        };
        let is_dotted = first.as_encoded_bytes().starts_with(b".");
        is_dotted && !workdir.starts_with(home.join(first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_configuration_and_agent_files_configure_and_nothing_else_does() {
        for name in [
            ".git",
            ".GIT",
            ".hg",
            ".jj",
            ".ai-agent.json",
            ".AI-agent.env",
            ".ai-agent",
            "writer.ai",
            "Writer.AI",
        ] {
            assert!(configures(OsStr::new(name)), "{name}");
        }
        for name in [
            "",
            ".ai",
            "git",
            ".gitignore",
            ".github",
            "main.air",
            "ai",
            "a.ai.txt",
        ] {
            assert!(!configures(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_directory_is_a_repository_by_what_git_looks_for() {
        let whole = |names: &[&str]| {
            let mut layout = BareLayout::default();
            names.iter().for_each(|name| layout.see(OsStr::new(name)));
            layout.is_whole()
        };
        assert!(whole(&["HEAD", "objects", "refs"]));
        assert!(whole(&["HEAD", "commondir"]));
        assert!(!whole(&["objects", "refs", "config"]));
        assert!(!whole(&["HEAD", "objects"]));
    }

    #[test]
    fn the_user_database_knows_homes_by_number() {
        let users = "root:x:0:0::/root:/bin/sh\nbroken\nme:x:1000:1000:a,b:/home/me:/bin/sh\n";
        assert_eq!(home_of(users, 1000), Some("/home/me".into()));
        assert_eq!(home_of(users, 7), None);
    }

    #[test]
    fn what_lies_below_a_dot_in_a_home_is_private_unless_it_was_named() {
        let homes = [PathBuf::from("/home/me")];
        let is =
            |place: &str, workdir: &str| is_private(Path::new(place), &homes, Path::new(workdir));
        assert!(is("/home/me/.ssh/id", "/home/me"));
        assert!(is("/home/me/.netrc", "/"));
        assert!(!is("/home/me/src/.env", "/home/me"));
        assert!(!is("/home/me", "/home/me"));
        assert!(!is("/srv/.x", "/srv"));
        assert!(!is("/home/me/.config/app/x", "/home/me/.config/app"));
    }
}
