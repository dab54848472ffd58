//! What a run changed in its directory: found, compared with what is there, and undone.
//!
//! The changes are recorded beside the store, on the machine whose directory it is (`bonded_changes`). The log says
//! which turn of the run an agent's call belongs to that the run called, and which calls changed what nobody recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bonded_changes::{
    ChangedBy, ChangesError, NetChange, Node, Records, Settled, UndoPlan, Undone, Wanted,
};
use bonded_kernel::{Entry, Event, Outcome, Run, RunId, ToolEffect};
use bonded_state::{Store, StoreError};
use bonded_tools::beneath::{Links, Root};

use crate::accounting::child_of;
use crate::error::HostError;
use crate::line_diff::changed_lines;
use crate::load::load_run;

pub use bonded_changes as recorded;

/// The tools whose changes are recorded.
const RECORDED: [&str; 3] = ["append", "edit", "write"];

/// A larger file is not compared line by line to say what differs.
const COUNTED_BYTES_MAX: u64 = 1024 * 1024;

/// Why the changes of a run cannot be shown or undone.
#[derive(Debug, thiserror::Error)]
pub enum ChangesFailure {
    /// The log cannot be read.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The record cannot be read, or the undo was not made.
    #[error(transparent)]
    Changes(#[from] ChangesError),
    /// Its changes are part of those of another run.
    #[error(
        "run {run} was called by run {origin}, and its changes are recorded with those of that run"
    )]
    Called {
        /// The run that was named.
        run: RunId,
        /// The run at the root.
        origin: RunId,
    },
    /// It changes its directory still, or may.
    #[error("run {run} has not finished")]
    NotEnded {
        /// The run that was named.
        run: RunId,
    },
    /// The run has no such turn.
    #[error("run {run} has no turn {turn}; it has {turns}")]
    NoSuchTurn {
        /// The run that was named.
        run: RunId,
        /// What was asked for.
        turn: u32,
        /// Its last turn.
        turns: u32,
    },
    /// It works in a copy, and what it changed is published by its plan.
    #[error(
        "run {run} belongs to plan {plan}: what it changed is published by the plan, with a receipt"
    )]
    OfPlan {
        /// The run that was named.
        run: RunId,
        /// Its plan.
        plan: String,
    },
    /// The store keeps nothing on this machine.
    #[error("this store keeps nothing on this machine, and so no record of changes")]
    NoRecords,
}

impl From<StoreError> for ChangesFailure {
    fn from(error: StoreError) -> Self {
        Self::Host(error.into())
    }
}

/// What a run changed, as far as it is known.
#[derive(Debug)]
pub struct RunChanges {
    /// Where it is recorded.
    pub records: Records,
    /// The run.
    pub run: RunId,
    /// The directory that it worked in.
    pub dir: PathBuf,
    /// Its last turn.
    pub turns: u32,
    /// Calls that may have changed something that nobody recorded, by tool.
    pub unrecorded: BTreeMap<String, u32>,
    /// Calls of file tools that changed something and of which there is no record here.
    pub missing: u32,
    /// The turn of the run in which it called another one.
    called_in: BTreeMap<RunId, u32>,
}

/// A file that the run changed, with its contents as far as they are known.
#[derive(Debug)]
pub struct ChangedFile {
    /// What the changes of the run come to.
    pub net: NetChange,
    /// What it held before.
    pub before: Option<Vec<u8>>,
    /// What the run left in it.
    pub after: Option<Vec<u8>>,
    /// Whether it is as the run left it.
    pub is_as_left: bool,
}

/// Where the changes of a store's runs are recorded.
pub fn records_of(store: &dyn Store) -> Option<Records> {
    store.files().first().map(|file| Records::beside(file))
}

impl RunChanges {
    /// Reads the log and the record of a run.
    pub async fn load(store: &dyn Store, id: &RunId) -> Result<Self, ChangesFailure> {
        let records = records_of(store).ok_or(ChangesFailure::NoRecords)?;
        let entries = store.load(id, 0).await?;
        let run = load_run(store, id).await?;
        let config = run.config();
        if let Some(parent) = &config.parent {
            let (run, origin) = (id.clone(), parent.origin.clone());
            return Err(ChangesFailure::Called { run, origin });
        }
        if let Some(item) = &config.item {
            let (run, plan) = (id.clone(), item.plan.clone());
            return Err(ChangesFailure::OfPlan { run, plan });
        }
        let (recorded, called) = match records.of_run(id)? {
            Some(record) => callers(&record),
            None => (0, vec![]),
        };
        let mut changes = Self {
            dir: PathBuf::from(&config.dir),
            turns: entries.last().map_or(0, |entry| entry.turn),
            unrecorded: unrecorded(&run, &entries),
            missing: changing_calls(&entries).saturating_sub(recorded),
            called_in: BTreeMap::new(),
            records,
            run: id.clone(),
        };
        for run in called.into_iter().filter(|it| it != id) {
            let turn = called_in(store, id, &entries, &run).await?;
            changes.called_in.extend(turn.map(|turn| (run, turn)));
        }
        Ok(changes)
    }

    /// Refuses a turn that the run does not have.
    pub fn check_turn(&self, turn: u32) -> Result<(), ChangesFailure> {
        let turns = self.turns;
        match (1..=turns).contains(&turn) {
            true => Ok(()),
            false => Err(ChangesFailure::NoSuchTurn {
                run: self.run.clone(),
                turn,
                turns,
            }),
        }
    }

    /// Brings an undo to an end that a crash interrupted.
    pub fn settle(&self) -> Result<Settled, ChangesFailure> {
        Ok(self.records.settle(&self.run)?)
    }

    /// What an undo would do; `None` where nothing is recorded.
    pub fn plan(&self, wanted: &Wanted) -> Result<Option<UndoPlan>, ChangesFailure> {
        let turn_of = |run: &RunId, turn: u32| self.turn_of(run, turn);
        Ok(self.records.plan(&self.run, wanted, &turn_of)?)
    }

    /// Undoes what the run changed. It is held meanwhile, and must have ended: one that goes on would not know of it.
    pub async fn undo(
        &self,
        store: &dyn Store,
        wanted: &Wanted,
        partial: bool,
    ) -> Result<Undone, ChangesFailure> {
        store.claim(&self.run).await?;
        let undone = self.undo_held(store, wanted, partial).await;
        store.release(&self.run).await?;
        undone
    }

    async fn undo_held(
        &self,
        store: &dyn Store,
        wanted: &Wanted,
        partial: bool,
    ) -> Result<Undone, ChangesFailure> {
        if load_run(store, &self.run).await?.termination().is_none() {
            let run = self.run.clone();
            return Err(ChangesFailure::NotEnded { run });
        }
        let turn_of = |run: &RunId, turn: u32| self.turn_of(run, turn);
        Ok(self.records.undo(&self.run, wanted, partial, &turn_of)?)
    }

    /// Lines that were added to a file since the run left it, and lines that were removed; `None` where they cannot be
    /// counted.
    pub fn lines_since(&self, path: &Path, left: &Node) -> Option<(usize, usize)> {
        let record = self.records.of_run(&self.run).ok()??;
        let left = record.content(&left.content()?).ok()??;
        let root = Root::open(&self.dir).ok()?;
        let now = root.read(path, Links::Refused, COUNTED_BYTES_MAX).ok()?;
        let (left, now) = (String::from_utf8(left).ok()?, String::from_utf8(now).ok()?);
        Some(changed_lines(&left, &now))
    }

    /// The turn of this run that a call belongs to.
    pub fn turn_of(&self, run: &RunId, turn: u32) -> Option<u32> {
        match *run == self.run {
            true => Some(turn),
            false => self.called_in.get(run).copied(),
        }
    }

    /// Every path that the run changed from the beginning of a turn on, or from its own beginning.
    pub fn files(&self, turn: Option<u32>) -> Result<Vec<ChangedFile>, ChangesFailure> {
        let Some(record) = self.records.of_run(&self.run)? else {
            return Ok(vec![]);
        };
        let turn_of = |run: &RunId, turn: u32| self.turn_of(run, turn);
        let content = |node: &Node| match node.content() {
            Some(hash) => record.content(&hash),
            None => Ok(None),
        };
        let mut files = vec![];
        for (net, found) in record.net(turn, &turn_of) {
            files.push(ChangedFile {
                before: content(&net.from)?,
                after: content(&net.to)?,
                is_as_left: found.is_none_or(|found| net.to.is_at(&found)),
                net,
            });
        }
        Ok(files)
    }
}

/// What a record has, once it was found to be whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRecord {
    /// Changes by calls.
    pub changes: usize,
    /// How often they were undone.
    pub undos: usize,
    /// How often that was taken back.
    pub redos: usize,
}

/// Holds the record of a run against its log: nothing of it was changed, every content is what its hash says, and each
/// change is that of a call which the log has. `None` where there is no record; the second is what is wrong.
pub async fn check(
    store: &dyn Store,
    id: &RunId,
) -> Result<Option<Result<CheckedRecord, String>>, ChangesFailure> {
    let Some(records) = records_of(store) else {
        return Ok(None);
    };
    let record = match records.of_run(id) {
        Ok(None) => return Ok(None),
        Ok(Some(record)) => record,
        Err(error @ ChangesError::Damaged { .. }) => return Ok(Some(Err(error.to_string()))),
        Err(error) => return Err(error.into()),
    };
    if let Err(error) = record.check() {
        return Ok(Some(Err(error.to_string())));
    }
    let entries = store.load(id, 0).await?;
    let invoked = |turn: u32, at: u32, name: &str| {
        entries.iter().any(|entry| match &entry.event {
            Event::ToolInvoked { call, tool, .. } => {
                (entry.turn, *call, &**tool) == (turn, at, name)
            }
            _ => false,
        })
    };
    let (mut changes, mut undos, mut redos) = (0, 0, 0);
    for (set, _) in record.sets() {
        match &set.by {
            ChangedBy::Call {
                run,
                turn,
                call,
                tool,
            } => {
                changes += 1;
                if run == id && !invoked(*turn, *call, tool) {
                    return Ok(Some(Err(format!(
                        "the record of changes has a call of {tool} in turn {turn} that the log lacks"
                    ))));
                }
            }
            ChangedBy::Undo { .. } => undos += 1,
            ChangedBy::Redo { .. } => redos += 1,
        }
    }
    Ok(Some(Ok(CheckedRecord {
        changes,
        undos,
        redos,
    })))
}

/// How many calls a record has, and of which runs.
fn callers(record: &bonded_changes::Record) -> (u32, Vec<RunId>) {
    let mut calls = std::collections::BTreeSet::new();
    for (set, _) in record.sets() {
        if let ChangedBy::Call {
            run, turn, call, ..
        } = &set.by
        {
            calls.insert((run.clone(), *turn, *call));
        }
    }
    let mut runs: Vec<RunId> = calls.iter().map(|(run, ..)| run.clone()).collect();
    runs.dedup();
    (u32::try_from(calls.len()).unwrap_or(u32::MAX), runs)
}

/// Calls that may have changed the directory and are no file tools', by tool. What an agent did that was called is in
/// its own log.
fn unrecorded(run: &Run, entries: &[Entry]) -> BTreeMap<String, u32> {
    let mut calls = BTreeMap::new();
    for entry in entries {
        let Event::ToolInvoked { tool, effect, .. } = &entry.event else {
            continue;
        };
        let acts = run.config().own_tools.acts(tool);
        let changes = *effect != ToolEffect::Read && run.sub_agent(tool).is_none() && acts;
        if changes && !RECORDED.contains(&&**tool) {
            *calls.entry(tool.to_string()).or_default() += 1;
        }
    }
    calls
}

/// How many calls of file tools said that they changed something.
fn changing_calls(entries: &[Entry]) -> u32 {
    let mut invoked: BTreeMap<(u32, u32), bool> = BTreeMap::new();
    let mut count = 0;
    for entry in entries {
        match &entry.event {
            Event::ToolInvoked { call, tool, .. } => {
                let key = (entry.turn, *call);
                invoked.insert(key, RECORDED.contains(&&**tool));
            }
            Event::ToolFinished(finished) if finished.outcome == Outcome::Ok => {
                let is_file = invoked.get(&(entry.turn, finished.call)) == Some(&true);
                let is_unchanged = finished.output.contains("\"unchanged\":true");
                count += u32::from(is_file && !is_unchanged);
            }
            _ => {}
        }
    }
    count
}

/// The turn of a run in which another one was begun, by itself or by one that it called.
async fn called_in(
    store: &dyn Store,
    root: &RunId,
    entries: &[Entry],
    called: &RunId,
) -> Result<Option<u32>, ChangesFailure> {
    let mut child = called.clone();
    // As deep as agents may call each other, and a damaged log does not lead in circles.
    for _ in 0..64 {
        let Some(first) = store.load_part(&child, 0, 1).await?.into_iter().next() else {
            return Ok(None);
        };
        let parent = first
            .event
            .started()
            .and_then(|it| it.config.parent.clone());
        match parent {
            Some(parent) if parent.run == *root => return Ok(turn_of_call(entries, &child)),
            Some(parent) => child = parent.run,
            None => return Ok(None),
        }
    }
    Ok(None)
}

fn turn_of_call(entries: &[Entry], child: &RunId) -> Option<u32> {
    let begun = entries.iter().find(|entry| match &entry.event {
        Event::ToolInvoked { call, .. } => child_of(entry, *call) == *child,
        _ => false,
    });
    begun.map(|entry| entry.turn)
}

/// A path as it is shown.
pub fn shown(path: &Path) -> String {
    crate::letters::written_out(&path.to_string_lossy())
}
