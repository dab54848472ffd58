//! What a command is to see and write: from a policy, a working directory and this process's own variables to an order.
//!
//! Everything is decided here, by this process, and with its eyes: inside, half of it could not be seen. Three
//! lists come out. What is hidden is covered; what is shown lies in something hidden and is seen read-only all
//! the same; what is protected lies in the working directory and is never written. The working directory itself
//! is always seen, also where it lies in a hidden home. Paths are compared without links, and only what exists
//! is put on a list: a mount needs something to be put on.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bonded_kernel::SandboxLevel;
use rustix::process::{getpid, getuid};

use super::inventory::{Find, FindKind};
use super::launch::Manner;
use super::order::{Order, OwnHome, Walls};
use super::scratch::{ScratchDir, tmp};
use super::secret_places::{self, there};
use super::stand_in::GIT;
use super::{Sandbox, git, toolchains};
use crate::protected::is_private;

/// What git reads of a repository without a work tree around it.
///
/// They are protected one by one where the working directory itself is such a repository: as a whole it could
/// not be worked in.
const PARTS_OF_BARE: [&str; 9] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "hooks",
    "info",
    "objects",
    "packed-refs",
    "refs",
];

/// A place as a person writes it: from the home where it begins with `~`, else from the working directory.
///
/// `~name` is no home here but a name like any other.
pub(super) fn meant(path: &Path, workdir: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(inside) => match std::env::home_dir() {
            Some(home) => home.join(inside),
            None => path.to_owned(),
        },
        Err(_) => workdir.join(path),
    }
}

impl Sandbox {
    /// What the launcher is told, and the command's home as it is told by, where it is not the person's.
    pub(super) fn order(
        &self,
        scratch: &ScratchDir,
        manner: Manner,
        finds: &BTreeSet<Find>,
        token: &str,
    ) -> io::Result<(Order, Option<OsString>)> {
        let (policy, means) = (&self.policy, &self.found().means);
        let walls = means.walls(policy.level);
        let ours: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let hidden = self.hidden(&ours);
        let (home, home_variable) = self.home(scratch, walls, &hidden)?;
        let order = Order {
            parent: getpid().as_raw_pid(),
            level: policy.level,
            network: policy.network,
            walls,
            landlock: means.landlock > 0,
            seccomp: means.seccomp.is_ok(),
            private_proc: means.private_proc && walls == Walls::Namespaces,
            limits: policy.limits,
            workdir: self.workdir.clone(),
            scratch: scratch.path().to_owned(),
            token: token.to_owned(),
            home,
            shown: self.shown(&ours, &hidden),
            protected: self.protected(manner, finds, &hidden),
            hidden,
            variables: vec![],
        };
        let home_variable = (policy.level != SandboxLevel::Full).then_some(home_variable);
        Ok((order, home_variable))
    }

    /// Whether a place is in the working directory, itself included.
    fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(&self.workdir)
    }

    /// The homes as a whole. Of one that is in the working directory, what is private.
    ///
    /// What a person shows is taken from the places that are known to hold keys, never from `hidden_paths`:
    /// those are demanded by whoever made the policy. What lies under another cover is left out, since it needs
    /// no cover of its own.
    fn hidden(&self, ours: &[(OsString, OsString)]) -> Vec<PathBuf> {
        let policy = &self.policy;
        let mut hidden = vec![];
        for home in &self.found().homes {
            match self.is_inside(home) {
                true => hidden.extend(self.private_in(home)),
                false => hidden.push(home.clone()),
            }
        }
        let mut others = secret_places::of_machine(getuid().as_raw());
        others.extend(secret_places::relocated(ours, &policy.env_pass));
        others.retain(|place| !policy.show.iter().any(|shown| place.starts_with(shown)));
        hidden.extend(others);
        hidden.extend(there(policy.hidden_paths.iter().cloned()));
        hidden.sort();
        hidden.dedup();
        let all = hidden.clone();
        hidden.retain(|place| !all.iter().any(|cover| self.covers(cover, place)));
        hidden
    }

    /// What lies in a hidden directory is hidden with it, unless something in between is shown.
    fn covers(&self, cover: &Path, place: &Path) -> bool {
        let mut shown = self.policy.show.iter().chain([&self.workdir]);
        let is_between = |it: &PathBuf| it.starts_with(cover) && place.starts_with(it);
        place != cover && place.starts_with(cover) && !shown.any(is_between)
    }

    /// The entries of a home that a command works in. They are looked at again for each command: a person may
    /// have made new ones.
    fn private_in(&self, home: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
        let homes = [home.to_owned()];
        entries
            .map(|entry| entry.path())
            .filter(|path| is_private(path, &homes, &self.workdir))
            .filter(|path| !self.policy.show.contains(path))
            .collect()
    }

    /// Where the command's home is kept and seen, and what its variable says.
    ///
    /// It is seen where the person's is, so that programs that ask the system for the home instead of the
    /// variable find it. Without walls nothing can be put there, and it is seen where it is kept. The variable
    /// keeps the spelling of the person's where that leads to the same place.
    fn home(
        &self,
        scratch: &ScratchDir,
        walls: Walls,
        hidden: &[PathBuf],
    ) -> io::Result<(OwnHome, OsString)> {
        let kept = self.kept_home(scratch)?;
        let persons = self.found().homes.first();
        let seen = match persons.filter(|home| walls != Walls::None && hidden.contains(home)) {
            Some(home) => home.clone(),
            None => kept.clone(),
        };
        let variable = std::env::var_os("HOME").filter(|home| {
            Path::new(home)
                .canonicalize()
                .is_ok_and(|home| home == seen)
        });
        let variable = variable.unwrap_or_else(|| seen.clone().into());
        Ok((OwnHome { kept, seen }, variable))
    }

    /// A home that cannot be made is no reason to refuse a command: it gets one that goes with its scratch
    /// directory, and the person is told.
    fn kept_home(&self, scratch: &ScratchDir) -> io::Result<PathBuf> {
        let mut private = DirBuilder::new();
        private.mode(0o700).recursive(true);
        if let Some(home) = &self.policy.home
            && self.policy.level != SandboxLevel::Full
        {
            match private.create(home).and_then(|()| home.canonicalize()) {
                Ok(home) => return Ok(home),
                Err(error) => self.teller.tell(&format!(
                    "commands have a home that is not kept, because {} cannot be made: {error}",
                    home.display()
                )),
            }
        }
        let home = tmp(scratch.path()).join("home");
        private.create(&home)?;
        home.canonicalize()
    }

    /// What is seen of what is hidden: toolchains, what the person named, and where git keeps this work tree.
    ///
    /// What is seen anyway, because no cover is over it, is left out, and so is a cover itself.
    fn shown(&self, ours: &[(OsString, OsString)], hidden: &[PathBuf]) -> Vec<PathBuf> {
        let mut shown = self.policy.show.clone();
        for home in self
            .found()
            .homes
            .iter()
            .filter(|home| hidden.contains(home))
        {
            shown.extend(toolchains::shown(home, ours, self.policy.network));
        }
        shown.extend(git::confirmed_for(&self.workdir.join(".git")));
        shown.sort();
        shown.dedup_by(|later, earlier| later.starts_with(earlier));
        shown.retain(|place| {
            let is_hidden = |cover: &PathBuf| place.starts_with(cover) && place != cover;
            hidden.iter().any(is_hidden) && !self.is_inside(place)
        });
        shown
    }

    /// Whatever configures later programs, unless a person said that this command may change it.
    ///
    /// What is hidden need not be protected, and what is outside the working directory cannot be written to
    /// begin with.
    fn protected(
        &self,
        manner: Manner,
        finds: &BTreeSet<Find>,
        hidden: &[PathBuf],
    ) -> Vec<PathBuf> {
        let mut protected = self.policy.protected_paths.clone();
        if manner != Manner::Approved {
            // Where there is none, something stands in for it.
            protected.push(self.workdir.join(GIT));
            for find in finds {
                let path = self.workdir.join(&find.path);
                match find.kind {
                    FindKind::Bare if find.path.as_os_str().is_empty() => {
                        protected.extend(PARTS_OF_BARE.map(|part| path.join(part)));
                    }
                    FindKind::Bare => protected.push(path),
                    FindKind::Named => {
                        protected.extend(git::kept_for(&path));
                        protected.push(path);
                    }
                }
            }
        }
        let is_hidden = |path: &PathBuf| {
            hidden
                .iter()
                .any(|cover| path.starts_with(cover) && !self.workdir.starts_with(cover))
        };
        // The directory itself is what commands work in, whatever else is kept there.
        let is_below = |path: &PathBuf| self.is_inside(path) && *path != self.workdir;
        protected
            .retain(|path| is_below(path) && path.symlink_metadata().is_ok() && !is_hidden(path));
        protected.sort();
        protected.dedup();
        protected
    }
}
