//! Whether a request lets the model think. The provider refuses a request in which thinking is on and the
//! tool calls that are being answered do not follow a thought that it has signed.

use bonded_kernel::{Message, Reasoning, Request};
use serde::Serialize;

use super::NAME;
use crate::dialect::signed;
use crate::dialect::thought::{budget_of, tokens_of};

/// The smallest budget that the provider takes.
const BUDGET_MIN: u32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    Enabled { budget_tokens: u32 },
    Disabled,
}

impl Thinking {
    /// `None` where nobody has said anything about it, so that the model does as it does.
    pub(super) fn of(request: &Request<'_>) -> Option<Self> {
        let reasoning = request.target.sampling.reasoning?;
        let wanted = match tokens_of(reasoning) {
            0 => return Some(Self::Disabled),
            tokens => Reasoning::Tokens(tokens.max(BUDGET_MIN)),
        };
        let budget_tokens = budget_of(wanted, request.output_tokens_max);
        let allowed = budget_tokens >= BUDGET_MIN && calls_follow_signed_thoughts(request);
        Some(if allowed {
            Self::Enabled { budget_tokens }
        } else {
            Self::Disabled
        })
    }
}

/// Looks at the calls that the end of the conversation answers. The first must follow a signed thought;
/// a later one must not follow one that was not signed.
fn calls_follow_signed_thoughts(request: &Request<'_>) -> bool {
    let is_user = |message: &&Message| matches!(message, Message::User { .. });
    let answered = request.messages.iter().rev().skip_while(is_user);
    let calling = answered
        .take_while(|message| !is_user(message))
        .filter_map(|message| match message {
            Message::Assistant {
                reasoning,
                signed,
                calls,
                ..
            } if !calls.is_empty() => {
                let is_signed = !signed::items(NAME, request.target, signed.as_ref()).is_empty();
                Some((is_signed, reasoning.is_empty()))
            }
            _ => None,
        });
    let mut first_is_signed = true;
    for (is_signed, silent) in calling {
        if !is_signed && !silent {
            return false;
        }
        first_is_signed = is_signed;
    }
    first_is_signed
}
