//! Outputs that are taken out of the conversation where it gets too long: what they said stays in the log, and can be read
//! by its handle where the run offers that.

use super::Run;
use crate::context;
use crate::event::{Call, ContextCompacted, Outcome};
use crate::model::Message;
use crate::paging;
use crate::text::Text;
use crate::tokens::estimate;

/// Shorter outputs are not worth it.
const BYTES_MIN: usize = 1_024;

/// So many bytes are a token at most, but for what says next to nothing: what is taken out is not overrated.
const BYTES_PER_TOKEN_MAX: u64 = 8;

/// The outputs of so many turns before the one under way are left where they are.
const TURNS_KEPT: u32 = 2;

/// An output in the conversation that can be taken out of it.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    message: usize,
    turn: u32,
    handle: String,
    text: Text,
    /// What it was taken for, as long as no provider has counted it.
    charged: Option<u64>,
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

    fn saved_tokens(&self) -> u64 {
        match self.charged {
            Some(charged) => charged.saturating_sub(context::message_tokens(&self.stub)),
            None => self.saved_bytes() / BYTES_PER_TOKEN_MAX,
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
            charged: Some(charged),
            stub: self.answer(call, &stub.into(), outcome, latency_ms),
        });
    }

    /// A provider has counted a request that was estimated at so much. What its outputs are taken for is not overrated.
    pub(super) fn outputs_measured(&mut self, sent: u64, projected: u64) {
        let sent = u128::from(sent.min(projected));
        for output in &mut self.outputs {
            let estimated = u128::from(estimate(&output.text));
            let measured = estimated * sent / u128::from(projected.max(1)) * 3 / 4;
            output.charged = Some(u64::try_from(measured).unwrap_or(u64::MAX));
        }
    }

    /// A provider has counted what the conversation holds.
    pub(super) fn outputs_counted(&mut self) {
        self.outputs.iter_mut().for_each(|it| it.charged = None);
    }

    fn pages(&self) -> bool {
        self.config().own_tools.output_kept_bytes_max.is_some()
    }

    /// The messages to take out so that so many tokens are spared, those that are old and long first. Nothing where that
    /// cannot be. `spares_latest` says whether the outputs of the last turns stay.
    pub(crate) fn to_take_out(&self, tokens: u64, spares_latest: bool) -> Option<(Vec<u32>, u64)> {
        let kept = if spares_latest { TURNS_KEPT } else { 0 };
        let is_old = |it: &&Output| it.turn.saturating_add(kept) <= self.turn;
        let mut old: Vec<&Output> = self.outputs.iter().filter(is_old).collect();
        let age = |it: &Output| u64::from(self.turn - it.turn) + 1;
        old.sort_by_key(|it| std::cmp::Reverse(it.saved_tokens().saturating_mul(age(it))));
        let (mut messages, mut spared) = (vec![], 0);
        for output in old {
            if spared >= tokens {
                break;
            }
            spared += output.saved_tokens();
            messages.push(output.message as u32);
        }
        messages.sort_unstable();
        (spared >= tokens && !messages.is_empty()).then_some((messages, spared))
    }

    pub(super) fn compacted(&mut self, compacted: &ContextCompacted) {
        let is_meant = |it: &Output| compacted.messages.contains(&(it.message as u32));
        let (out, kept): (Vec<Output>, Vec<Output>) = std::mem::take(&mut self.outputs)
            .into_iter()
            .partition(is_meant);
        self.outputs = kept;
        for output in &out {
            self.context.unsaid(output.saved_tokens());
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
