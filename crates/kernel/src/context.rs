//! The context guard: what the next request will hold, and whether the models' windows take it.
//!
//! What a provider counted for a reply is certain (`current`); what was said since is estimated (`pending`); the tools come on
//! top (`schema`). The sum is held against the window before anything is sent, and before an output is put into the
//! conversation.

use crate::config::{RunConfig, Target, WindowSource};
use crate::model::Message;
use crate::tokens::{CALL_TOKENS, Gauge, MESSAGE_TOKENS};
use crate::usage::Usage;

/// What the model is shown for a result that no window has room for.
pub(crate) const DROPPED: &str = "(tool failed: context window budget exceeded)";

/// What the model is shown for a refused call where the reason has no room.
pub(crate) const REFUSED: &str = "(tool failed: not executed)";

/// A reply that calls a tool is seldom shorter.
const REPLY_TOKENS_MIN: u64 = 64;

/// The counters of a run's context, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    /// Committed by the last reply, as its provider counted.
    current: u64,
    /// Said since then, as it is estimated.
    pending: u64,
    /// The whole conversation, as it is estimated; not known where a reply is in it whose thoughts may or may not be sent
    /// again.
    whole: Option<u64>,
}

/// What comes to the conversation in one request, as it is estimated.
#[derive(Clone, Copy)]
pub(crate) struct RequestExtras<'a> {
    pub(crate) gauge: &'a Gauge,
    /// Notices, and what is about to be said.
    pub(crate) more: u64,
    pub(crate) schema: u64,
}

/// What one request holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Projection {
    pub(crate) current: u64,
    pub(crate) pending: u64,
    pub(crate) schema: u64,
}

impl Projection {
    pub(crate) fn tokens(&self) -> u64 {
        self.current
            .saturating_add(self.pending)
            .saturating_add(self.schema)
    }
}

impl Default for Context {
    fn default() -> Self {
        Self {
            current: 0,
            pending: 0,
            whole: Some(0),
        }
    }
}

impl Context {
    pub(crate) fn add(&mut self, tokens: u64) {
        self.pending = self.pending.saturating_add(tokens);
        self.whole = self.whole.map(|it| it.saturating_add(tokens));
    }

    /// A reply was said that has thoughts.
    pub(crate) fn thought(&mut self) {
        self.whole = None;
    }

    /// A reply came: what the provider counted replaces every estimate.
    pub(crate) fn counted(&mut self, usage: &Usage) {
        self.current = usage.total();
        self.pending = 0;
    }

    /// What is said has so many tokens, whatever was estimated.
    pub(crate) fn corrected(&mut self, tokens: u64) {
        self.current = tokens;
        self.pending = 0;
    }

    /// Something is not said any more that no provider had counted.
    pub(crate) fn remove(&mut self, tokens: u64) {
        self.pending = self.pending.saturating_sub(tokens);
        self.whole = self.whole.map(|it| it.saturating_sub(tokens));
    }

    /// Something is not said any more that was counted: estimated at so many tokens, and so many at least.
    pub(crate) fn uncounted(&mut self, estimated: u64, at_least: u64) {
        self.current = self.current.saturating_sub(at_least);
        self.whole = self.whole.map(|it| it.saturating_sub(estimated));
    }

    /// Something is not said any more, as runs counted it before estimates were measured.
    pub(crate) fn remove_pending_first(&mut self, tokens: u64) {
        let of_pending = tokens.min(self.pending);
        self.pending -= of_pending;
        self.current = self.current.saturating_sub(tokens - of_pending);
    }

    /// What a request holds with so much more, at a target.
    pub(crate) fn project(&self, extras: RequestExtras<'_>, target: usize) -> Projection {
        let pending = self.pending.saturating_add(extras.more);
        Projection {
            current: self.current,
            pending: extras.gauge.room(target, pending),
            schema: extras.gauge.room(target, extras.schema),
        }
    }

    /// What a request is estimated at, from its first word to its last.
    pub(crate) fn whole(&self, extras: RequestExtras<'_>) -> Option<u64> {
        let more = extras.more.saturating_add(extras.schema);
        Some(self.whole?.saturating_add(more))
    }
}

/// The tokens that a request to this target may hold; `None` where its window is not known. Negative
/// where the reply alone is larger than the window.
pub(crate) fn limit(target: &Target, config: &RunConfig, shortens: bool) -> Option<i64> {
    let window = target.window?;
    let whole = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let reply = whole(reply_max(target, config, shortens));
    let usable = whole(window.tokens).saturating_sub(whole(window.buffer));
    Some(usable.saturating_sub(reply))
}

/// The longest reply that a target is asked for. Where nobody said how long it may be, it leaves most of a small window to
/// the conversation: where the profile shortens replies, and everywhere in a window that was found out.
pub(crate) fn reply_max(target: &Target, config: &RunConfig, shortens: bool) -> u64 {
    let most = u64::from(config.output_tokens_max);
    let is_found = matches!(
        target.window_source,
        Some(WindowSource::Asked | WindowSource::Learned)
    );
    match target.window {
        Some(window) if config.output_is_default && (shortens || is_found) => {
            most.min(window.tokens / 4).max(1)
        }
        _ => most,
    }
}

pub(crate) fn is_guarded(config: &RunConfig) -> bool {
    config.targets.iter().any(|target| target.window.is_some())
}

/// The least room that a reply is given, whatever the window holds.
pub(crate) fn reply_room_min() -> u64 {
    REPLY_TOKENS_MIN
}

/// Too short a reply is not worth the request.
pub(crate) fn least_reply(config: &RunConfig) -> u64 {
    u64::from(config.output_tokens_max).min(REPLY_TOKENS_MIN)
}

/// What the words of a message add to the next request.
pub(crate) fn message_tokens(gauge: &Gauge, message: &Message) -> u64 {
    let estimate = |text: &str| gauge.estimate(text);
    MESSAGE_TOKENS
        + match message {
            Message::User { text, .. } | Message::Tool { text, .. } => estimate(text),
            Message::Assistant {
                text,
                reasoning,
                signed,
                calls,
            } => {
                let calls = calls
                    .iter()
                    .map(|call| CALL_TOKENS + estimate(&call.tool) + estimate(&call.arguments));
                let signed = signed.as_ref().map_or(0, |it| estimate(it));
                estimate(text) + estimate(reasoning) + signed + calls.sum::<u64>()
            }
        }
}

/// What a text adds to the next request as a message of its own.
pub(crate) fn text_tokens(gauge: &Gauge, text: &str) -> u64 {
    MESSAGE_TOKENS + gauge.estimate(text)
}
