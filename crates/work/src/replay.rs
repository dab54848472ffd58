//! An item worked off again: the state that it began with, its recorded replies, the real tools.

use std::path::PathBuf;
use std::sync::Arc;

use bonded_kernel::{Event, Hash, RunId, RunStarted};
use bonded_state::{MemoryStore, Store, StoreError};
use bonded_work_rules::{Node, Receipt, Tree, TreePath};
use tokio_util::sync::CancellationToken;

use super::error::WorkError;
use super::logs::replies;
use super::meeting::merged_content;
use super::plan_id::PlanId;
use super::recorded::Recorded;
use super::tree::{Checkpoints, TreeError, read_tree, tree_of};
use super::workshop::Workshop;
use bonded_host::HostError;
use bonded_host::{Goal, Host};

/// Whom a replay asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nobody: what was said then is said again.
    Recording,
    /// The model, anew.
    Model,
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    pub expected: Hash,
    pub found: Hash,
    /// Where the state differs from the receipt's.
    pub differs: Vec<TreePath>,
    /// How the run ended, in a word.
    pub ended: &'static str,
}

impl Replayed {
    pub fn is_equal(&self) -> bool {
        self.expected == self.found && self.differs.is_empty()
    }
}

/// Why an item cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("the item never ran, so there is nothing to replay")]
    NeverRan,
    #[error("the plan {plan:?} is not kept in {}; name the store that the item was worked off with", dir.display())]
    UnknownPlan { plan: String, dir: PathBuf },
    #[error("the state that is kept for the item is not the one that its receipt names")]
    OtherState,
    #[error(
        "the log of run {run} is not in this store; name the store that the item was worked off with"
    )]
    NoLog { run: RunId },
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
    asked: Asked,
    cancel: CancellationToken,
) -> Result<Replayed, ReplayError> {
    let outcome = &receipt.outcome;
    let run = outcome.run.as_ref().ok_or(ReplayError::NeverRan)?;
    let before = state_before(workshop, receipt)?;
    let started = started(&*host.store, &run.run_id).await?;
    let scratch = Scratch::make(workshop, &run.run_id)?;
    let checkpoints = Checkpoints::open(workshop.dir())?;
    checkpoints.restore(&before, &scratch.dir)?;
    if asked == Asked::Recording {
        let replies = replies(&*host.store, &run.run_id).await?;
        host.transport = Arc::new(Recorded::new(replies));
    }
    host.store = Arc::new(MemoryStore::new());
    let mut config = started.config;
    config.dir = scratch.dir.to_string_lossy().into_owned();
    let goal = Goal {
        text: started.goal,
        system: started.system,
        config,
    };
    let ended = host.run(run.run_id.clone(), goal, cancel).await?;
    let termination = ended.termination();
    let found = tree_of(&scratch.dir)?;
    let mut differs = differing(&before, receipt, &found);
    differs.extend(merged_otherwise(receipt, &checkpoints)?);
    Ok(Replayed {
        expected: outcome.after_hash,
        found: found.hash(),
        differs,
        ended: termination.map_or("not at all", |it| it.kind.as_str()),
    })
}

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

async fn started(store: &dyn Store, run: &RunId) -> Result<RunStarted, ReplayError> {
    let no_log = || ReplayError::NoLog { run: run.clone() };
    if store.head(run).await?.is_none() {
        return Err(no_log());
    }
    let log = store.load(run, 0).await?;
    match log.into_iter().next().map(|entry| entry.event) {
        Some(Event::RunStarted(started)) => Ok(*started),
        _ => Err(no_log()),
    }
}

/// The paths at which a state is not what a receipt says.
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
        _ => None,
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
struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    fn make(workshop: &Workshop, run: &RunId) -> std::io::Result<Self> {
        let name = format!("{run}-{}", std::process::id());
        let dir = workshop.scratch_dir().join(name);
        super::files::make_private_directory(&dir)?;
        Ok(Self { dir })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It lies where nobody looks; the next one has another name.
        let _ = super::tree::remove_tree(&self.dir);
    }
}
