//! Pieces of a reply put together. Calls never come in pieces here.

use std::borrow::Cow;

use bonded_kernel::{Failure, Finish, Reply, ReplyCall, Usage};

use super::NAME;
use super::wire::{
    Candidate, Chunk, FunctionCall, Part, PartMark, Thought, block_reason, finish_of, usage_of,
};
use crate::Writing;
use crate::dialect::loose::real_error;
use crate::dialect::{Accumulate, ITEMS_MAX, arguments, events, signed};
use crate::failure::{ServerError, malformed};

/// A streamed reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct GeminiAccumulator {
    text: String,
    /// How much of the text was heard.
    heard_bytes: usize,
    reasoning: String,
    calls: Vec<ReplyCall>,
    kept: signed::Kept,
    /// How much of the text has come since the last part that stands by itself.
    open_bytes: usize,
    usage: Option<Usage>,
    stop_reason: Option<String>,
    /// The prompt itself was refused.
    blocked: bool,
    model: Option<String>,
    id: Option<String>,
    /// A candidate has come.
    spoke: bool,
    ended: bool,
}

impl Accumulate for GeminiAccumulator {
    fn read_event(&mut self, data: &str) -> Result<(), Failure> {
        let chunk: Chunk = events::parse(data, "generated content")?;
        self.take(chunk, data.as_bytes())
    }

    fn end(&mut self) {
        self.ended = true;
    }

    fn new_text<'a>(&'a mut self, _data: &'a str) -> Cow<'a, str> {
        let from = std::mem::replace(&mut self.heard_bytes, self.text.len());
        self.text[from..].into()
    }

    /// A call comes whole, so that only a thought is ever being written.
    fn writing<'a>(&'a mut self, _data: &str) -> Option<Writing<'a>> {
        let bytes = self.reasoning.len();
        (bytes > 0).then_some(Writing::Thought { bytes })
    }

    fn has_spoken(&self) -> bool {
        self.spoke
    }

    fn has_reason(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn has_ended(&self) -> bool {
        self.ended
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, Failure> {
        events::check_whole(&*self)?;
        self.close_text();
        let reason = self.stop_reason.as_deref();
        let finish = reason.map(|reason| finish_of(reason, !self.calls.is_empty()));
        Ok(Reply {
            signed: self.kept.finish(NAME),
            finish: if self.blocked {
                Finish::ContentFilter
            } else {
                finish.unwrap_or_default()
            },
            text: self.text,
            reasoning: self.reasoning,
            calls: self.calls,
            usage: self.usage,
            stop_reason: self.stop_reason,
            model: self.model,
            request_id: self.id,
            ..Reply::default()
        })
    }
}

impl GeminiAccumulator {
    /// Notes that nothing follows.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn take(&mut self, chunk: Chunk, source: &[u8]) -> Result<(), Failure> {
        if let Some(error) = real_error(chunk.error) {
            return Err(ServerError::from_value(&error).into_failure(self.spoke));
        }
        let filled = |text: &String| !text.is_empty();
        self.model = self.model.take().or(chunk.model_version).filter(filled);
        self.id = self.id.take().or(chunk.response_id).filter(filled);
        let usage = chunk.usage_metadata.as_ref().and_then(usage_of);
        self.usage = usage.or(self.usage);
        if let Some(reason) = block_reason(chunk.prompt_feedback.as_ref()) {
            self.spoke = true;
            self.blocked = true;
            self.stop_reason = Some(reason);
        }
        // One candidate was asked for; a server that sends more is heard only once.
        let mut candidates = chunk.candidates.into_iter().flatten();
        match candidates.find(|candidate| candidate.index.unwrap_or(0) == 0) {
            Some(candidate) => self.take_candidate(candidate, source),
            None => Ok(()),
        }
    }

    fn take_candidate(&mut self, candidate: Candidate, source: &[u8]) -> Result<(), Failure> {
        self.spoke = true;
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            self.take_part(part, source)?;
        }
        let reason = candidate.finish_reason.filter(|reason| !reason.is_empty());
        self.stop_reason = reason.or(self.stop_reason.take());
        Ok(())
    }

    /// A signature beside a call belongs to the call and not to the words in the same part.
    fn take_part(&mut self, part: Part, source: &[u8]) -> Result<(), Failure> {
        let signature = part.thought_signature.filter(|text| !text.is_empty());
        if let Some(call) = part.function_call {
            self.say(part.thought, &part.text.unwrap_or_default(), None);
            return self.take_call(call, signature.as_deref(), source);
        }
        self.say(
            part.thought,
            &part.text.unwrap_or_default(),
            signature.as_deref(),
        );
        Ok(())
    }

    /// Pieces of one text come as parts of their own; only a signature keeps them apart.
    fn say(&mut self, is_thought: bool, text: &str, signature: Option<&str>) {
        match (is_thought, signature) {
            (true, Some(thought_signature)) => {
                self.close_text();
                self.kept.raw(&Thought {
                    text,
                    thought: true,
                    thought_signature,
                });
            }
            (false, Some(_)) => {
                self.close_text();
                let thought_signature = signature;
                self.kept
                    .text(text.len(), Some(PartMark { thought_signature }));
            }
            (false, None) => self.open_bytes += text.len(),
            (true, None) => {}
        }
        let written = if is_thought {
            &mut self.reasoning
        } else {
            &mut self.text
        };
        written.push_str(text);
    }

    /// The text up to here becomes one block, so that a signed part that follows stands after it when it goes
    /// back.
    fn close_text(&mut self) {
        let bytes = std::mem::take(&mut self.open_bytes);
        if bytes > 0 {
            self.kept.text(bytes, None::<()>);
        }
    }

    fn take_call(
        &mut self,
        call: FunctionCall,
        signature: Option<&str>,
        source: &[u8],
    ) -> Result<(), Failure> {
        if self.calls.len() == ITEMS_MAX {
            let why = format!("the reply holds more than {ITEMS_MAX} calls");
            return Err(malformed(&why, source));
        }
        let arguments = arguments::from_wire(call.args.as_deref()).map_err(|error| {
            let why = format!("the arguments of a call are unreadable ({error})");
            malformed(&why, source)
        })?;
        let id = call.id.unwrap_or_default();
        self.close_text();
        // An id goes back only if it is the provider's own.
        let mark = (signature.is_some() || !id.is_empty()).then_some(PartMark {
            thought_signature: signature,
        });
        self.kept.call(&id, &call.name, mark);
        self.calls.push(ReplyCall {
            id,
            tool: call.name,
            // A call without arguments has none on the wire.
            arguments: if arguments.is_empty() {
                "{}".into()
            } else {
                arguments
            },
        });
        Ok(())
    }
}
