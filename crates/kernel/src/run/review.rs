//! Calls that wait for a person or are denied, and how a verdict changes a run.

use std::sync::Arc;

use super::Run;
use crate::event::{Call, Outcome};
use crate::hash::Hash;
use crate::policy::Verdict;
use crate::text::Text;
use crate::time::Millis;

/// What the model is shown for a call that the policy denies in a marked run.
pub(super) const UNTRUSTED: &str = "(tool failed: denied by policy: this tool changes something, and untrusted data has entered the run)";

/// What the model is shown for a call whose arguments are not known any more as it wrote them.
pub(super) const NOT_KEPT: &str = "(tool failed: not executed: the arguments hold a secret, and secrets are not kept while a run waits for a person or is taken up again; call again, or name the secret's variable or file instead of the secret)";

/// How the call that is up next stands with the policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Review {
    /// Nobody was asked about it.
    #[default]
    None,
    /// A person was asked, for this reason.
    Asked {
        why: Text,
    },
    Approved,
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingCall {
    /// The turn that its reply is of.
    pub turn: u32,
    /// The call's place in its reply, from 0.
    pub call: u32,
    /// The tool that would be executed.
    pub tool: Arc<str>,
    /// As they would be executed.
    pub arguments: Text,
    /// Why a person is asked.
    pub why: Text,
    /// Identifies the call with its run, its place and its arguments: what a verdict is bound to.
    pub digest: Hash,
}

impl Run {
    /// The call that waits for a person, if one does.
    pub fn waiting_call(&self) -> Option<WaitingCall> {
        let Review::Asked { why } = &self.oversight.review else {
            return None;
        };
        let (calls, at) = self.phase.calls()?;
        let call = calls.get(at)?;
        Some(WaitingCall {
            digest: digest(self.id().as_str(), self.turn, at as u32, call),
            turn: self.turn,
            call: at as u32,
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            why: why.clone(),
        })
    }

    /// A process takes the run up. One that waits for a person goes on waiting.
    pub(super) fn taken_up(&mut self, at: Millis) {
        self.scratch.unkept.clear();
        self.phase.taken_up();
        self.tally.watch.resume(at);
        if self.waiting_call().is_some() {
            self.tally.watch.pause();
        }
    }

    pub(super) fn review_asked(&mut self, why: &Text) {
        self.oversight.review = Review::Asked { why: why.clone() };
        self.tally.watch.pause();
    }

    pub(super) fn reviewed(&mut self, verdict: &Verdict) {
        if self.waiting_call().is_none() {
            return;
        }
        match verdict {
            Verdict::Approved => self.oversight.review = Review::Approved,
            Verdict::Denied { reason } if reason.trim().is_empty() => {
                self.denied("(tool failed: denied by a person)".into());
            }
            Verdict::Denied { reason } => {
                self.denied(format!("(tool failed: denied by a person: {reason})").into());
            }
        }
    }

    /// Passes the call that is up next over, and tells the model why. To try the same again and again is
    /// no progress.
    pub(super) fn denied(&mut self, text: Text) {
        let Some((calls, at)) = self.calls_up() else {
            return;
        };
        if let Some(call) = calls.get(at) {
            self.tally.progress.finished(call, Outcome::Failed, &text);
            self.refuse(call, text);
        }
        self.pass(calls, at);
    }
}

/// Every part with its length before it, so that no two calls are written alike.
fn digest(run: &str, turn: u32, at: u32, call: &Call) -> Hash {
    let mut bytes = b"bonded call 1".to_vec();
    bytes.extend_from_slice(&turn.to_le_bytes());
    bytes.extend_from_slice(&at.to_le_bytes());
    for part in [run, &call.tool, &call.arguments] {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    Hash::of(&bytes)
}
