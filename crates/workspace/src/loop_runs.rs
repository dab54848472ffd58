//! The action `kjxlkj_agent`: a run that works in loops under the id of the firing.
//!
//! The keeper knows how to begin and resume such a run; here its result becomes an end that the workspace keeps.

use bonded_kernel::{Run, RunId, TerminationKind};
use bonded_state::StoreError;
use bonded_workspace_rules::{LoopAction, RunEnd, RunMove};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::firing::{Firing, Performed, Performs};
use super::keeper::{Keeper, KeeperError, LoopOrder};
use bonded_host::HostError;
use bonded_host::RunResult;

impl Performs<LoopAction> for Keeper {
    /// A failure of the keeper ends the run with a code that says whose fault it was: the rule's, the prompt's, the
    /// memory's or the server's.
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        action: &'a LoopAction,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Performed> {
        let order = LoopOrder {
            run_id: firing.run.run_id.clone(),
            rule_id: firing.rule.rule_id,
            action: action.clone(),
            request: firing.request(),
            whose: firing.whose.clone(),
        };
        Box::pin(async move {
            match Box::pin(self.drive(order, cancel)).await {
                Ok(run) => performed(&run),
                // Whoever holds it lets go some time.
                Err(KeeperError::Host(HostError::Store(StoreError::Held { .. }))) => {
                    Performed::Waits
                }
                // Whether it was queued is not known, and a worker may drive it: it is looked at again.
                Err(KeeperError::Host(HostError::Store(error)))
                    if self.is_queueing() && error.may_pass() =>
                {
                    Performed::Waits
                }
                Err(error) => {
                    if self.is_queueing() {
                        // What this server does not follow any more is not left to a worker.
                        self.abandon(&firing.run.run_id, false).await;
                    }
                    Performed::failed(error.code(), &error.to_string())
                }
            }
        })
    }

    /// The memory is settled afterwards, because nobody drives the run who would write it.
    /// The file of a memory has one writer: what a run that came later makes of it is not written over.
    fn abandon<'a>(&'a self, run: &'a RunId, is_alone: bool) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let reason = "the run of the rule was cancelled";
            // It may not have begun, or have ended by itself.
            if let Ok(run) = self.host().cancel(run, reason).await
                && is_alone
            {
                self.settle_memory(&run).await;
            }
        })
    }
}

/// What a run came to, with its audit.
/// A run that has no result yet waits for a person. Its error code is that of the audit.
fn performed(run: &Run) -> Performed {
    let (Some(result), Some(audit)) = (RunResult::of(run), run.audit_of_loop()) else {
        return Performed::Waits;
    };
    let end = RunEnd {
        error_code: audit.error_code.clone(),
        result_json: json!({
            "termination": result.termination.as_str(),
            "message": result.reason,
            "turns": result.turns,
            "elapsed_ms": result.elapsed_ms,
        }),
        audit: audit.of_ended(),
    };
    Performed::Ended(match result.termination {
        TerminationKind::Done => RunMove::Succeeded(end),
        TerminationKind::Cancelled => RunMove::Cancelled(end),
        TerminationKind::Blocked
        | TerminationKind::TurnsExhausted
        | TerminationKind::NoProgress
        | TerminationKind::Fatal
        | TerminationKind::BudgetExhausted
        | TerminationKind::TimedOut
        | TerminationKind::Denied => RunMove::Failed(end),
    })
}
