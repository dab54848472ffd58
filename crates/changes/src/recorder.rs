//! What the file tools tell of their changes, put into the record of the run.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::{Hash, Invocation, RunId};
use bonded_tools::recording::{
    ChangeEnd, ChangeRecorder, ComingChange, FileRights, NewContent, RecordedChange,
};

use crate::bounds::{CONTENT_BYTES_MAX, RUN_BYTES_MAX};
use crate::error::ChangesError;
use crate::frame::{ChangeSet, ChangedBy, Frame, Outcome, PathChange};
use crate::node::{FileNode, Node};
use crate::record::Record;
use crate::records::Records;

/// How many records are held open at the same time.
const OPEN_MAX: usize = 32;

/// What the writer of a file takes from it: they would lend the owner's rights to the new content.
const LENT_RIGHTS: u32 = 0o6000;

/// Says whether a content must not be kept, because it holds a secret.
pub type HoldsSecret = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Keeps what the file tools of a directory change.
pub struct Recorder {
    records: Records,
    dir: PathBuf,
    /// The run at the root of the tree, whose record holds what the agents do that it calls; `None` where each call's own
    /// run is that.
    origin: Option<RunId>,
    open: Mutex<BTreeMap<RunId, Arc<Mutex<Record>>>>,
    holds_secret: Option<HoldsSecret>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({})", self.dir.display())
    }
}

impl Recorder {
    /// For runs that work in `dir`. What agents change that `origin` called belongs to its record.
    pub fn new(records: Records, dir: PathBuf, origin: Option<RunId>) -> Self {
        Self {
            records,
            dir,
            origin,
            open: Mutex::default(),
            holds_secret: None,
        }
    }

    /// The same; contents with secrets are not kept, and what held one cannot be undone.
    #[must_use]
    pub fn without(mut self, holds_secret: HoldsSecret) -> Self {
        self.holds_secret = Some(holds_secret);
        self
    }

    fn record_of(&self, call: &Invocation) -> Result<Arc<Mutex<Record>>, ChangesError> {
        let run = self.origin.as_ref().unwrap_or(call.run());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = open.get(run) {
            return Ok(record.clone());
        }
        if open.len() >= OPEN_MAX {
            open.pop_first();
        }
        let record = Arc::new(Mutex::new(self.records.begin(run, &self.dir)?));
        open.insert(run.clone(), record.clone());
        Ok(record)
    }

    fn forget(&self, call: &Invocation) {
        let run = self.origin.as_ref().unwrap_or(call.run());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(run);
    }

    fn write(&self, coming: &ComingChange<'_>) -> Result<RecordedChange, ChangesError> {
        let shared = self.record_of(coming.call)?;
        let mut record = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let _lock = record.lock()?;
        record.catch_up()?;
        let kept = NewContents::of(coming, &record, self.holds_secret.as_ref());
        let set = ChangeSet {
            set: record.next_set(),
            by: ChangedBy::Call {
                run: coming.call.run().clone(),
                turn: coming.call.turn(),
                call: coming.call.call(),
                tool: coming.call.tool().to_owned(),
            },
            changes: changes(coming, &kept),
            dirs: coming.dirs.clone(),
            times: vec![],
            leftovers: coming.leftover.clone().into_iter().collect(),
        };
        let number = set.set;
        let changing = Frame::Changing(set);
        let mut frames = kept.frames();
        frames.push((&changing, &[]));
        record.append(&frames, true)?;
        Ok(RecordedChange(number))
    }

    /// Not synced: whoever undoes a change that was not said to be made looks at the directory.
    fn write_end(
        &self,
        call: &Invocation,
        change: RecordedChange,
        end: &ChangeEnd,
    ) -> Result<(), ChangesError> {
        let shared = self.record_of(call)?;
        let mut record = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let _lock = record.lock()?;
        record.catch_up()?;
        let outcome = match end {
            ChangeEnd::NotMade => Outcome::NotMade,
            ChangeEnd::Made { rights, dirs } => Outcome::Made {
                rights: Some((rights.mode, rights.uid, rights.gid)),
                dirs: dirs.clone(),
            },
        };
        let set = change.0;
        record.append(&[(&Frame::Changed { set, outcome }, &[])], false)
    }
}

impl ChangeRecorder for Recorder {
    fn begin(&self, coming: &ComingChange<'_>) -> io::Result<RecordedChange> {
        let is_gone = self
            .record_of(coming.call)
            .is_ok_and(|it| it.lock().is_ok_and(|it| it.is_gone()));
        if is_gone {
            self.forget(coming.call);
        }
        self.write(coming).map_err(|error| {
            // What is in memory of it may not be what is in the file.
            self.forget(coming.call);
            io::Error::other(error.to_string())
        })
    }

    fn end(&self, call: &Invocation, change: RecordedChange, end: &ChangeEnd) {
        if self.write_end(call, change, end).is_err() {
            self.forget(call);
        }
    }
}

/// What the file holds before and after, and which of both the record has not yet.
struct NewContents<'a> {
    before: Option<Hash>,
    after: Option<Hash>,
    after_bytes: u64,
    new: Vec<(Frame, &'a [u8])>,
}

impl<'a> NewContents<'a> {
    fn of(
        coming: &'a ComingChange<'_>,
        record: &Record,
        holds_secret: Option<&HoldsSecret>,
    ) -> Self {
        let before = coming.before.as_ref().and_then(|it| it.content);
        let hash_before = before.map(Hash::of);
        let (added, base, after_bytes) = match coming.after {
            NewContent::Whole(content) => (content, None, content.len() as u64),
            NewContent::Added(added) => {
                let size = coming.before.as_ref().map_or(0, |it| it.bytes);
                (added, hash_before, size + added.len() as u64)
            }
        };
        let hash_after = {
            let mut hasher = blake3::Hasher::new();
            hasher.update(base.and(before).unwrap_or_default());
            hasher.update(added);
            Some(Hash::from(hasher)).filter(|_| after_bytes <= CONTENT_BYTES_MAX)
        };
        let mut new = vec![];
        let mut room = RUN_BYTES_MAX.saturating_sub(record.bytes());
        let mut keep = |hash: Option<Hash>, base: Option<Hash>, content: &'a [u8]| {
            let Some(hash) = hash.filter(|it| !record.holds(it)) else {
                return;
            };
            let bytes = content.len() as u64;
            let is_secret = holds_secret.is_some_and(|it| it(content));
            if bytes <= CONTENT_BYTES_MAX && bytes <= room && !is_secret {
                room -= bytes;
                new.push((Frame::Kept { hash, base }, content));
            }
        };
        keep(hash_before, None, before.unwrap_or_default());
        if hash_after != hash_before {
            keep(hash_after, base, added);
        }
        Self {
            before: hash_before,
            after: hash_after,
            after_bytes,
            new,
        }
    }

    fn frames(&self) -> Vec<(&Frame, &'a [u8])> {
        let new = self.new.iter();
        new.map(|(frame, content)| (frame, *content)).collect()
    }
}

fn changes(coming: &ComingChange<'_>, kept: &NewContents<'_>) -> Vec<PathChange> {
    let made = coming.made_dirs.iter().map(|path| PathChange {
        path: path.clone(),
        from: Node::Absent,
        to: Node::Directory { mode: None },
        names: None,
    });
    let from = match &coming.before {
        None => Node::Absent,
        Some(seen) => Node::File(FileNode::new(seen.bytes, kept.before, Some(seen.rights))),
    };
    let rights = coming
        .before
        .as_ref()
        .map(|seen| after(seen.rights, coming));
    let to = Node::File(FileNode {
        // Who may own it is known when it is made.
        owner: None,
        ..FileNode::new(kept.after_bytes, kept.after, rights)
    });
    let names = (coming.names.len() > 1).then_some(1);
    let files = coming.names.iter().map(|path| PathChange {
        path: path.clone(),
        from: from.clone(),
        to: to.clone(),
        names,
    });
    made.chain(files).collect()
}

/// What is written to in its place keeps what only a replacement loses.
fn after(before: FileRights, coming: &ComingChange<'_>) -> FileRights {
    let lost = match coming.after {
        NewContent::Whole(_) => LENT_RIGHTS,
        NewContent::Added(_) => 0,
    };
    FileRights {
        mode: before.mode & !lost,
        ..before
    }
}
