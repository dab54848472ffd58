//! The outputs of a run: those that can be taken out of the conversation where it gets too long, and those that the model
//! can read on in by their handles. What they said stays in the log.

use super::setup::Setup;
use crate::context;
use crate::event::ToolFinished;
use crate::model::Message;
use crate::paging::{self, KeptOutputs};
use crate::text::Text;
use crate::tokens::Gauge;

/// Shorter outputs are not worth it.
const BYTES_MIN: usize = 1_024;

/// So many bytes are a token at most, but for what says next to nothing: what is taken out is not overrated.
const BYTES_PER_TOKEN_MAX: u64 = 8;

/// The outputs of so many turns are left where they are, as long as others make room.
pub(crate) const TURNS_KEPT: u32 = 2;

/// The outputs of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    /// Those in the conversation that can be taken out of it.
    shown: Vec<Output>,
    /// Those that can be read on in.
    pub(crate) kept: KeptOutputs,
}

/// An output in the conversation that can be taken out of it.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(super) message: usize,
    pub(super) turn: u32,
    pub(super) handle: String,
    pub(super) text: Text,
    /// What it is estimated at.
    pub(super) charged: u64,
    /// Whether a provider has counted it since.
    pub(super) is_counted: bool,
    /// What stands in its place then.
    pub(super) stub: Message,
    /// What the images count for that go with it.
    pub(super) images_tokens: u64,
}

/// By what the room is weighed that an output leaves.
#[derive(Clone, Copy)]
pub(super) struct Scales<'a> {
    pub(super) gauge: &'a Gauge,
    /// Whether what nobody counted leaves all the room that it was given.
    pub(super) weighs_parts: bool,
}

impl Output {
    /// Whether a text is worth being taken out.
    pub(super) fn is_long(text: &Text) -> bool {
        text.len() >= BYTES_MIN
    }

    pub(super) fn is_counted(&self) -> bool {
        self.is_counted
    }

    pub(super) fn saved_bytes(&self) -> u64 {
        let stub_bytes = match &self.stub {
            Message::User { text, .. } | Message::Tool { text, .. } => text.len(),
            Message::Assistant { .. } => 0,
        };
        let words = self.text.len().saturating_sub(stub_bytes) as u64;
        words.saturating_add(self.images_tokens)
    }

    /// What it is estimated at beyond its stub.
    pub(super) fn estimated(&self, gauge: &Gauge) -> u64 {
        let stub = context::message_tokens(gauge, &self.stub);
        self.charged.saturating_sub(stub)
    }

    /// What is spared at least where it is taken out.
    pub(super) fn saved_tokens(&self, gauge: &Gauge) -> u64 {
        match (self.is_counted, gauge) {
            (false, _) => self.estimated(gauge),
            (true, Gauge::Bytewise) => self.saved_bytes() / BYTES_PER_TOKEN_MAX,
            (true, Gauge::Measured { .. }) => gauge.at_least(self.estimated(gauge)),
        }
    }

    /// The room that is there again where it is taken out.
    fn spared(&self, scales: Scales<'_>) -> u64 {
        let tokens = self.saved_tokens(scales.gauge);
        match self.is_counted || !scales.weighs_parts {
            true => tokens,
            // What nobody counted was given more room than it is estimated at.
            false => scales.gauge.room_min(tokens),
        }
    }
}

impl Outputs {
    /// Notes an output that the conversation shows from now on.
    pub(super) fn show(&mut self, output: Output) {
        self.shown.push(output);
    }

    /// A provider has counted what the conversation holds.
    pub(super) fn counted(&mut self) {
        self.shown.iter_mut().for_each(|it| it.is_counted = true);
    }

    /// Nobody has counted what the conversation holds.
    pub(super) fn uncounted(&mut self) {
        self.shown.iter_mut().for_each(|it| it.is_counted = false);
    }

    /// Keeps an output that was cut, where the model can read on in it.
    pub(super) fn keep_cut(&mut self, setup: &Setup, turn: u32, finished: &ToolFinished) {
        let whole = finished.dropped.as_ref().map(|it| &it.output);
        let Some(original) = finished.original.as_ref().or(whole) else {
            return;
        };
        let is_shown = finished.cut_from_bytes.is_some() || finished.dropped.is_some();
        let bytes_max = setup.paged_bytes_max();
        if let (Some(bytes_max), true, false) = (bytes_max, is_shown, finished.is_dropped()) {
            let handle = paging::handle(turn, finished.call);
            let whole_bytes = finished.cut_from_bytes.unwrap_or(original.len() as u64);
            self.kept.keep(handle, original, whole_bytes, bytes_max);
        }
    }

    /// The messages to take out in a turn so that so many tokens are spared, those that are old and long first. Nothing
    /// where that cannot be. The outputs of the last `kept` turns stay.
    pub(super) fn to_take_out(
        &self,
        turn: u32,
        tokens: u64,
        kept: u32,
        scales: Scales<'_>,
    ) -> Option<(Vec<u32>, u64)> {
        let is_old = |it: &&Output| it.turn.saturating_add(kept) <= turn;
        let mut old: Vec<&Output> = self.shown.iter().filter(is_old).collect();
        let saved = |it: &Output| it.spared(scales);
        let age = |it: &Output| u64::from(turn - it.turn) + 1;
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

    /// Takes the outputs out that stand in these messages. They can still be read.
    pub(super) fn take_out(&mut self, setup: &Setup, messages: &[u32]) -> Vec<Output> {
        let is_meant = |it: &Output| messages.contains(&(it.message as u32));
        let (out, stay): (Vec<Output>, Vec<Output>) = std::mem::take(&mut self.shown)
            .into_iter()
            .partition(is_meant);
        self.shown = stay;
        self.keep_whole(setup, &out);
        out
    }

    /// The outputs that stand before a message are summed up, and those behind it move up. They can still be read.
    pub(super) fn sum_up(&mut self, setup: &Setup, until: usize, shift: usize) {
        let all = std::mem::take(&mut self.shown);
        let (older, mut later): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| it.message < until);
        self.keep_whole(setup, &older);
        for output in &mut later {
            (output.message, output.is_counted) = (output.message - shift, false);
        }
        self.shown = later;
    }

    fn keep_whole(&mut self, setup: &Setup, outputs: &[Output]) {
        let Some(bytes_max) = setup.paged_bytes_max() else {
            return;
        };
        for output in outputs {
            self.kept
                .keep_if_new(&output.handle, &output.text, bytes_max);
        }
    }
}
