//! A streamed reply: blocks that begin, grow and end, between the beginning and the end of the message.

use std::borrow::Cow;

use bonded_kernel::{Failure, Reply};

use super::decode::assemble;
use super::wire::{Block, Counts, Delta, Message, StreamedMessage};
use crate::Writing;
use crate::dialect::{Accumulate, ITEMS_MAX, events};
use crate::failure::{ServerError, malformed};

/// A streamed reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct MessagesAccumulator {
    message: Message,
    blocks: Vec<OpenBlock>,
    counts: Counts,
    /// Which block's text the last event has added to, and where.
    added: Option<(usize, usize)>,
    /// The message has begun.
    spoke: bool,
    /// The server said that nothing follows.
    ended: bool,
}

/// Blocks may grow in turns, so that each is known by its index.
#[derive(Debug)]
struct OpenBlock {
    index: Option<u64>,
    block: Block,
}

impl Accumulate for MessagesAccumulator {
    fn read_event(&mut self, data: &str) -> Result<(), Failure> {
        let event: StreamedMessage = events::parse(data, "one of a message")?;
        self.take(event, data.as_bytes())
    }

    fn end(&mut self) {
        self.ended = true;
    }

    fn new_text<'a>(&'a mut self, _data: &'a str) -> Cow<'a, str> {
        let text = self.added.take().and_then(|(block, from)| {
            let block = &self.blocks.get(block)?.block;
            block.text.as_deref()?.get(from..)
        });
        text.unwrap_or_default().into()
    }

    fn writing<'a>(&'a mut self, _data: &str) -> Option<Writing<'a>> {
        let block = &self.blocks.last()?.block;
        let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match block.kind.as_deref() {
            Some("tool_use") => Some(Writing::Call {
                tool: block.name.as_deref().unwrap_or_default(),
                bytes: bytes(&block.input_text),
            }),
            Some("thinking") => Some(Writing::Thought {
                bytes: bytes(&block.thinking),
            }),
            _ => None,
        }
    }

    fn has_spoken(&self) -> bool {
        self.spoke
    }

    fn has_reason(&self) -> bool {
        self.message.stop_reason.is_some()
    }

    fn has_ended(&self) -> bool {
        self.ended
    }

    fn finish(self: Box<Self>) -> Result<Reply, Failure> {
        events::check_whole(&*self)?;
        let blocks = self.blocks.into_iter().map(|open| open.block).collect();
        assemble(self.message, blocks, self.counts, b"")
    }
}

impl MessagesAccumulator {
    fn take(&mut self, event: StreamedMessage, source: &[u8]) -> Result<(), Failure> {
        match event.kind.as_deref() {
            Some("error") => {
                let error = event.error.as_ref().map(ServerError::from_value);
                let error = error.unwrap_or_else(|| ServerError::from_body(source));
                return Err(error.into_failure(self.spoke));
            }
            Some("message_start") => self.begin(event.message.unwrap_or_default()),
            Some("content_block_start") => {
                self.open(event.index, event.content_block.unwrap_or_default(), source)?;
            }
            Some("content_block_delta") => self.grow(event.index, event.delta, source)?,
            Some("message_delta") => {
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.message.stop_reason = reason.or(self.message.stop_reason.take());
            }
            Some("message_stop") => self.ended = true,
            _ => {}
        }
        if let Some(usage) = &event.usage {
            self.counts.take(usage);
        }
        Ok(())
    }

    fn begin(&mut self, message: Message) {
        self.spoke = true;
        if let Some(usage) = &message.usage {
            self.counts.take(usage);
        }
        self.message.id = message.id;
        self.message.model = message.model;
    }

    fn open(&mut self, index: Option<u64>, block: Block, source: &[u8]) -> Result<(), Failure> {
        self.spoke = true;
        if self.blocks.len() == ITEMS_MAX {
            let why = format!("the reply holds more than {ITEMS_MAX} blocks");
            return Err(malformed(&why, source));
        }
        self.added = block.is_text().then_some((self.blocks.len(), 0));
        self.blocks.push(OpenBlock { index, block });
        Ok(())
    }

    /// An event for a block that never began is malformed: nobody knows what kind of block its words would
    /// belong to.
    fn grow(
        &mut self,
        index: Option<u64>,
        delta: Option<Delta>,
        source: &[u8],
    ) -> Result<(), Failure> {
        let Some(delta) = delta else { return Ok(()) };
        let at = self.blocks.iter().rposition(|open| open.index == index);
        let why = "an event adds to a block that has not begun";
        let at = at.ok_or_else(|| malformed(why, source))?;
        let block = &mut self.blocks[at].block;
        if block.is_text() {
            self.added = Some((at, block.text.as_ref().map_or(0, String::len)));
        }
        add(&mut block.text, delta.text);
        add(&mut block.thinking, delta.thinking);
        add(&mut block.signature, delta.signature);
        add(&mut block.input_text, delta.partial_json);
        Ok(())
    }
}

fn add(to: &mut Option<String>, piece: Option<String>) {
    if let Some(piece) = piece {
        to.get_or_insert_default().push_str(&piece);
    }
}
