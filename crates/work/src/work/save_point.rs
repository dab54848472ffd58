//! An item's copy of the tree as it was before the call that is under way. A call that was under way when the process
//! died is made again on that: what it had done by then is gone, and so it happens once.
//!
//! Nothing here needs to outlive the machine: after a restart of that the copy is not taken up at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bonded_kernel::{Entry, Hash, Invocation, RunId};
use bonded_work_rules::{CallStatus, Change, Node, tool_trace};
use serde::{Deserialize, Serialize};

use crate::files::{PRIVATE_FILE, make_private_directory, read_json};
use crate::tree::{Checkpoints, Contents, TreeCopy, TreeError};
use bonded_host::regular;

/// Where more than this was changed it is not saved; the item begins again then.
pub(super) const SAVED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Which call of an item, of its own run or of one that it called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct CallId {
    run: RunId,
    turn: u32,
    call: u32,
}

/// Turn and number within the run, which are the same when the call is made again.
impl CallId {
    pub(super) fn of(call: &Invocation) -> Self {
        Self {
            run: call.run().clone(),
            turn: call.turn(),
            call: call.call(),
        }
    }
}

/// What the copy was before a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SavePoint {
    /// Those that were under way.
    calls: BTreeSet<CallId>,
    /// What was different from what was frozen. Nothing where that could not be saved, or where another call was under
    /// way: then nobody can tell what is whose.
    changes: Option<Vec<Change>>,
}

const FILE: &str = "call.json";
const CONTENTS: &str = "saved";

/// Saves what is in a copy before each call.
#[derive(Debug)]
pub(crate) struct SavePoints {
    item_dir: PathBuf,
    under_way: Mutex<BTreeSet<CallId>>,
}

impl SavePoints {
    pub(crate) fn new(item_dir: PathBuf) -> Self {
        Self {
            item_dir,
            under_way: Mutex::default(),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, BTreeSet<CallId>> {
        let under_way = self.under_way.lock();
        under_way.unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves what the copy is. An error means that it is not known afterwards what it was.
    pub(crate) fn begin(
        &self,
        call: &Invocation,
        copy: &TreeCopy,
        changes: Result<Vec<Change>, TreeError>,
    ) -> io::Result<()> {
        let mut under_way = self.under_way();
        let is_alone = under_way.is_empty();
        under_way.insert(CallId::of(call));
        let changes = changes.ok().filter(|changes| {
            let saved = || save_contents(&self.item_dir.join(CONTENTS), copy, changes);
            is_alone && saved().is_ok()
        });
        let before = SavePoint {
            calls: under_way.clone(),
            changes,
        };
        make_private_directory(&self.item_dir)?;
        replace(&self.item_dir.join(FILE), |mut file| {
            io::Write::write_all(&mut file, &serde_json::to_vec(&before)?)
        })
    }

    /// The file stays: whether the call has ended is told by the log and not by it.
    pub(crate) fn end(&self, call: &Invocation) {
        self.under_way().remove(&CallId::of(call));
    }
}

/// Contents that were saved for an earlier call are there already, by their hashes.
fn save_contents(dir: &Path, copy: &TreeCopy, changes: &[Change]) -> io::Result<()> {
    let files = changes.iter().filter_map(|change| match change.after {
        Some(Node::File { bytes, content, .. }) => Some((&change.path, bytes, content)),
        Some(Node::Link { .. } | Node::Directory { .. } | Node::Special { .. }) | None => None,
    });
    let files: Vec<_> = files.collect();
    if files.iter().map(|(_, bytes, _)| bytes).sum::<u64>() > SAVED_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    make_private_directory(dir)?;
    for (path, bytes, content) in files {
        let saved = dir.join(content.to_string());
        if !saved.exists() {
            let mut from = regular::open(&copy.path_of(path))?.take(bytes);
            replace(&saved, |mut to| io::copy(&mut from, &mut to).map(drop))?;
        }
    }
    Ok(())
}

/// Writes a file that is there whole or not at all, whenever the process dies.
///
/// Without a sync, which would cost more than many a call: it is for a process that dies and not for a machine.
fn replace(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    write(&options.mode(PRIVATE_FILE).open(&new)?)?;
    fs::rename(new, path)
}

/// Whether a call was under way when a process died, and what is known of the copy before it.
#[derive(Debug)]
pub(crate) enum InterruptedCall {
    /// None that had begun to change anything.
    Nothing,
    /// One: the copy was this before.
    At(Vec<Change>),
    /// One or several, and nobody knows.
    Unknown,
}

impl InterruptedCall {
    /// `logs` are those of the item's run and of the runs that it called.
    ///
    /// A save point counts only if a call that it names is still pending in a log; else it is left over from
    /// one that has ended.
    pub(crate) fn read(item_dir: &Path, logs: &[Vec<Entry>]) -> io::Result<Self> {
        let before: Option<SavePoint> = read_json(&item_dir.join(FILE))?;
        let Some(before) = before else {
            return Ok(Self::Nothing);
        };
        let pending = logs.iter().flat_map(|log| tool_trace(log));
        let mut pending = pending.filter(|call| call.status == CallStatus::Pending);
        let is_meant = pending.any(|call| {
            let (run, turn, call) = (call.run, call.turn, call.call);
            before.calls.contains(&CallId { run, turn, call })
        });
        Ok(match (is_meant, before.changes) {
            (false, _) => Self::Nothing,
            (true, Some(changes)) => Self::At(changes),
            (true, None) => Self::Unknown,
        })
    }
}

/// What was saved, and whatever else is kept.
#[derive(Debug)]
pub(crate) struct SavePointContents<'a> {
    pub(crate) item_dir: &'a Path,
    pub(crate) checkpoints: &'a Checkpoints,
}

impl Contents for SavePointContents<'_> {
    fn read(&self, content: &Hash) -> io::Result<Box<dyn Read + '_>> {
        let saved = self.item_dir.join(CONTENTS).join(content.to_string());
        match File::open(saved) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Contents::read(self.checkpoints, content)
            }
            Err(error) => Err(error),
        }
    }
}

/// Removes what was saved of an item that has ended.
pub(crate) fn forget(item_dir: &Path) -> io::Result<()> {
    let gone = |removed: io::Result<()>| match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    gone(fs::remove_file(item_dir.join(FILE)))?;
    gone(fs::remove_dir_all(item_dir.join(CONTENTS)))
}
