//! A call that waits for a person.

use std::sync::Arc;

use super::{Phase, Run};
use crate::event::Call;
use crate::hash::Hash;
use crate::text::Text;

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
    pub turn: u32,
    /// The call's place in its reply, from 0.
    pub call: u32,
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
        let Review::Asked { why } = &self.review else {
            return None;
        };
        let Phase::Acting { calls, at, .. } = &self.phase else {
            return None;
        };
        let call = calls.get(*at)?;
        Some(WaitingCall {
            digest: digest(self.id.as_str(), self.turn, *at as u32, call),
            turn: self.turn,
            call: *at as u32,
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            why: why.clone(),
        })
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
