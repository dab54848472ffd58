//! Whether a request lets the model think, and how much.
//!
//! The service is strict here, and refuses a whole request for a budget that is too small, for thoughts that it
//! has not signed, or for words on thinking that a model does not know. Where a request would be refused,
//! thinking is switched off for it instead.

use bonded_kernel::{Accepts, Effort, Message, Reasoning, Request, SignedThoughts, ThinkingForm};
use serde::{Serialize, Serializer};

use super::NAME;
use crate::dialect::definition::Beta;
use crate::dialect::signed;
use crate::dialect::thought::{budget_of, tokens_of};

/// The smallest budget that the provider takes.
const BUDGET_MIN: u32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    /// The model itself decides when it thinks.
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<Display>,
        #[serde(skip_serializing_if = "Option::is_none")]
        block_binding: Option<Binding>,
    },
    Enabled {
        budget_tokens: u32,
    },
    Disabled,
}

/// Newer models keep their thoughts to themselves unless somebody asks to see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Display {
    Summarized,
}

/// What becomes of a thought before which something has changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Binding {
    prefix_mismatch_behavior: &'static str,
}

const PASSED_OVER: Binding = Binding {
    prefix_mismatch_behavior: "drop_block",
};

/// What a request says of thoughts: nothing where nobody has said anything, so that the model does as it does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThinkingFields {
    pub(super) thinking: Option<Thinking>,
    pub(super) output: Option<OutputConfig>,
    leaves_thoughts_out: bool,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct OutputConfig {
    #[serde(serialize_with = "word")]
    effort: Effort,
}

fn word<S: Serializer>(effort: &Effort, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(effort.as_str())
}

impl ThinkingFields {
    pub(super) fn of(request: &Request<'_>, accepts: &Accepts) -> Self {
        let asked = match (request.target.sampling.reasoning, accepts.thinking) {
            (None, _) | (_, ThinkingForm::None) => Self::default(),
            (Some(reasoning), ThinkingForm::Adaptive) => Self::adaptive(reasoning, accepts),
            (Some(reasoning), _) => Self {
                thinking: Some(Thinking::within_budget(reasoning, request)),
                ..Self::default()
            },
        };
        Self {
            leaves_thoughts_out: accepts.signed_thoughts == SignedThoughts::LeftOut,
            ..asked.bound(accepts)
        }
    }

    /// Where thoughts are bound to what stood before them, the word on it stands in `thinking`; a model of which they
    /// are thinks adaptively if nobody says anything.
    fn bound(mut self, accepts: &Accepts) -> Self {
        let unsaid = Thinking::Adaptive {
            display: None,
            block_binding: None,
        };
        if binds_thoughts(accepts)
            && let Thinking::Adaptive { block_binding, .. } = self.thinking.get_or_insert(unsaid)
        {
            *block_binding = Some(PASSED_OVER);
        }
        self
    }

    /// A model that cannot be kept from thinking refuses to be told so; it is asked for as little effort as it knows.
    fn adaptive(reasoning: Reasoning, accepts: &Accepts) -> Self {
        let wanted = Effort::from(reasoning);
        let effort = accepts.effort(wanted);
        let thinking = match wanted {
            Effort::None => (effort == Some(Effort::None)).then_some(Thinking::Disabled),
            Effort::Minimal
            | Effort::Low
            | Effort::Medium
            | Effort::High
            | Effort::XHigh
            | Effort::Max => Some(Thinking::Adaptive {
                display: Some(Display::Summarized),
                block_binding: None,
            }),
        };
        let effort = effort.filter(|effort| *effort != Effort::None);
        Self {
            thinking,
            output: effort.map(|effort| OutputConfig { effort }),
            leaves_thoughts_out: false,
        }
    }

    pub(super) fn thinks(self) -> bool {
        matches!(
            self.thinking,
            Some(Thinking::Adaptive { .. } | Thinking::Enabled { .. })
        )
    }

    /// Whether the thoughts of earlier replies are wanted.
    pub(super) fn takes_thoughts(self) -> bool {
        self.thinking != Some(Thinking::Disabled) && !self.leaves_thoughts_out
    }
}

/// Whether the word on thoughts that no longer fit is said to this model.
fn binds_thoughts(accepts: &Accepts) -> bool {
    accepts.signed_thoughts == SignedThoughts::Bound && accepts.thinking == ThinkingForm::Adaptive
}

/// What must be named in a header because a request may say it.
pub(super) fn beta(accepts: &Accepts) -> Option<Beta> {
    let name = "thinking-binding-controls-2026-08-01";
    binds_thoughts(accepts).then_some(("anthropic-beta", name))
}

impl Thinking {
    /// The provider refuses a request in which thinking has a budget and the calls that are being answered do not follow
    /// a thought that it has signed.
    fn within_budget(reasoning: Reasoning, request: &Request<'_>) -> Self {
        let wanted = match tokens_of(reasoning) {
            0 => return Self::Disabled,
            tokens => Reasoning::Tokens(tokens.max(BUDGET_MIN)),
        };
        let budget_tokens = budget_of(wanted, request.output_tokens_max);
        if budget_tokens >= BUDGET_MIN && calls_follow_signed_thoughts(request) {
            Self::Enabled { budget_tokens }
        } else {
            Self::Disabled
        }
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
                let items = signed::items(NAME, request.target, signed.as_ref());
                Some((signed::begin_raw(&items), reasoning.is_empty()))
            }
            Message::Assistant { .. } | Message::User { .. } | Message::Tool { .. } => None,
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
