//! A conversation as turns of two sides that alternate.

use std::borrow::Cow;

use bonded_kernel::{Image, Message, MessageCall, Request};
use serde::Serialize;
use serde_json::value::RawValue;

use super::NAME;
use crate::dialect::arguments::as_object;
use crate::dialect::ids::Ids;
use crate::dialect::{FAILED, signed};

/// The last turn must be the user's. A conversation that ends with the model's own words is closed so.
const GO_ON: &str = "Continue.";

#[derive(Serialize)]
pub(super) struct Turn<'a> {
    role: &'static str,
    content: Vec<TurnBlock<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TurnBlock<'a> {
    /// A signed thought, as the provider wrote it.
    Kept(&'a RawValue),
    Own {
        #[serde(flatten)]
        content: BlockContent<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockContent<'a> {
    Text {
        text: Cow<'a, str>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Cow<'a, RawValue>,
    },
    Image {
        source: ImageSource,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// A text, or blocks where images go with it.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(&'a str),
    Blocks(Vec<BlockContent<'a>>),
}

/// The image itself: nothing has to be fetched.
#[derive(Serialize)]
struct ImageSource {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'static str,
    data: String,
}

fn image_block<'a>(image: &Image) -> BlockContent<'a> {
    BlockContent::Image {
        source: ImageSource {
            kind: "base64",
            media_type: image.format().as_str(),
            data: image.base64(),
        },
    }
}

/// Asks the provider to keep everything up to here for the next request.
#[derive(Clone, Copy, Serialize)]
pub(super) struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl CacheControl {
    pub(super) fn when(caching: bool) -> Option<Self> {
        caching.then_some(Self { kind: "ephemeral" })
    }
}

/// The conversation, with signed thoughts where they are wanted, and the notices at its end. Notices
/// change from request to request, so what is kept for the next one ends before them.
pub(super) fn turns<'a>(request: &Request<'a>, with_thoughts: bool, ids: &'a Ids) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in request.messages {
        match message {
            Message::User { text, images } => {
                // A model reads words about images better behind them.
                let images = images.iter().map(|image| own(image_block(image)));
                let text = text_block(text.as_str().into());
                add(&mut turns, "user", images.chain(text));
            }
            Message::Tool {
                call_id,
                text,
                images,
            } => {
                let answer = result(ids.sent(call_id), text, images);
                add(&mut turns, "user", Some(answer));
            }
            Message::Assistant {
                text,
                signed,
                calls,
                ..
            } => {
                let items = signed::items(NAME, request.target, signed.as_ref());
                let blocks = signed::layout(&items, text, calls);
                add(&mut turns, "assistant", reply(blocks, with_thoughts, ids));
            }
        }
    }
    for turn in &mut turns {
        turn.results_first();
    }
    if request.target.sampling.caching {
        mark_last(&mut turns);
    }
    let notices = request.notices.join("\n");
    add(&mut turns, "user", text_block(notices.into()));
    if turns.last().is_none_or(|turn| turn.role != "user") {
        add(&mut turns, "user", text_block(GO_ON.into()));
    }
    turns
}

/// What follows a thought that nothing followed: the provider refuses a turn that ends with one, and an empty text.
const THOUGHT_ONLY: &str = "(reasoning only)";

/// The blocks of a reply. A thought that nothing follows is refused, so that something does.
fn reply<'a>(
    blocks: Vec<signed::Block<'a>>,
    with_thoughts: bool,
    ids: &'a Ids,
) -> Vec<TurnBlock<'a>> {
    let blocks = blocks.into_iter().filter_map(|block| match block {
        signed::Block::Raw(item) => with_thoughts.then_some(TurnBlock::Kept(item)),
        signed::Block::Text { text, .. } => text_block(text.into()),
        signed::Block::Call { call, .. } => Some(call_block(call, ids)),
    });
    let mut blocks: Vec<TurnBlock<'a>> = blocks.collect();
    if let Some(TurnBlock::Kept(_)) = blocks.last() {
        blocks.extend(text_block(THOUGHT_ONLY.into()));
    }
    blocks
}

/// Adds blocks to the last turn if it is of the same side, else begins a turn.
fn add<'a>(
    turns: &mut Vec<Turn<'a>>,
    role: &'static str,
    blocks: impl IntoIterator<Item = TurnBlock<'a>>,
) {
    let blocks: Vec<TurnBlock<'a>> = blocks.into_iter().collect();
    match turns.last_mut() {
        Some(turn) if turn.role == role => turn.content.extend(blocks),
        _ if blocks.is_empty() => {}
        _ => turns.push(Turn {
            role,
            content: blocks,
        }),
    }
}

impl Turn<'_> {
    /// The answers to calls must stand before anything else.
    fn results_first(&mut self) {
        self.content.sort_by_key(|block| {
            let is_result = matches!(
                block,
                TurnBlock::Own {
                    content: BlockContent::ToolResult { .. },
                    ..
                }
            );
            self.role == "user" && !is_result
        });
    }
}

/// A thought as the provider wrote it cannot be marked; then the conversation has no mark of its own.
fn mark_last(turns: &mut [Turn<'_>]) {
    let last = turns.last_mut().and_then(|turn| turn.content.last_mut());
    if let Some(TurnBlock::Own { cache_control, .. }) = last {
        *cache_control = CacheControl::when(true);
    }
}

fn own(content: BlockContent<'_>) -> TurnBlock<'_> {
    TurnBlock::Own {
        content,
        cache_control: None,
    }
}

/// A text that says nothing is refused.
fn text_block(text: Cow<'_, str>) -> Option<TurnBlock<'_>> {
    (!text.trim().is_empty()).then(|| own(BlockContent::Text { text }))
}

fn result<'a>(call_id: &'a str, text: &'a str, images: &'a [Image]) -> TurnBlock<'a> {
    let words = || (!text.trim().is_empty()).then(|| BlockContent::Text { text: text.into() });
    own(BlockContent::ToolResult {
        tool_use_id: call_id,
        content: match images {
            [] => ResultContent::Text(text),
            images => {
                let images = images.iter().map(image_block);
                ResultContent::Blocks(words().into_iter().chain(images).collect())
            }
        },
        is_error: text.starts_with(FAILED),
    })
}

fn call_block<'a>(call: &'a MessageCall, ids: &'a Ids) -> TurnBlock<'a> {
    own(BlockContent::ToolUse {
        id: ids.sent(&call.id),
        name: &call.tool,
        input: as_object(&call.arguments),
    })
}
