//! Tokens and money: what was used, and what the next request may use at most.
//!
//! Nothing is sent that could break a budget: before a request the worst that it can use is reserved. A provider that counts
//! replaces the reserve by what was used. Where nobody counts, all that was reserved stays booked, and is told apart as held.

use crate::config::RunConfig;
use crate::event::{Held, Reserve, Spent};
use crate::image_weights::ImageWeights;
use crate::model::Message;
use crate::money::Money;
use crate::prompt::Conversation;
use crate::usage::Usage;

/// What a message costs besides its text: role, separators, ids. Generous on purpose.
const MESSAGE_OVERHEAD_TOKENS: u64 = 16;

/// Too little room for a reply to be worth the request.
const OUTPUT_TOKENS_MIN: u64 = 256;

/// What counts against a run's budget so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    /// What was used, and what is held.
    pub usage: Usage,
    /// What that costs, by the prices of the targets and the bills of the providers.
    pub cost: Money,
    /// The part of both that is held for requests that nobody counted.
    pub held: Held,
    /// Requests that were answered or failed.
    pub requests: u32,
}

impl Spend {
    /// What was used, as far as somebody counted.
    pub fn used(&self) -> (Usage, Money) {
        self.held.apart(self.usage, self.cost)
    }
}

/// The running account of a run.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    spend: Spend,
    /// An upper bound of the whole request, in tokens: no token is shorter than a byte.
    request_bytes: u64,
    /// What the provider counted last, and for which target.
    counted: Option<(u32, u64)>,
    /// An upper bound of what was said since then.
    uncounted: u64,
    /// What images count for.
    images: ImageWeights,
}

/// Which budget does not suffice for another request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exhausted {
    Tokens {
        spent: u64,
        held: u64,
        max: u64,
    },
    Cost {
        spent: Money,
        held: Money,
        max: Money,
    },
}

impl Ledger {
    pub(crate) fn new(fixed_bytes: u64, conversation: &Conversation, images: ImageWeights) -> Self {
        let mut ledger = Self {
            spend: Spend::default(),
            request_bytes: fixed_bytes + MESSAGE_OVERHEAD_TOKENS,
            counted: None,
            uncounted: 0,
            images,
        };
        for message in conversation.messages() {
            ledger.add(message);
        }
        ledger
    }

    /// The next request holds this and nothing of what was said before.
    pub(crate) fn restart(&mut self, fixed_bytes: u64, conversation: &Conversation) {
        let spend = self.spend;
        let images = std::mem::take(&mut self.images);
        *self = Self::new(fixed_bytes, conversation, images);
        self.spend = spend;
    }

    pub(crate) fn spend(&self) -> Spend {
        self.spend
    }

    pub(crate) fn add(&mut self, message: &Message) {
        let tokens = self.bytes_of(message) + MESSAGE_OVERHEAD_TOKENS;
        self.request_bytes = self.request_bytes.saturating_add(tokens);
        self.uncounted = self.uncounted.saturating_add(tokens);
    }

    /// A tool of so many bytes is sent from now on.
    pub(crate) fn found(&mut self, bytes: u64) {
        self.request_bytes = self.request_bytes.saturating_add(bytes);
        self.uncounted = self.uncounted.saturating_add(bytes);
    }

    /// A message is said no more.
    pub(crate) fn unsay(&mut self, message: &Message) {
        self.remove(self.bytes_of(message));
    }

    /// What a message has at most, images included.
    fn bytes_of(&self, message: &Message) -> u64 {
        message_bytes(message).saturating_add(self.images.of_message(message))
    }

    /// So many bytes less are said.
    pub(crate) fn remove(&mut self, bytes: u64) {
        self.request_bytes = self.request_bytes.saturating_sub(bytes);
    }

    /// An interrupted request is not counted: the answer that it would have had comes to the next one.
    pub(crate) fn answered(&mut self, answered: bool) {
        self.spend.requests += u32::from(answered);
    }

    /// Books what another agent used that this one called.
    pub(crate) fn spent_below(&mut self, spent: &Spent) {
        self.spend.usage.add(&spent.usage);
        self.spend.cost = self.spend.cost.plus(spent.cost);
        self.spend.held.add(&spent.held);
    }

    /// Books one request: what the provider reported, else all that was reserved.
    pub(crate) fn settle(
        &mut self,
        reserved: Reserve,
        reported: Option<Usage>,
        cost: Option<Money>,
    ) {
        let usage = reported.unwrap_or_else(|| reserved.usage());
        if reported.is_none() {
            let unbilled = cost.is_none().then_some(reserved.cost);
            self.spend.held.hold(usage, unbilled);
        }
        let cost = cost.unwrap_or(reserved.cost);
        self.spend.usage.add(&usage);
        self.spend.cost = self.spend.cost.plus(cost);
    }

    /// The provider of a target has counted the conversation, its own reply included.
    pub(crate) fn counted(&mut self, target: u32, usage: Usage) {
        self.counted = Some((target, usage.total()));
        self.uncounted = 0;
    }

    /// Nobody has counted the conversation that there is now.
    pub(crate) fn uncount(&mut self) {
        self.counted = None;
    }

    /// An upper bound of the input tokens of the next request to this target.
    fn input_tokens(&self, target: u32, notices_bytes: u64) -> u64 {
        let known = match self.counted {
            // What a provider counts is its word alone.
            Some((counted_for, tokens)) if counted_for == target => {
                tokens.saturating_add(self.uncounted)
            }
            _ => self.request_bytes,
        };
        known.saturating_add(notices_bytes)
    }

    /// Reserves the worst that the next request can use, or says which budget it would break.
    pub(crate) fn reserve(
        &self,
        config: &RunConfig,
        target: u32,
        notices_bytes: u64,
        output_max: u64,
    ) -> Result<Reserve, Exhausted> {
        let limits = &config.limits;
        let input = self.input_tokens(target, notices_bytes);
        let wanted = u64::from(config.output_tokens_max).min(output_max);
        let least = wanted.clamp(1, OUTPUT_TOKENS_MIN);
        let mut output = wanted;
        if let Some(max) = limits.tokens_max {
            let spent = self.spend.usage.total();
            output = output.min(max.saturating_sub(spent).saturating_sub(input));
            if output < least {
                let held = held(config, self.spend.held.usage.total());
                return Err(Exhausted::Tokens { spent, held, max });
            }
        }
        let price = config.targets.get(target as usize).and_then(|t| t.price);
        if let (Some(max), Some(price)) = (limits.cost_max, price) {
            let spent = self.spend.cost;
            let input_only = Usage {
                input,
                output: 0,
                cached: 0,
                written: 0,
            };
            let (left, least_cost) = (max.minus(spent), price.worst(&input_only));
            output = output.min(price.output_within(input, left));
            if output < least || left <= least_cost && least_cost.0 > 0 {
                let held = held(config, self.spend.held.cost);
                return Err(Exhausted::Cost { spent, held, max });
            }
        }
        let usage = Usage {
            input,
            output,
            cached: 0,
            written: 0,
        };
        let cost = price.map(|price| price.worst(&usage)).unwrap_or_default();
        Ok(Reserve {
            input,
            output,
            cost,
        })
    }
}

/// What is told apart as held.
fn held<T: Default>(config: &RunConfig, held: T) -> T {
    match config.edition.tells_held() {
        true => held,
        false => T::default(),
    }
}

fn message_bytes(message: &Message) -> u64 {
    let bytes = match message {
        Message::User { text, .. } => text.len(),
        Message::Assistant { text, calls, .. } => {
            text.len()
                + calls
                    .iter()
                    .map(|call| call.id.len() + call.tool.len() + call.arguments.len())
                    .sum::<usize>()
        }
        Message::Tool { call_id, text, .. } => call_id.len() + text.len(),
    };
    bytes as u64
}
