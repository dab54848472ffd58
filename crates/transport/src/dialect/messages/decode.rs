//! A whole reply.

use bonded_kernel::{Failure, Reply, ReplyCall};
use serde::Serialize;

use super::NAME;
use super::wire::{Block, Counts, Message, finish_of};
use crate::dialect::loose::real_error;
use crate::dialect::{ITEMS_MAX, arguments, signed};
use crate::failure::{ServerError, malformed};

/// Reads a whole reply. An error that came with a good status is a failure too.
pub(super) fn decode(body: &[u8]) -> Result<Reply, Failure> {
    let mut message: Message = serde_json::from_slice(body)
        .map_err(|error| malformed(&format!("the reply is not a message ({error})"), body))?;
    if let Some(error) = real_error(message.error.take()) {
        return Err(ServerError::from_value(&error).into_failure(false));
    }
    let mut counts = Counts::default();
    if let Some(usage) = &message.usage {
        counts.take(usage);
    }
    match message.content.take() {
        Some(blocks) => assemble(message, blocks, counts, body),
        None => Err(malformed("the reply holds no content", body)),
    }
}

/// A thought in the words in which the provider wants it back.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thought<'a> {
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
}

/// The reply that a message and its blocks are.
pub(super) fn assemble(
    message: Message,
    blocks: Vec<Block>,
    counts: Counts,
    source: &[u8],
) -> Result<Reply, Failure> {
    let signed = signed(&blocks);
    let stop_reason = message.stop_reason.filter(|reason| !reason.is_empty());
    let mut reply = Reply {
        signed,
        usage: counts.usage(),
        finish: stop_reason.as_deref().map(finish_of).unwrap_or_default(),
        stop_reason,
        model: message.model.filter(|model| !model.is_empty()),
        request_id: message.id.filter(|id| !id.is_empty()),
        ..Reply::default()
    };
    for block in blocks {
        take_block(&mut reply, block, source)?;
    }
    Ok(reply)
}

/// The blocks as the provider wants them back.
fn signed(blocks: &[Block]) -> Option<String> {
    let mut kept = signed::Kept::default();
    for block in blocks {
        match block.kind.as_deref() {
            Some("text") => {
                let text = block.text.as_deref().unwrap_or_default();
                // The provider refuses to be sent an empty text.
                if !text.is_empty() {
                    kept.text(text.len(), None::<()>);
                }
            }
            Some("tool_use") => {
                let id = block.id.as_deref().unwrap_or_default();
                let tool = block.name.as_deref().unwrap_or_default();
                kept.call(id, tool, None::<()>);
            }
            _ => thought(block).into_iter().for_each(|it| kept.raw(&it)),
        }
    }
    kept.finish(NAME)
}

fn thought(block: &Block) -> Option<Thought<'_>> {
    let filled = |text: &&str| !text.is_empty();
    match block.kind.as_deref()? {
        "thinking" => Some(Thought::Thinking {
            thinking: block.thinking.as_deref().unwrap_or_default(),
            signature: block.signature.as_deref().filter(filled)?,
        }),
        "redacted_thinking" => Some(Thought::RedactedThinking {
            data: block.data.as_deref().filter(filled)?,
        }),
        _ => None,
    }
}

/// Blocks of other kinds are results of the provider's own tools, which nobody here asked for.
fn take_block(reply: &mut Reply, block: Block, source: &[u8]) -> Result<(), Failure> {
    match block.kind.as_deref() {
        Some("text") => reply.text.push_str(&block.text.unwrap_or_default()),
        Some("thinking") => reply
            .reasoning
            .push_str(&block.thinking.unwrap_or_default()),
        Some("tool_use") if reply.calls.len() == ITEMS_MAX => {
            let why = format!("the reply holds more than {ITEMS_MAX} calls");
            return Err(malformed(&why, source));
        }
        Some("tool_use") => {
            let pieces = block.input_text.filter(|text| !text.is_empty());
            let arguments = match pieces {
                Some(text) => Ok(text),
                None => arguments::from_wire(block.input.as_deref()),
            };
            reply.calls.push(ReplyCall {
                id: block.id.unwrap_or_default(),
                tool: block.name.unwrap_or_default(),
                arguments: arguments.map_err(|error| {
                    let why = format!("the input of a call is unreadable ({error})");
                    malformed(&why, source)
                })?,
            });
        }
        _ => {}
    }
    Ok(())
}
