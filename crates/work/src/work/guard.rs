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
use crate::tree::{TreeCopy, TreeError};
use bonded_host::HostError;
use bonded_host::Toolset;

/// The code of a call that is not made because a limit was passed.
const LIMIT_PASSED: &str = "limit_passed";

/// The code of a call that is not made because what is there before it could not be saved.
const NOT_SAVED: &str = "not_saved";

/// Stops a run where it passes a limit.
pub(crate) struct Guard {
    item: WorkItem,
    copy: Arc<TreeCopy>,
    saver: SavePoints,
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
        saver: SavePoints,
    ) -> Self {
        Self {
            item,
            copy,
            saver,
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
        if stays && call.effect() == ToolEffect::Idempotent {
            let saved = self.saver.begin(call, &self.copy, changes);
            saved.map_err(|error| ToolFault::new(NOT_SAVED, error.to_string()))?;
        }
        Ok(())
    }

    /// Looks at the copy right after the call, so that a run is stopped by the call that passed a limit and not
    /// by the one after it.
    fn after(&self, call: &Invocation) {
        self.saver.end(call);
        // What it found is asked for when the run has ended.
        let _ = self.check(self.tool_ops.load(Ordering::Relaxed));
    }
}

/// The tools of an item: those that its run would have anyway, looked after.
pub(crate) struct GuardedTools {
    pub(crate) tools: Arc<dyn Toolset>,
    pub(crate) guard: Arc<Guard>,
}

/// The registry is told that its place is set back before an interrupted call is made again, which the save
/// points see to.
impl Toolset for GuardedTools {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        Box::pin(async move {
            let registry = self.tools.open(config).await?;
            let registry = registry.guarded_by(self.guard.clone());
            let registry = registry.in_disposable_place();
            let registry = registry.map_err(|source| HostError::Catalog { source })?;
            Ok(Arc::new(registry))
        })
    }
}
