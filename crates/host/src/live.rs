//! What models say and calls do just now: beside the log, never in it.
//!
//! It is for people who watch. It may be lost, repeated or contradicted by the log, and a run comes out
//! the same whether anybody listens or not.

use std::sync::Arc;

use bonded_kernel::{Encoding, Mask, Run, RunId, StreamFilter};
use bonded_transport::{Live, Writing};

/// Is told what models say while they say it.
///
/// Nothing of it is durable: the reply may still fail or be rejected, and another attempt says it again.
pub trait LiveSink: Send + Sync {
    /// Takes the next piece. The run waits meanwhile, so this must neither wait nor keep more than a bounded
    /// part.
    fn tell(&self, piece: &LivePiece<'_>);

    /// The model writes something that is not told: a sign of life, which may come often.
    fn notice(&self, writing: &LiveWriting<'_>) {
        let _ = writing;
    }

    /// Nobody is asked for a while: whoever could be has failed or limits its rate.
    fn wait(&self, wait: &LiveWait<'_>) {
        let _ = wait;
    }

    /// Something is heard of a call that is under way: a sign of life, which may come often.
    fn call(&self, call: &LiveCall<'_>) {
        let _ = call;
    }
}

/// What is known of a call before its result is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveCall<'a> {
    /// The run that made the call.
    pub run: &'a RunId,
    /// The turn that is under way.
    pub turn: u32,
    /// The call's place in its reply, from 0.
    pub call: u32,
    /// What happened.
    pub news: CallNews,
}

/// What happened to a call that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNews {
    /// Its command put something out.
    Output,
    /// It has ended. Its result is recorded after those of the calls before it.
    Ended,
}

/// What a model writes that is not for others: a thought, a call, what stands around a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveWriting<'a> {
    /// The run whose model writes.
    pub run: &'a RunId,
    /// The turn that is under way.
    pub turn: u32,
    /// The attempt that is under way.
    pub attempt: u32,
    /// The tool of a call, as the model names it; `None` while it thinks.
    pub tool: Option<&'a str>,
    /// How much of this has come.
    pub bytes: usize,
}

/// How long a run waits before it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveWait<'a> {
    /// The run that waits.
    pub run: &'a RunId,
    /// In milliseconds, from now on.
    pub wait_ms: u64,
}

/// A piece of what a model says, which is never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivePiece<'a> {
    /// The run whose model speaks.
    pub run: &'a RunId,
    /// The turn that is under way.
    pub turn: u32,
    /// A new attempt begins the reply again: what an earlier one said counts for nothing.
    pub attempt: u32,
    /// Without secrets.
    pub text: &'a str,
}

/// Tells a sink one reply, as far as it is for others: where a report is written as a tag, its text alone, and
/// nowhere a secret.
pub(crate) struct LiveReply {
    sink: Arc<dyn LiveSink>,
    run: RunId,
    turn: u32,
    attempt: u32,
    /// Lets the text of the report through; `None` where nothing is written as a tag.
    filter: Option<StreamFilter>,
    mask: Arc<Mask>,
    /// How much was said that the filter kept back.
    unseen_bytes: usize,
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
            unseen_bytes: 0,
            held: String::new(),
        })
    }

    /// What may be the beginning of a secret waits for what follows, so that a secret which comes in
    /// pieces is hidden too.
    fn say(&mut self, piece: &str) {
        self.held.push_str(piece);
        let mut text = self.mask.owned(std::mem::take(&mut self.held));
        let sure = text.len() - self.mask.begun_bytes(&text);
        self.held = text.split_off(sure);
        self.tell(&text);
    }

    fn tell_writing(&self, tool: Option<&str>, bytes: usize) {
        self.sink.notice(&LiveWriting {
            run: &self.run,
            turn: self.turn,
            attempt: self.attempt,
            tool,
            bytes,
        });
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
                if shown.is_empty() {
                    self.unseen_bytes += piece.len();
                    self.tell_writing(None, self.unseen_bytes);
                }
                self.say(&shown);
            }
            None => self.say(piece),
        }
    }

    /// A name may hold anything, so that it is masked as any other text.
    fn notice(&mut self, writing: Writing<'_>) {
        match writing {
            Writing::Thought { bytes } => self.tell_writing(None, bytes),
            Writing::Call { tool, bytes } => {
                let tool = self.mask.owned(tool.to_owned());
                self.tell_writing(Some(&tool), bytes);
            }
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
