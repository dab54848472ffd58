//! The limits of an item, held against its copy of the tree at every call.
//!
//! What an item may not do is found out at the end in any case, before anything is published. Here it is found
//! out early: a run that has passed a limit costs money for nothing. The same place sees to it that a call that
//! is interrupted can be made again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::{Invocation, RunConfig, ToolEffect};
use bonded_tools::{CallGuard, Registry, ToolFault};
use bonded_work_rules::{Change, Denial, WorkItem, check_so_far};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::save_point::SavePoints;
use super::sent_state::SentStates;
use crate::exchange::ExchangeError;
use crate::tree::{TreeCopy, TreeError};
use bonded_host::HostError;
use bonded_host::Toolset;

/// The code of a call that is not made because a limit was passed.
const LIMIT_PASSED: &str = "limit_passed";

/// The code of a call that is not made because what is there before it could not be saved.
const NOT_SAVED: &str = "not_saved";

/// Where it is kept what the copy was, for who goes on after this process.
pub(crate) enum CopyKeeping {
    /// Beside the copy.
    Here(SavePoints),
    /// In the store: another machine may go on.
    Sent(Box<SentStates>),
}

/// Stops a run where it passes a limit.
pub(crate) struct Guard {
    item: WorkItem,
    copy: Arc<TreeCopy>,
    keeping: CopyKeeping,
    tool_ops: AtomicU64,
    denial: Mutex<Option<Denial>>,
    stop: CancellationToken,
}

impl Guard {
    /// `tool_ops` is what the run had done before this process took it up.
    pub(crate) fn new(
        item: WorkItem,
        tool_ops: u64,
        stop: CancellationToken,
        copy: Arc<TreeCopy>,
        keeping: CopyKeeping,
    ) -> Self {
        Self {
            item,
            copy,
            keeping,
            tool_ops: AtomicU64::new(tool_ops),
            denial: Mutex::new(None),
            stop,
        }
    }

    /// The limit that was passed, if one was.
    pub(crate) fn denial(&self) -> Option<Denial> {
        let denial = self.denial.lock().unwrap_or_else(PoisonError::into_inner);
        denial.clone()
    }

    /// Why the copy could not be sent, where that has stopped the run.
    pub(crate) fn fault(&self) -> Option<ExchangeError> {
        match &self.keeping {
            CopyKeeping::Here(_) => None,
            CopyKeeping::Sent(states) => states.fault(),
        }
    }

    /// Whether what is changed is within the limits, so that it could be published.
    fn is_within(&self, changes: &[Change]) -> bool {
        let tool_ops = self.tool_ops.load(Ordering::Relaxed);
        self.denial().is_none() && check_so_far(&self.item, changes, tool_ops).is_ok()
    }

    /// What is changed so far, where it is within the limits.
    ///
    /// The first denial stays, whatever is found later, and the run is cancelled with it.
    fn check(&self, tool_ops: u64) -> Result<Result<Vec<Change>, TreeError>, Denial> {
        if let Some(denial) = self.denial() {
            return Err(denial);
        }
        let changes = self.copy.changes().map(|changed| changed.changes);
        // A copy that cannot be looked at just now is looked at again, at the latest before it is published.
        let known = changes.as_ref().map_or(&[][..], Vec::as_slice);
        if let Err(denial) = check_so_far(&self.item, known, tool_ops) {
            let mut kept = self.denial.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = Some(denial.clone());
            self.stop.cancel();
            return Err(denial);
        }
        Ok(changes)
    }
}

impl CallGuard for Guard {
    /// A call counts before it is made. A save point is for calls that are made again after a crash: those that
    /// change nothing but the copy and have an effect that is the same when they are repeated.
    fn before(&self, call: &Invocation, stays: bool) -> Result<(), ToolFault> {
        let tool_ops = self.tool_ops.fetch_add(1, Ordering::Relaxed) + 1;
        let changes = self.check(tool_ops);
        let changes = changes.map_err(|denial| ToolFault::new(LIMIT_PASSED, denial.to_string()))?;
        match &self.keeping {
            CopyKeeping::Here(saver) if stays && call.effect() == ToolEffect::Idempotent => {
                let saved = saver.begin(call, &self.copy, changes);
                saved.map_err(|error| ToolFault::new(NOT_SAVED, error.to_string()))
            }
            CopyKeeping::Here(_) => Ok(()),
            CopyKeeping::Sent(states) => {
                states.begin(call);
                Ok(())
            }
        }
    }

    /// Looks at the copy right after the call, so that a run is stopped by the call that passed a limit and not
    /// by the one after it.
    fn after<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match &self.keeping {
                CopyKeeping::Here(saver) => saver.end(call),
                CopyKeeping::Sent(states) => {
                    let is_within = |changes: &[Change]| self.is_within(changes);
                    states.end(call, &self.copy, &is_within).await;
                }
            }
            // What it found is asked for when the run has ended.
            let _ = self.check(self.tool_ops.load(Ordering::Relaxed));
        })
    }
}

/// The tools of an item: those that its run would have anyway, looked after.
pub(crate) struct GuardedTools {
    pub(crate) tools: Arc<dyn Toolset>,
    pub(crate) guard: Arc<Guard>,
    /// Where the copy is, for runs that began on another machine: their logs name a directory there.
    pub(crate) dir: Option<String>,
}

/// The registry is told that its place is set back before an interrupted call is made again, which the save
/// points see to.
impl Toolset for GuardedTools {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        Box::pin(async move {
            let mut config = config.clone();
            if let Some(dir) = &self.dir {
                config.dir.clone_from(dir);
            }
            let registry = self.tools.open(&config).await?;
            let registry = registry.guarded_by(self.guard.clone());
            let registry = registry.in_disposable_place();
            let registry = registry.map_err(|source| HostError::Catalog { source })?;
            Ok(Arc::new(registry))
        })
    }
}

/// The tools of an item that another machine works on: looked at, so that its log says what they are, and never used.
pub(crate) struct ListedTools {
    pub(crate) tools: Arc<dyn Toolset>,
}

impl Toolset for ListedTools {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        Box::pin(async move {
            let registry = self.tools.open(config).await?.in_disposable_place();
            let registry = registry.map_err(|source| HostError::Catalog { source })?;
            Ok(Arc::new(registry))
        })
    }
}
