//! What models are saying just now: beside the log, never in it.

use std::sync::Arc;

use bonded_kernel::{Encoding, Run, RunId, StreamFilter};
use bonded_transport::Live;

/// Is told what models say while they say it.
///
/// Nothing of it is durable: the reply may still fail or be rejected, and another attempt says it again.
pub trait LiveSink: Send + Sync {
    /// Takes the next piece. The run waits meanwhile, so this must neither wait nor keep more than a bounded
    /// part.
    fn tell(&self, piece: &LivePiece<'_>);
}

/// A piece of what a model says, which is never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivePiece<'a> {
    pub run: &'a RunId,
    pub turn: u32,
    pub attempt: u32,
    pub text: &'a str,
}

/// Tells a sink one reply, as far as it is for others: where a report is written as a tag, its text alone.
pub(crate) struct Telling {
    sink: Arc<dyn LiveSink>,
    run: RunId,
    turn: u32,
    attempt: u32,
    filter: Option<StreamFilter>,
}

impl Telling {
    pub(crate) fn new(sink: Arc<dyn LiveSink>, run: &Run, turn: u32, attempt: u32) -> Box<Self> {
        let agent = run.config().agent.as_ref();
        let tagged = agent.filter(|agent| agent.encoding != Encoding::Native);
        Box::new(Self {
            sink,
            run: run.id().clone(),
            turn,
            attempt,
            filter: tagged.map(|agent| StreamFilter::new(&agent.nonce)),
        })
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

impl Live for Telling {
    fn hear(&mut self, piece: &str) {
        match &mut self.filter {
            Some(filter) => {
                let shown = filter.push(piece);
                self.tell(&shown);
            }
            None => self.tell(piece),
        }
    }

    fn end(&mut self) {
        if let Some(filter) = &mut self.filter {
            let held_back = filter.finish();
            self.tell(&held_back);
        }
    }
}
