//! What an engine finds that the one before it could not bring to its end.

use crate::store::WorkspaceError;
use bonded_kernel::Millis;
use bonded_workspace_rules::RunStatus;

use super::{RECOVERED_MAX, Ready, Runner, ready};

/// Whoever lives on for so long after a run was cancelled has ended it.
const ENDED_WITHIN_MS: u64 = 60 * 60 * 1000;

impl Runner {
    /// Goes on where the process before this ended. In this order: a run that is cancelled meanwhile is either driven
    /// and told so, or seen as cancelled.
    pub(super) async fn recover(&mut self) -> Result<(), WorkspaceError> {
        self.take_up(RECOVERED_MAX).await?;
        self.end_abandoned().await
    }

    /// That process may have died after somebody had cancelled a run and before the run's own log had ended. It lived at
    /// the time of the last event that it looked at; what was written since says nothing about it.
    async fn end_abandoned(&self) -> Result<(), WorkspaceError> {
        let shared = &self.shared;
        let last = shared.store().events_all(self.left_at.saturating_sub(1), 1);
        let Some((_, last)) = last.await?.pop() else {
            return Ok(());
        };
        let since = Millis(last.at.0.saturating_sub(ENDED_WITHIN_MS));
        for run in shared.store().cancelled_since(since).await? {
            if let Ready::Yes(firing) = ready(shared, run).await? {
                self.abandon(&firing).await;
            }
        }
        Ok(())
    }

    /// Drives what is under way and driven by nobody.
    pub(super) async fn take_up(&mut self, most: u64) -> Result<(), WorkspaceError> {
        let store = self.shared.settings.store.clone();
        for run in store.runs_in_order(RunStatus::Running, most).await? {
            let whose = store.maker_of(run.workspace_id).await?;
            self.start(run, &whose.unwrap_or_default()).await?;
        }
        Ok(())
    }
}
