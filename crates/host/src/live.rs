//! What models are saying just now: beside the log, never in it.

use std::sync::Arc;

use bonded_kernel::{Encoding, Mask, Run, RunId, StreamFilter};
use bonded_transport::Live;

/// Is told what models say while they say it.
///
/// Nothing of it is durable: the reply may still fail or be rejected, and another attempt says it again.
pub trait LiveSink: Send + Sync {
    /// Takes the next piece. The run waits meanwhile, so this must neither wait nor keep more than a bounded
    /// part.
    fn tell(&self, piece: &LivePiece<'_>);

    /// Nobody is asked for a while: whoever could be has failed or limits its rate.
    fn wait(&self, wait: &LiveWait<'_>) {
        let _ = wait;
    }
}

/// How long a run waits before it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveWait<'a> {
    pub run: &'a RunId,
    pub wait_ms: u64,
}

/// A piece of what a model says, which is never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivePiece<'a> {
    pub run: &'a RunId,
    pub turn: u32,
    pub attempt: u32,
    pub text: &'a str,
}

/// Tells a sink one reply, as far as it is for others: where a report is written as a tag, its text alone, and
/// nowhere a secret.
pub(crate) struct LiveReply {
    sink: Arc<dyn LiveSink>,
    run: RunId,
    turn: u32,
    attempt: u32,
    filter: Option<StreamFilter>,
    mask: Arc<Mask>,
    /// What is held back, because it may be the beginning of a secret.
    held: String,
}

impl LiveReply {
    pub(crate) fn new(
        sink: Arc<dyn LiveSink>,
        mask: Arc<Mask>,
        run: &Run,
        turn: u32,
        attempt: u32,
    ) -> Box<Self> {
        let agent = run.config().agent.as_ref();
        let tagged = agent.filter(|agent| agent.encoding != Encoding::Native);
        Box::new(Self {
            sink,
            run: run.id().clone(),
            turn,
            attempt,
            filter: tagged.map(|agent| StreamFilter::new(&agent.nonce)),
            mask,
            held: String::new(),
        })
    }

    fn say(&mut self, piece: &str) {
        self.held.push_str(piece);
        let mut text = self.mask.owned(std::mem::take(&mut self.held));
        let sure = text.len() - self.mask.begun_bytes(&text);
        self.held = text.split_off(sure);
        self.tell(&text);
    }

    fn tell(&self, text: &str) {
        if !text.is_empty() {
            self.sink.tell(&LivePiece {
                run: &self.run,
                turn: self.turn,
                attempt: self.attempt,
                text,
            });
        }
    }
}

impl Live for LiveReply {
    fn hear(&mut self, piece: &str) {
        match &mut self.filter {
            Some(filter) => {
                let shown = filter.push(piece);
                self.say(&shown);
            }
            None => self.say(piece),
        }
    }

    fn end(&mut self) {
        if let Some(filter) = &mut self.filter {
            let held_back = filter.finish();
            self.say(&held_back);
        }
        let rest = std::mem::take(&mut self.held);
        self.tell(&rest);
    }
}
