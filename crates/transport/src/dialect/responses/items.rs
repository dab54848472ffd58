//! A conversation as the items of an input.

use std::borrow::Cow;

use bonded_kernel::{Image, Message, MessageCall, Request};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::NAME;
use crate::dialect::ids::Ids;
use crate::dialect::signed::{self, Block};

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ItemOut<'a> {
    Message {
        role: &'static str,
        content: SaidOut<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Cow<'a, str>>,
    },
    Call {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    Output {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: &'a str,
        output: SaidOut<'a>,
    },
    /// Encrypted reasoning, as the provider wrote it.
    Kept(&'a RawValue),
}

/// A text, or parts where images go with it, which stand before the words about them.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum SaidOut<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<InputPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum InputPart<'a> {
    InputText {
        text: &'a str,
    },
    /// The image itself: nothing has to be fetched.
    InputImage {
        image_url: String,
        detail: &'static str,
    },
}

impl<'a> SaidOut<'a> {
    fn new(text: &'a str, images: &'a [Image]) -> Self {
        if images.is_empty() {
            return Self::Text(text.into());
        }
        let images = images.iter().map(|image| InputPart::InputImage {
            image_url: image.data_url(),
            detail: "auto",
        });
        let text = (!text.is_empty()).then_some(InputPart::InputText { text });
        Self::Parts(images.chain(text).collect())
    }
}

/// The conversation, and the notices as its last item.
pub(super) fn items<'a>(request: &Request<'a>, ids: &'a Ids) -> Vec<ItemOut<'a>> {
    let mut items = Vec::with_capacity(request.messages.len() + 1);
    for message in request.messages {
        match message {
            Message::User { text, images } => {
                items.push(message_item("user", SaidOut::new(text.as_str(), images)));
            }
            Message::Tool {
                call_id,
                text,
                images,
            } => items.push(ItemOut::Output {
                kind: "function_call_output",
                call_id: ids.sent(call_id),
                output: SaidOut::new(text.as_str(), images),
            }),
            Message::Assistant {
                text,
                signed,
                calls,
                ..
            } => {
                let kept = signed::items(NAME, request.target, signed.as_ref());
                items.extend(reply(&kept, text, calls, ids));
            }
        }
    }
    if !request.notices.is_empty() {
        let notices = SaidOut::Text(request.notices.join("\n").into());
        items.push(message_item("user", notices));
    }
    items
}

/// A reply as it came. Its items have no ids of their own but those of reasoning: nothing was stored that an id could
/// name.
fn reply<'a>(
    kept: &[&'a RawValue],
    text: &'a str,
    calls: &'a [MessageCall],
    ids: &'a Ids,
) -> impl Iterator<Item = ItemOut<'a>> {
    let mut blocks = signed::layout(kept, text, calls);
    // Reasoning that nothing follows is refused.
    while let Some(Block::Raw(_) | Block::Text { text: "", .. }) = blocks.last() {
        blocks.pop();
    }
    blocks.into_iter().filter_map(move |block| match block {
        Block::Raw(item) => Some(ItemOut::Kept(item)),
        Block::Text { text: "", .. } => None,
        Block::Text { text, mark } => Some(ItemOut::Message {
            role: "assistant",
            content: SaidOut::Text(text.into()),
            phase: mark.and_then(phase_of),
        }),
        Block::Call { call, .. } => Some(ItemOut::Call {
            kind: "function_call",
            call_id: ids.sent(&call.id),
            name: &call.tool,
            arguments: &call.arguments,
        }),
    })
}

#[derive(Deserialize)]
struct Phase<'a> {
    #[serde(borrow)]
    phase: Cow<'a, str>,
}

fn phase_of(mark: &RawValue) -> Option<Cow<'_, str>> {
    let read: Option<Phase<'_>> = serde_json::from_str(mark.get()).ok();
    read.map(|read| read.phase)
}

fn message_item<'a>(role: &'static str, content: SaidOut<'a>) -> ItemOut<'a> {
    ItemOut::Message {
        role,
        content,
        phase: None,
    }
}
