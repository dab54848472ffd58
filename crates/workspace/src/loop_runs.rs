//! The action `kjxlkj_agent`: a run that works in loops under the id of the firing.

use bonded_kernel::{Run, RunId, TerminationKind};
use bonded_state::StoreError;
use bonded_tools::BoxFuture;
use bonded_workspace_rules::{LoopAction, RunEnd, RunMove};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::firing::{Firing, Performed, Performs};
use super::keeper::{Keeper, KeeperError, LoopOrder};
use bonded_host::HostError;
use bonded_host::RunResult;

impl Performs<LoopAction> for Keeper {
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
        };
        Box::pin(async move {
            match Box::pin(self.drive(order, cancel)).await {
                Ok(run) => performed(&run),
                // Whoever holds it lets go some time.
                Err(KeeperError::Host(HostError::Store(StoreError::Held { .. }))) => {
                    Performed::Waits
                }
                Err(error) => Performed::failed(error.code(), &error.to_string()),
            }
        })
    }

    fn abandon<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let reason = "the run of the rule was cancelled";
            // It may not have begun, or have ended by itself.
            if let Ok(run) = self.host().cancel(run, reason).await {
                self.settle_memory(&run).await;
            }
        })
    }
}

/// What a run came to, with its audit.
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
