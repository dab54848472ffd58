//! An item worked off again: the state that it began with, its recorded replies, the real tools.
//!
//! It answers whether a receipt can be believed: the same beginning and the same replies must come to the same
//! tree. Everything is taken from what is kept and held against the receipt, and nothing is written but in a
//! scratch directory; the log goes to memory.

use std::path::PathBuf;
use std::sync::Arc;

use bonded_kernel::{Event, Hash, RunId, RunStarted};
use bonded_state::{MemoryStore, Store, StoreError};
use bonded_work_rules::{Node, Receipt, Tree, TreePath};
use tokio_util::sync::CancellationToken;

use super::recording::Recording;
use crate::plan::{PlanId, Workshop, replies};
use crate::publish::WorkError;
use crate::publish::merged_content;
use crate::tree::{Checkpoints, TreeError, read_tree, tree_of};
use bonded_host::HostError;
use bonded_host::{Goal, Host};

/// Whom a replay asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaySource {
    /// Nobody: what was said then is said again.
    Recording,
    /// The model, anew.
    Model,
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayComparison {
    /// The state that the receipt names.
    pub expected: Hash,
    /// The state that came of the replay.
    pub found: Hash,
    /// Where the state differs from the receipt's.
    pub differs: Vec<TreePath>,
    /// How the run ended, in a word.
    pub ended: &'static str,
}

impl ReplayComparison {
    /// Whether the replay came to what the receipt says.
    pub fn is_equal(&self) -> bool {
        self.expected == self.found && self.differs.is_empty()
    }
}

/// Why an item cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The item was blocked or could not begin.
    #[error("the item never ran, so there is nothing to replay")]
    NeverRan,
    /// The state that the item began with lies in another workshop.
    #[error("the plan {plan:?} is not kept in {}; name the store that the item was run with", dir.display())]
    UnknownPlan { plan: String, dir: PathBuf },
    /// The state that is kept was changed or exchanged.
    #[error("the state that is kept for the item is not the one that its receipt names")]
    OtherState,
    /// The recorded replies are in another store.
    #[error("the log of run {run} is not in this store; name the store that the item was run with")]
    NoLog { run: RunId },
    /// The replay itself failed.
    #[error(transparent)]
    Work(#[from] WorkError),
}

macro_rules! from_work_error {
    ($($source:ty),*) => {$(
        impl From<$source> for ReplayError {
            fn from(error: $source) -> Self {
                Self::Work(error.into())
            }
        }
    )*};
}

from_work_error!(TreeError, HostError, StoreError, std::io::Error);

/// Works an item off again in a scratch directory, which is removed afterwards. Neither the tree nor the store is
/// touched. `host` gives the tools and, where it is asked, the model.
pub async fn replay_item(
    mut host: Host,
    workshop: &Workshop,
    receipt: &Receipt,
    asked: ReplaySource,
    cancel: CancellationToken,
) -> Result<ReplayComparison, ReplayError> {
    let outcome = &receipt.outcome;
    let run = outcome.run.as_ref().ok_or(ReplayError::NeverRan)?;
    let before = state_before(workshop, receipt)?;
    let started = started(&*host.store, &run.run_id).await?;
    let scratch = ScratchDirectory::make(workshop, &run.run_id)?;
    let checkpoints = Checkpoints::open(workshop.dir())?;
    checkpoints.restore(&before, &scratch.dir)?;
    if asked == ReplaySource::Recording {
        let replies = replies(&*host.store, &run.run_id).await?;
        host.transport = Arc::new(Recording::new(replies));
    }
    host.store = Arc::new(MemoryStore::new());
    let mut config = started.config;
    config.dir = scratch.dir.to_string_lossy().into_owned();
    let goal = Goal {
        text: started.goal,
        system: started.system,
        config,
        images: started.images,
    };
    let ended = host.run(run.run_id.clone(), goal, cancel).await?;
    let termination = ended.termination();
    let found = tree_of(&scratch.dir)?;
    let mut differs = differing(&before, receipt, &found);
    differs.extend(merged_otherwise(receipt, &checkpoints)?);
    Ok(ReplayComparison {
        expected: outcome.after_hash,
        found: found.hash(),
        differs,
        ended: termination.map_or("not at all", |it| it.kind.as_str()),
    })
}

/// What is kept must have the hash that the receipt names: somebody may have exchanged it.
fn state_before(workshop: &Workshop, receipt: &Receipt) -> Result<Tree, ReplayError> {
    let outcome = &receipt.outcome;
    let unknown = || ReplayError::UnknownPlan {
        plan: outcome.plan_id.clone(),
        dir: workshop.dir().to_owned(),
    };
    let plan = PlanId::new(&outcome.plan_id).map_err(|_| unknown())?;
    let level = usize::try_from(outcome.level).map_err(|_| unknown())?;
    let file = workshop.level_tree(&plan, level);
    if !file.exists() {
        return Err(unknown());
    }
    let before = read_tree(&file)?;
    match before.hash() == outcome.before_hash {
        true => Ok(before),
        false => Err(ReplayError::OtherState),
    }
}

/// The goal, the system text and the settings are those of the log and not what they would be today.
async fn started(store: &dyn Store, run: &RunId) -> Result<RunStarted, ReplayError> {
    let no_log = || ReplayError::NoLog { run: run.clone() };
    if store.head(run).await?.is_none() {
        return Err(no_log());
    }
    let log = store.load(run, 0).await?;
    let Some(Event::RunStarted(started)) = log.into_iter().next().map(|entry| entry.event) else {
        return Err(no_log());
    };
    Ok(*started)
}

/// The paths at which a state is not what a receipt says.
///
/// Empty where the changes of the receipt do not fit the state before; the hashes differ then.
fn differing(before: &Tree, receipt: &Receipt, found: &Tree) -> Vec<TreePath> {
    let changes: Vec<_> = receipt
        .outcome
        .deltas
        .changes()
        .into_iter()
        .cloned()
        .collect();
    let Ok(expected) = before.with_changes(&changes) else {
        return vec![];
    };
    let differs = expected.changes_to(found).into_iter();
    differs.map(|change| change.path).collect()
}

/// The files that were merged with what another item of the level left, and are not what comes of that.
fn merged_otherwise(
    receipt: &Receipt,
    checkpoints: &Checkpoints,
) -> Result<Vec<TreePath>, ReplayError> {
    let content = |node: &Option<Node>| match node {
        Some(Node::File { content, .. }) => Some(*content),
        Some(Node::Link { .. } | Node::Directory { .. } | Node::Special { .. }) | None => None,
    };
    let changes = receipt.outcome.deltas.changes();
    let mut otherwise = vec![];
    for merged in &receipt.outcome.merged {
        let own = changes.iter().find(|change| change.path == merged.path);
        let contents = own.and_then(|own| {
            let left = content(&merged.before)?;
            Some([content(&own.before)?, content(&own.after)?, left])
        });
        let text = match &contents {
            Some([base, own, left]) => merged_content(checkpoints, [base, own, left])?,
            None => None,
        };
        if text.map(|text| Hash::of(&text)) != content(&merged.after) {
            otherwise.push(merged.path.clone());
        }
    }
    Ok(otherwise)
}

/// A directory for one replay, removed with this.
struct ScratchDirectory {
    dir: PathBuf,
}

impl ScratchDirectory {
    fn make(workshop: &Workshop, run: &RunId) -> std::io::Result<Self> {
        let name = format!("{run}-{}", std::process::id());
        let dir = workshop.scratch_dir().join(name);
        crate::files::make_private_directory(&dir)?;
        Ok(Self { dir })
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // It lies where nobody looks; the next one has another name.
        let _ = crate::tree::remove_tree(&self.dir);
    }
}
