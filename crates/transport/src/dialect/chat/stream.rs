//! Pieces of a reply put together.
//!
//! A reply is finished by its reason, by the mark at the end of the stream, or by both: servers send either.
//! What came is read at the end once more as a whole, since only then is it certain where a thought ends and
//! whether the text was written in channels. The pieces that somebody hears meanwhile are cut more cautiously,
//! so that no thought that was opened by a tag or a channel is heard as an answer.

use std::borrow::Cow;

use bonded_kernel::{Failure, FailureClass, Finish, Money, Reply, Usage};

use super::NAME;
use super::calls::CallPieces;
use super::details::Details;
use super::harmony::{has_channels, read_channels};
use super::think::{Heard, split_thought};
use super::wire::{Choice, Chunk, Content, MessageIn, finish_of, usage_of};
use crate::Writing;
use crate::dialect::loose::{cost_of, real_error};
use crate::dialect::{Accumulate, events, signed};
use crate::failure::{ServerError, failed, malformed};

/// A streamed reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct ChatAccumulator {
    text: String,
    heard: Heard,
    reasoning: String,
    details: Details,
    refusal: String,
    calls: CallPieces,
    usage: Option<Usage>,
    cost: Option<Money>,
    stop_reason: Option<String>,
    model: Option<String>,
    provider: Option<String>,
    id: Option<String>,
    /// A choice with something in it has come.
    spoke: bool,
    /// The server said that nothing follows.
    ended: bool,
}

impl Accumulate for ChatAccumulator {
    fn read_event(&mut self, data: &str) -> Result<(), Failure> {
        let chunk: Chunk = events::parse(data, "a chat completion chunk")?;
        self.take(chunk, data.as_bytes())
    }

    fn end(&mut self) {
        self.ended = true;
    }

    fn new_text<'a>(&'a mut self, _data: &'a str) -> Cow<'a, str> {
        self.heard.news(&self.text).into()
    }

    /// A thought may stand in the text, between tags.
    fn writing<'a>(&'a mut self, _data: &str) -> Option<Writing<'a>> {
        let bytes = self.reasoning.len() + self.text.len();
        let thought = (bytes > 0).then_some(Writing::Thought { bytes });
        self.calls.writing().or(thought)
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

    fn finish(self: Box<Self>) -> Result<Reply, Failure> {
        events::check_whole(&*self)?;
        let mut calls = self.calls.into_calls();
        let (thought, text) = if has_channels(&self.text) {
            let mut channels = read_channels(&self.text);
            calls.append(&mut channels.calls);
            (channels.thought, channels.answer)
        } else {
            split_thought(self.text)
        };
        // A model that only says why it will not has not answered, whatever it gives as the reason for its end.
        let refused = text.is_empty() && calls.is_empty() && !self.refusal.is_empty();
        let finish = match self.stop_reason.as_deref() {
            Some(_) if refused => Some(Finish::ContentFilter),
            reason => reason.map(finish_of),
        };
        Ok(Reply {
            text: if refused { self.refusal } else { text },
            reasoning: joined(self.reasoning, &thought),
            signed: signed::write(NAME, self.details.items()),
            calls,
            usage: self.usage,
            cost: self.cost,
            finish: finish.unwrap_or(Finish::Unknown),
            stop_reason: self.stop_reason,
            model: self.model,
            provider: self.provider,
            request_id: self.id,
            ..Reply::default()
        })
    }
}

/// A thought of the server's own field, and after it the one that stood in the text.
fn joined(mut reasoning: String, thought: &str) -> String {
    if !reasoning.is_empty() && !thought.is_empty() {
        reasoning.push('\n');
    }
    reasoning.push_str(thought);
    reasoning
}

impl ChatAccumulator {
    /// Notes that nothing follows.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Errors are looked for first, since a chunk with an error may have a choice beside it that means nothing.
    /// The first model, id and provider that are named stay; of the counts, the last.
    pub(super) fn take(&mut self, chunk: Chunk, source: &[u8]) -> Result<(), Failure> {
        if let Some(error) = real_error(chunk.error) {
            return Err(ServerError::from_value(&error).into_failure(self.spoke));
        }
        if chunk.object.as_deref() == Some("error") {
            return Err(ServerError::from_body(source).into_failure(self.spoke));
        }
        let filled = |text: &String| !text.is_empty();
        self.model = self.model.take().or(chunk.model).filter(filled);
        self.provider = self.provider.take().or(chunk.provider).filter(filled);
        self.id = self.id.take().or(chunk.id).filter(filled);
        if let Some(usage) = &chunk.usage {
            self.usage = usage_of(usage).or(self.usage);
            self.cost = cost_of(usage).or(self.cost);
        }
        // One choice was asked for; a server that sends more is heard only once.
        let mut choices = chunk.choices.into_iter().flatten();
        match choices.find(|choice| choice.index.unwrap_or(0) == 0) {
            Some(choice) => self.take_choice(choice, source),
            None => Ok(()),
        }
    }

    /// A reason of `error` without an error is a failure too, because the reply was broken off.
    fn take_choice(&mut self, choice: Choice, source: &[u8]) -> Result<(), Failure> {
        if let Some(error) = real_error(choice.error) {
            return Err(ServerError::from_value(&error).into_failure(self.spoke));
        }
        match (choice.delta, choice.message) {
            (Some(delta), _) => self.take_message(delta, false, source)?,
            // A complete message after pieces of it would say everything twice.
            (None, Some(message)) if !self.spoke => self.take_message(message, true, source)?,
            _ => {}
        }
        match choice.finish_reason.filter(|reason| !reason.is_empty()) {
            None => {}
            Some(reason) if reason == "error" => {
                let message =
                    "the provider broke off the reply with an error that it does not name";
                return Err(failed(FailureClass::Model, message, true));
            }
            Some(reason) => {
                // A reply that was filtered away may have no message at all.
                self.spoke |= finish_of(&reason) == Finish::ContentFilter;
                self.stop_reason = Some(reason);
            }
        }
        Ok(())
    }

    /// `whole` says that it is a complete message and no piece. Of the two fields for thoughts, only one is
    /// taken: some servers send the same in both.
    fn take_message(
        &mut self,
        message: MessageIn,
        whole: bool,
        source: &[u8],
    ) -> Result<(), Failure> {
        self.spoke = true;
        if let Some(content) = message.content {
            let text = content.text();
            let why = "the content of the reply is not text";
            self.text
                .push_str(&text.ok_or_else(|| malformed(why, source))?);
        }
        let thought = message.reasoning_content.and_then(Content::text);
        let thought = thought.filter(|text| !text.is_empty());
        let thought = thought.or(message.reasoning.and_then(Content::text));
        self.reasoning.push_str(&thought.unwrap_or_default());
        self.details.take(message.reasoning_details);
        let refusal = message.refusal.and_then(Content::text);
        self.refusal.push_str(&refusal.unwrap_or_default());
        let parts = message.tool_calls.into_iter().flatten();
        self.calls.take(parts, message.function_call, whole, source)
    }
}
