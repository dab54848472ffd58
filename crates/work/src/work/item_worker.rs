//! What a worker does with the run of an item whose tree lies on another machine.
//!
//! The log of the run names what the item is, and that names the tree. The copy is made of what the store has of it, in
//! the state in which the last worker left it, and the run is driven in it by the one driver under the same guard. Nothing
//! is judged here: what is left is sent, and the machine that has the tree decides.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bonded_host::{Goal, Host};
use bonded_kernel::{Hash, ItemOfPlan, Run, RunId};
use bonded_work_rules::{Change, Tree, check_so_far};
use tokio_util::sync::CancellationToken;

use super::attempt::ended_ops;
use super::guard::{CopyKeeping, Guard, GuardedTools};
use super::sent_state::{SentStates, StateStops};
use crate::exchange::{
    CopySeen, CopyState, Exchange, ExchangeError, ItemOrder, contents_after, contents_of,
};
use crate::plan::{PlanId, Workshop, logs};
use crate::publish::{CopyMaking, WorkError, copy_with_changes};
use crate::tree::{Checkpoints, Copies, Frozen, Isolation, Isolations, TreeCopy};

/// Makes copies of trees that lie elsewhere, and drives the runs of items in them.
pub struct ItemWorker {
    checkpoints: Arc<Checkpoints>,
    /// Where copies lie, apart from those of plans whose trees are on this machine.
    dir: PathBuf,
    isolation: Isolation,
    /// By the states that they were made of: what a copy stands on is made once for all that are there at a time.
    copies: Mutex<BTreeMap<Hash, Weak<Copies>>>,
}

impl std::fmt::Debug for ItemWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ItemWorker").field(&self.dir).finish()
    }
}

/// A copy, and what it lies among: that goes after it.
struct WorkerCopy {
    copy: Arc<TreeCopy>,
    _copies: Arc<Copies>,
}

impl ItemWorker {
    /// `entered` says whether this process has [entered](crate::tree::enter_namespace) a namespace of its own; in one that
    /// has not, copies are whole.
    pub fn open(workshop: &Workshop, entered: &Result<(), String>) -> Result<Self, WorkError> {
        let checkpoints = Checkpoints::open(workshop.dir())?;
        let dir = workshop.worker_copies_dir();
        let isolations = Isolations::here(entered, checkpoints.dir(), &dir);
        Ok(Self {
            isolation: match isolations.overlay {
                Ok(()) => Isolation::Overlay,
                Err(_) => Isolation::Copy,
            },
            checkpoints: Arc::new(checkpoints),
            dir,
            copies: Mutex::default(),
        })
    }

    /// How copies are kept apart from one another.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Drives a run that this process holds to its end, or until it waits for a person or is let go of. One that cannot go
    /// on is ended, and whoever has its tree begins the item again if that does no harm.
    pub async fn drive(self: &Arc<Self>, host: Host, run: &Run) -> Result<Run, WorkError> {
        let id = run.id();
        let item = run.config().item.as_deref();
        let (item, hash) = item
            .and_then(|it| Some((it, it.order?)))
            .ok_or(WorkError::NoLog)?;
        let plan = PlanId::new(&item.plan).map_err(|_| WorkError::NoLog)?;
        let exchange = Exchange::new(host.store.clone(), plan);
        let order = ItemOrder::fetch(&exchange, run, hash).await?;
        if order.item.id.as_str() != item.item {
            return Err(ExchangeError::OtherOrder {
                run: id.clone(),
                hash,
            }
            .into());
        }
        let tool_ops = ended_ops(&logs(&*host.store, id).await?);
        let seen = exchange.left(id, item.before_hash).await?;
        let changes = match &seen {
            CopySeen::Changed { changes, git } => {
                let is_within = check_so_far(&order.item, changes, tool_ops).is_ok();
                match is_within && git.is_empty() {
                    true => changes.clone(),
                    false => return end(&host, id, "a limit of its item was passed").await,
                }
            }
            CopySeen::UnderWay => {
                let lost = CopyState {
                    run: id.clone(),
                    before: item.before_hash,
                    seen: CopySeen::Lost,
                };
                exchange.leave(&lost).await?;
                return end(&host, id, LOST).await;
            }
            CopySeen::Lost => return end(&host, id, LOST).await,
            CopySeen::Unsent { why } => return end(&host, id, why).await,
        };
        let tree = self.fetch(&exchange, &order, item, &changes).await?;
        let made = self.make(tree, changes, id.clone()).await?;
        let Some(made) = made else {
            return end(&host, id, "its copy cannot be made again").await;
        };
        let guarded = GuardedItem {
            order,
            tool_ops,
            before: item.before_hash,
            seen,
        };
        self.drive_in(host, run, exchange, &made, guarded).await
    }

    /// Everything that the copy is made of. What is here from before is not fetched again.
    async fn fetch(
        &self,
        exchange: &Exchange,
        order: &ItemOrder,
        item: &ItemOfPlan,
        changes: &[Change],
    ) -> Result<Tree, WorkError> {
        let tree = exchange.fetch_tree(order.tree, item.before_hash).await?;
        let mut contents = contents_of(&tree)?;
        contents.extend(contents_after(changes));
        exchange
            .fetch_contents(&self.checkpoints, &contents)
            .await?;
        Ok(tree)
    }

    /// Files are made on a thread that may wait for the disk.
    async fn make(
        self: &Arc<Self>,
        tree: Tree,
        changes: Vec<Change>,
        run: RunId,
    ) -> Result<Option<WorkerCopy>, WorkError> {
        let this = Arc::clone(self);
        let made = tokio::task::spawn_blocking(move || this.make_now(tree, &changes, &run));
        made.await
            .map_err(|panic| WorkError::Io(std::io::Error::other(panic)))?
    }

    fn make_now(
        &self,
        tree: Tree,
        changes: &[Change],
        run: &RunId,
    ) -> Result<Option<WorkerCopy>, WorkError> {
        let copies = self.copies_of(tree.hash())?;
        let frozen = Frozen::elsewhere(tree);
        let making = CopyMaking {
            copies: &copies,
            checkpoints: &self.checkpoints,
            frozen: &frozen,
            name: run.as_str(),
        };
        let copy = match changes {
            [] => Some(copies.make_apart(&self.checkpoints, &frozen, run.as_str())?),
            changes => copy_with_changes(&making, changes, &*self.checkpoints)?,
        };
        Ok(copy.map(|copy| WorkerCopy {
            copy: Arc::new(copy),
            _copies: copies,
        }))
    }

    fn copies_of(&self, state: Hash) -> Result<Arc<Copies>, WorkError> {
        let mut all = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copies) = all.get(&state).and_then(Weak::upgrade) {
            return Ok(copies);
        }
        all.retain(|_, copies| copies.strong_count() > 0);
        let name = uuid::Uuid::new_v4().simple().to_string();
        let copies = Arc::new(Copies::open(&self.dir, &name, self.isolation)?);
        all.insert(state, Arc::downgrade(&copies));
        Ok(copies)
    }

    async fn drive_in(
        &self,
        mut host: Host,
        run: &Run,
        exchange: Exchange,
        made: &WorkerCopy,
        guarded: GuardedItem,
    ) -> Result<Run, WorkError> {
        let end = CancellationToken::new();
        host.interrupt = host.interrupt.child_token();
        let stops = StateStops {
            interrupt: host.interrupt.clone(),
            end: end.clone(),
        };
        let states = SentStates::new(
            exchange,
            self.checkpoints.clone(),
            (run.id().clone(), guarded.before),
            guarded.seen,
            stops,
        );
        let guard = Arc::new(Guard::new(
            guarded.order.item,
            guarded.tool_ops,
            end.clone(),
            made.copy.clone(),
            CopyKeeping::Sent(Box::new(states)),
        ));
        host.tools = Arc::new(GuardedTools {
            tools: host.tools.clone(),
            guard: guard.clone(),
            dir: Some(made.copy.path().to_string_lossy().into_owned()),
        });
        // The log has all of it: what is given again is only held against that.
        let goal = Goal {
            text: run.goal().clone(),
            system: run.system().clone(),
            config: run.config().clone(),
            images: run.images().to_vec(),
        };
        let driven = Box::pin(host.run_as(run.id().clone(), goal, end)).await;
        match guard.fault() {
            Some(fault) => Err(fault.into()),
            None => Ok(driven?),
        }
    }
}

/// An item as its guard needs it.
struct GuardedItem {
    order: ItemOrder,
    tool_ops: u64,
    before: Hash,
    seen: CopySeen,
}

/// Why a run ends whose copy nobody can make again.
const LOST: &str = "its worker is gone, and calls in its copy overlapped at that moment";

async fn end(host: &Host, id: &RunId, why: &str) -> Result<Run, WorkError> {
    Ok(host.cancel(id, why).await?)
}
