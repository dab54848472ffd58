//! One call to a server, from the request to its answer or what is known of it.
//!
//! The question behind all of it is whether a call may be made again. A call that never reached the server may;
//! one that may have been executed is repeated only if the tool says that this changes nothing; a refusal is
//! final. Whoever stops waiting leaves a server that might hang, so that giving a call up is followed by a
//! probe, and a server that does not answer that either is ended.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::ToolEffect;
use rmcp::model::{ClientRequest, RequestId};
use rmcp::service::ServiceError;
use serde_json::Value;

use super::error::{REQUEST_REFUSED, SERVER_ENDED, UNREACHABLE};
use super::http::{Arrival, HttpFault};
use super::link::{Link, value_of};
use super::pin::Pinned;
use super::upkeep::Upkeep;
use crate::fault::{TOOL_CHANGED, ToolFault};

/// How long a server may take to answer a probe after a call was given up.
const PROBE_TIMEOUT_MS: u64 = 5000;

/// A call without an answer that could be used.
#[derive(Debug)]
pub(super) struct Miss {
    pub(super) fault: ToolFault,
    known: CallOutcome,
}

/// What is known of the call's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallOutcome {
    /// The server has not begun with it, and would take it now.
    NotDone,
    /// The server may have executed it or not.
    Nothing,
    /// There is no use in asking again.
    Failed,
}

impl Miss {
    /// Whether the call may be made again. What may have been done already is done again only where that
    /// changes nothing.
    pub(super) fn may_be_repeated(&self, effect: ToolEffect) -> bool {
        match self.known {
            CallOutcome::NotDone => true,
            CallOutcome::Nothing => matches!(effect, ToolEffect::Read | ToolEffect::Idempotent),
            CallOutcome::Failed => false,
        }
    }

    fn new(known: CallOutcome, code: &'static str, message: String) -> Self {
        let fault = ToolFault::new(code, message);
        Self { fault, known }
    }
}

impl From<ToolFault> for Miss {
    fn from(fault: ToolFault) -> Self {
        let known = CallOutcome::Failed;
        Self { fault, known }
    }
}

impl Upkeep {
    /// Asks the server, which is started if it is down, to execute a tool that is still what it was when it
    /// was pinned. Dropping the future tells the server that nobody waits any more, and finds out whether
    /// it still lives.
    pub(super) async fn ask(
        self: &Arc<Self>,
        pinned: &Pinned,
        request: ClientRequest,
    ) -> Result<Value, Miss> {
        let link = self.link().await?;
        if let Some(change) = pinned.change(&self.offers()) {
            self.warn_of_change(&pinned.offered.tool, &change);
            return Err(changed(&self.server().name, &change).into());
        }
        let handle = match link.send(request).await {
            Ok(handle) => handle,
            Err(_) => return Err(self.fell(&link).await),
        };
        let mut waiting = WaitingCall {
            upkeep: Arc::clone(self),
            link: Arc::clone(&link),
            request: Some(handle.id.clone()),
        };
        let answer = handle.await_response().await;
        waiting.request = None;
        match answer {
            Ok(result) => {
                self.answered();
                Ok(value_of(result))
            }
            Err(ServiceError::McpError(error)) => {
                self.answered();
                let (name, code) = (&self.server().name, error.code.0);
                let message = format!("server {name:?} answered {:?} ({code})", error.message);
                Err(Miss::new(CallOutcome::Failed, REQUEST_REFUSED, message))
            }
            Err(ServiceError::TransportSend(error)) => match error.error.downcast_ref() {
                Some(fault) => Err(self.failed_over_http(&link, fault)),
                None => Err(self.fell(&link).await),
            },
            Err(_) => Err(self.fell(&link).await),
        }
    }

    /// A call found that its link is closed.
    ///
    /// Nothing is known of the call then: it may have been executed before the server ended.
    async fn fell(&self, link: &Arc<Link>) -> Miss {
        let last_words = link.last_words().await;
        self.let_go(link, &last_words);
        let name = &self.server().name;
        let message = format!(
            "server {name:?} {last_words}; the outcome of the call is unknown, and the next call starts \
             the server again"
        );
        Miss::new(CallOutcome::Nothing, SERVER_ENDED, message)
    }

    /// An exchange that failed is no end of the session, except where the server says so.
    fn failed_over_http(&self, link: &Arc<Link>, fault: &HttpFault) -> Miss {
        let name = &self.server().name;
        let (known, code) = match fault.arrival() {
            Arrival::SessionLost => {
                self.forget(link);
                (CallOutcome::NotDone, UNREACHABLE)
            }
            Arrival::Unsent => (CallOutcome::Failed, UNREACHABLE),
            Arrival::Refused => (CallOutcome::Failed, REQUEST_REFUSED),
            Arrival::Unknown => {
                let message =
                    format!("server {name:?} {fault}; the outcome of the call is unknown");
                return Miss::new(CallOutcome::Nothing, SERVER_ENDED, message);
            }
        };
        let message = format!("server {name:?} {fault}; nothing was executed");
        Miss::new(known, code, message)
    }

    /// It runs in a task of its own, after the caller is gone. What the server made until then is put aside as
    /// at the end of any call.
    async fn give_up(&self, link: Arc<Link>, request: RequestId) {
        let timeout = Duration::from_millis(PROBE_TIMEOUT_MS);
        // A server that does not read cannot even be told.
        let _ = tokio::time::timeout(timeout, link.cancel(request)).await;
        if self.server().shared && !link.is_alive(self.server().health_probe, timeout).await {
            self.let_go(&link, "hung: it answered neither a call nor a probe");
        }
        link.settle().await;
    }
}

/// A tool that is not what it was when its run began. It is not called.
pub(super) fn changed(server: &str, change: &str) -> ToolFault {
    let message = format!(
        "server {server:?} {change} since this run began, so it was not called; a new run sees it as it is \
         now"
    );
    ToolFault::new(TOOL_CHANGED, message)
}

/// A call that waits for its answer.
///
/// While `request` is there, dropping this gives the call up. It is taken out as soon as an answer or an error
/// has come.
struct WaitingCall {
    upkeep: Arc<Upkeep>,
    link: Arc<Link>,
    request: Option<RequestId>,
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else {
            return;
        };
        if !self.upkeep.server().shared {
            // Nobody else uses it, and what it does now, nobody waits for.
            self.upkeep
                .let_go(&self.link, "was ended with a call that was given up");
        }
        // Without a runtime there is nobody left to tell.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (upkeep, link) = (Arc::clone(&self.upkeep), Arc::clone(&self.link));
            runtime.spawn(async move { upkeep.give_up(link, request).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_nothing_is_done_again_when_its_outcome_is_unknown() {
        use ToolEffect::{Idempotent, Read, Write};
        for (known, effect, expected) in [
            (CallOutcome::NotDone, Write, true),
            (CallOutcome::NotDone, Read, true),
            (CallOutcome::Nothing, Write, false),
            (CallOutcome::Nothing, Idempotent, true),
            (CallOutcome::Nothing, Read, true),
            (CallOutcome::Failed, Read, false),
        ] {
            let miss = Miss::new(known, SERVER_ENDED, String::new());
            assert_eq!(
                miss.may_be_repeated(effect),
                expected,
                "{known:?} {effect:?}"
            );
        }
    }
}
