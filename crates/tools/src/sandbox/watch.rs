//! What a command made that would configure programs that start later. It is looked for when the command has ended, and
//! put aside: no filter sees the names of files before they are made.
//!
//! An inventory is taken before the command starts and compared with one that is taken after it has ended. What
//! was there before is protected while the command runs, so that only new things matter. They are renamed,
//! never removed: a person may want them, and is told where they are. Two commands may run at once, and each
//! may put aside what the other made; the notice then names the wrong one, and nothing worse happens.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::SandboxLevel;

use super::inventory::{Find, FindKind, Inventory, Top, make_inert};
use super::order::Walls;
use super::{Sandbox, ShortfallListener};

/// How many of them are named.
const NAMED_MAX: usize = 5;

/// Held while a command runs. When it goes, what the command made is looked at.
#[derive(Debug)]
pub(super) struct Watch {
    top: Top,
    inventory: Arc<Mutex<Inventory>>,
    before: BTreeSet<Find>,
    /// Whether what was there before could not be replaced, so that its path is enough to know it.
    was_held: bool,
    /// Who is watched, as the beginning of a sentence.
    who: &'static str,
    teller: ShortfallListener,
    /// Set when it was settled or let be, so that dropping it does nothing more.
    is_over: bool,
}

impl Watch {
    /// Takes an inventory. `None` where commands write nothing that stays, or whatever they like.
    ///
    /// The first look at a tree reads all of it; later ones read what has changed. It blocks for as long as
    /// that takes.
    pub(super) fn begin(sandbox: &Sandbox, who: &'static str) -> io::Result<Option<Self>> {
        if sandbox.policy.level != SandboxLevel::WorkspaceWrite {
            return Ok(None);
        }
        let found = sandbox.found();
        let top = Top::open(&sandbox.workdir, found.homes.clone())?;
        let inventory = Arc::clone(&sandbox.inventory);
        let mut held = inventory.lock().unwrap_or_else(PoisonError::into_inner);
        let before = held.look(&top);
        drop(held);
        Ok(Some(Self {
            top,
            inventory,
            before,
            was_held: found.means.walls(sandbox.policy.level) == Walls::Namespaces,
            who,
            teller: sandbox.teller.clone(),
            is_over: false,
        }))
    }

    /// What was there when it began.
    pub(super) fn before(&self) -> &BTreeSet<Find> {
        &self.before
    }

    /// The directory that is watched.
    pub(super) fn dir(&self) -> &Path {
        self.top.path()
    }

    /// Takes what is there now for what was there when it began.
    ///
    /// Called when an approved call has ended: what it made is the person's from then on.
    pub(super) fn accept(&mut self) {
        let now = self.inventory().look(&self.top);
        self.before = now;
    }

    /// Lets be what the command made.
    pub(super) fn let_be(mut self) {
        self.is_over = true;
    }

    /// Puts aside what is new, and says so.
    pub(super) fn settle(mut self) -> Option<String> {
        self.is_over = true;
        self.put_aside()
    }

    fn inventory(&self) -> MutexGuard<'_, Inventory> {
        // What was seen of a directory is whole by itself.
        let inventory = self.inventory.lock();
        inventory.unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts aside what is new, and says so.
    ///
    /// Where the old things were held by mounts, their paths tell that they are the same: a person may replace
    /// them meanwhile, a command cannot. Elsewhere a command could have replaced one, and the number of the
    /// file must be the same too.
    pub(super) fn put_aside(&self) -> Option<String> {
        let held: BTreeSet<(&PathBuf, FindKind)> = match self.was_held {
            true => self
                .before
                .iter()
                .map(|find| (&find.path, find.kind))
                .collect(),
            false => BTreeSet::new(),
        };
        let is_known =
            |find: &Find| held.contains(&(&find.path, find.kind)) || self.before.contains(find);
        let (inert, left) = make_inert(&self.top, &mut self.inventory(), is_known);
        if inert.is_empty() && left.is_empty() {
            return None;
        }
        let mut named: Vec<String> = inert
            .iter()
            .map(|it| format!("{} is now {}", it.was.display(), it.is.display()))
            .collect();
        named.extend(
            left.iter()
                .map(|path| format!("{} could not be put aside", path.display())),
        );
        let more = named.len().saturating_sub(NAMED_MAX);
        named.truncate(NAMED_MAX);
        let more = match more {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let notice = format!(
            "{} made what would configure later programs (a repository, an agent file or a configuration), \
             which only a call that a person approved may do; it was renamed: {}{more}",
            self.who,
            named.join(", ")
        );
        self.teller.tell(&notice);
        Some(notice)
    }
}

/// Where a command is given up half-way, what it made is put aside all the same.
impl Drop for Watch {
    fn drop(&mut self) {
        if !self.is_over {
            self.put_aside();
        }
    }
}
