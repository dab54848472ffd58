//! The limits of an item, held against its copy of the tree at every call.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::RunConfig;
use bonded_kernel::work::{Change, Denial, WorkItem, check_so_far};
use bonded_tools::{BoxFuture, CallGuard, Registry, ToolFault};
use tokio_util::sync::CancellationToken;

use super::tree::TreeError;
use crate::error::HostError;
use crate::host::Toolset;

/// The code of a call that is not made because a limit was passed.
const LIMIT_PASSED: &str = "limit_passed";

/// Stops a run where it passes a limit.
pub(super) struct Guard {
    item: WorkItem,
    changes: Box<dyn Fn() -> Result<Vec<Change>, TreeError> + Send + Sync>,
    tool_ops: AtomicU64,
    denial: Mutex<Option<Denial>>,
    stop: CancellationToken,
}

impl Guard {
    /// `tool_ops` is what the run had done before this process took it up.
    pub(super) fn new(
        item: WorkItem,
        tool_ops: u64,
        stop: CancellationToken,
        changes: impl Fn() -> Result<Vec<Change>, TreeError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            item,
            changes: Box::new(changes),
            tool_ops: AtomicU64::new(tool_ops),
            denial: Mutex::new(None),
            stop,
        }
    }

    /// The limit that was passed, if one was.
    pub(super) fn denial(&self) -> Option<Denial> {
        let denial = self.denial.lock().unwrap_or_else(PoisonError::into_inner);
        denial.clone()
    }

    fn check(&self, tool_ops: u64) -> Result<(), Denial> {
        if let Some(denial) = self.denial() {
            return Err(denial);
        }
        // A copy that cannot be looked at just now is looked at again, at the latest before it is published.
        let changes = (self.changes)().unwrap_or_default();
        let checked = check_so_far(&self.item, &changes, tool_ops);
        if let Err(denial) = &checked {
            let mut kept = self.denial.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = Some(denial.clone());
            self.stop.cancel();
        }
        checked
    }
}

impl CallGuard for Guard {
    fn before(&self, _: &str) -> Result<(), ToolFault> {
        let tool_ops = self.tool_ops.fetch_add(1, Ordering::Relaxed) + 1;
        self.check(tool_ops)
            .map_err(|denial| ToolFault::new(LIMIT_PASSED, denial.to_string()))
    }

    fn after(&self) {
        // What it found is asked for when the run has ended.
        let _ = self.check(self.tool_ops.load(Ordering::Relaxed));
    }
}

/// The tools of an item: those that its run would have anyway, looked after.
pub(super) struct GuardedTools {
    pub(super) tools: Arc<dyn Toolset>,
    pub(super) guard: Arc<Guard>,
}

impl Toolset for GuardedTools {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        Box::pin(async move {
            let registry = self.tools.open(config).await?;
            Ok(Arc::new(registry.guarded_by(self.guard.clone())))
        })
    }
}
