//! Outputs that are taken out of the conversation where it gets too long: what they said stays in the log, and can be read
//! by its handle where the run offers that.

use super::Run;
use crate::context;
use crate::event::{Call, ContextCompacted, Outcome};
use crate::model::Message;
use crate::paging;
use crate::text::Text;
use crate::tokens::Gauge;

/// Shorter outputs are not worth it.
const BYTES_MIN: usize = 1_024;

/// So many bytes are a token at most, but for what says next to nothing: what is taken out is not overrated.
const BYTES_PER_TOKEN_MAX: u64 = 8;

/// The outputs of so many turns are left where they are, as long as others make room.
pub(crate) const TURNS_KEPT: u32 = 2;

/// An output in the conversation that can be taken out of it.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    message: usize,
    turn: u32,
    handle: String,
    text: Text,
    /// What it is estimated at.
    charged: u64,
    /// Whether a provider has counted it since.
    is_counted: bool,
    /// What stands in its place then.
    stub: Message,
}

impl Output {
    fn saved_bytes(&self) -> u64 {
        let stub_bytes = match &self.stub {
            Message::User { text } | Message::Tool { text, .. } => text.len(),
            Message::Assistant { .. } => 0,
        };
        self.text.len().saturating_sub(stub_bytes) as u64
    }

    /// What it is estimated at beyond its stub.
    fn estimated(&self, gauge: &Gauge) -> u64 {
        let stub = context::message_tokens(gauge, &self.stub);
        self.charged.saturating_sub(stub)
    }

    /// What is spared at least where it is taken out.
    fn saved_tokens(&self, gauge: &Gauge) -> u64 {
        match (self.is_counted, gauge) {
            (false, _) => self.estimated(gauge),
            (true, Gauge::Bytewise) => self.saved_bytes() / BYTES_PER_TOKEN_MAX,
            (true, Gauge::Measured { .. }) => gauge.at_least(self.estimated(gauge)),
        }
    }
}

impl Run {
    /// Notes that the next message of the conversation is the output of a call.
    pub(super) fn note_output(
        &mut self,
        call: &Call,
        text: &Text,
        outcome: Outcome,
        latency_ms: u64,
        charged: u64,
    ) {
        let config = self.config();
        // A window that is not known may be learned.
        let is_wanted = self.is_guarded() || config.edition.learns_windows();
        if text.len() < BYTES_MIN || !is_wanted {
            return;
        }
        if !config.edition.fills_windows() {
            return;
        }
        let handle = paging::handle(self.turn, self.call_up());
        let stub = paging::taken_out(text.len(), self.pages().then_some(&handle));
        self.outputs.push(Output {
            message: self.conversation.messages().len(),
            turn: self.turn,
            handle,
            text: text.clone(),
            charged,
            is_counted: false,
            stub: self.answer(call, &stub.into(), outcome, latency_ms),
        });
    }

    /// A provider has counted what the conversation holds.
    pub(super) fn outputs_counted(&mut self) {
        self.outputs.iter_mut().for_each(|it| it.is_counted = true);
    }

    fn pages(&self) -> bool {
        self.config().own_tools.output_kept_bytes_max.is_some()
    }

    /// The messages to take out so that so many tokens are spared, those that are old and long first. Nothing where that
    /// cannot be. The outputs of the last `kept` turns stay.
    pub(crate) fn to_take_out(&self, tokens: u64, kept: u32) -> Option<(Vec<u32>, u64)> {
        let is_old = |it: &&Output| it.turn.saturating_add(kept) <= self.turn;
        let mut old: Vec<&Output> = self.outputs.iter().filter(is_old).collect();
        let saved = |it: &Output| self.spared(it);
        let age = |it: &Output| u64::from(self.turn - it.turn) + 1;
        old.sort_by_key(|it| std::cmp::Reverse(saved(it).saturating_mul(age(it))));
        let (mut messages, mut spared) = (vec![], 0);
        for output in old {
            if spared >= tokens {
                break;
            }
            spared += saved(output);
            messages.push(output.message as u32);
        }
        messages.sort_unstable();
        (spared >= tokens && !messages.is_empty()).then_some((messages, spared))
    }

    /// The room that is there again where an output is taken out.
    fn spared(&self, output: &Output) -> u64 {
        let tokens = output.saved_tokens(&self.gauge);
        match output.is_counted || !self.config().edition.weighs_parts() {
            true => tokens,
            // What nobody counted was given more room than it is estimated at.
            false => self.gauge.room_min(tokens),
        }
    }

    /// The outputs that stand before a message are summed up, and those behind it move up. They can still be read.
    pub(super) fn outputs_summed_up(&mut self, until: usize, shift: usize) {
        let all = std::mem::take(&mut self.outputs);
        let (older, mut later): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| it.message < until);
        for output in &older {
            if let Some(bytes_max) = self.config().own_tools.output_kept_bytes_max {
                self.kept
                    .keep_if_new(&output.handle, &output.text, bytes_max);
            }
        }
        for output in &mut later {
            (output.message, output.is_counted) = (output.message - shift, false);
        }
        self.outputs = later;
    }

    pub(super) fn compacted(&mut self, compacted: &ContextCompacted) {
        let is_meant = |it: &Output| compacted.messages.contains(&(it.message as u32));
        let (out, kept): (Vec<Output>, Vec<Output>) = std::mem::take(&mut self.outputs)
            .into_iter()
            .partition(is_meant);
        self.outputs = kept;
        for output in &out {
            let (estimated, saved) = (
                output.estimated(&self.gauge),
                output.saved_tokens(&self.gauge),
            );
            match (&self.gauge, output.is_counted) {
                (Gauge::Bytewise, _) => self.context.unsaid_first(saved),
                (Gauge::Measured { .. }, true) => self.context.uncounted(estimated, saved),
                (Gauge::Measured { .. }, false) => self.context.unsaid(estimated),
            }
            self.ledger.unsaid(output.saved_bytes());
            if let Some(bytes_max) = self.config().own_tools.output_kept_bytes_max {
                self.kept
                    .keep_if_new(&output.handle, &output.text, bytes_max);
            }
        }
        let stubs = out.into_iter().map(|it| (it.message, it.stub));
        self.conversation.replace(stubs);
    }
}
