//! A conversation as contents of two sides.
//!
//! Answers to calls stand in a content of their own and name the tool, which the run's message does not, so
//! that the calls of the conversation are remembered on the way. Signatures belong to single parts and go back
//! exactly where they came from. A call that another provider made has none; a placeholder that the service
//! documents stands in for it, on the first call of a reply, for models that demand one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bonded_kernel::{Image, Message, MessageCall, Request};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::NAME;
use crate::dialect::arguments::as_object;
use crate::dialect::{FAILED, signed};

/// What the provider's own documentation says to send with a call that another model made.
const FOREIGN_SIGNATURE: &str = "\"skip_thought_signature_validator\"";

/// How an item of older logs begins, which belongs to a call.
const OLD_MARK_BEGINS: &str = "{\"name\":";

/// The system text has no role, and the field is left out.
#[derive(Serialize)]
pub(super) struct ContentOut<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    role: &'static str,
    parts: Vec<PartOut<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all_fields = "camelCase", untagged)]
enum PartOut<'a> {
    /// As the provider wrote it.
    Kept(&'a RawValue),
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a RawValue>,
    },
    Call {
        function_call: CallOut<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a RawValue>,
    },
    Response {
        function_response: ResponseOut<'a>,
    },
    /// The image itself: nothing has to be fetched.
    Image {
        inline_data: InlineData,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData {
    mime_type: &'static str,
    data: String,
}

#[derive(Serialize)]
struct CallOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    name: &'a str,
    args: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct ResponseOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    name: &'a str,
    response: CallAnswer<'a>,
}

/// A failure is told apart from an answer, so that the model need not read it out of the words.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CallAnswer<'a> {
    Output(&'a str),
    Error(&'a str),
}

/// The system text, which has no side.
pub(super) fn system(text: &str) -> ContentOut<'_> {
    ContentOut {
        role: "",
        parts: text_part(text.into()).into_iter().collect(),
    }
}

/// A call that was made, for the answer to it: its tool, and the provider's own id if it gave one.
struct Made<'a> {
    tool: &'a str,
    id: Option<&'a RawValue>,
}

/// What comes back with a part, as it stands in the log. A part of an older log has an id and a name, a newer one the id
/// as its call.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mark<'a> {
    #[serde(borrow, default)]
    thought_signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    call: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

impl<'a> Mark<'a> {
    fn read(item: Option<&'a RawValue>) -> Self {
        let read = item.and_then(|item| serde_json::from_str(item.get()).ok());
        read.unwrap_or_default()
    }

    fn id(self) -> Option<&'a RawValue> {
        let id = self.call.or(self.id);
        id.filter(|id| id.get() != "\"\"")
    }
}

/// The conversation, and the notices at its end.
pub(super) fn contents<'a>(request: &Request<'a>) -> Vec<ContentOut<'a>> {
    let mut contents = Vec::with_capacity(request.messages.len() + 1);
    let mut made: BTreeMap<&str, Made<'a>> = BTreeMap::new();
    let mut held = vec![];
    for message in request.messages {
        if !matches!(message, Message::Tool { .. }) {
            add(&mut contents, "user", std::mem::take(&mut held));
        }
        match message {
            Message::User { text, images } => {
                let text = text_part(text.as_str().into());
                add(&mut contents, "user", image_parts(images).chain(text));
            }
            Message::Tool {
                call_id,
                text,
                images,
            } => {
                let made = made.get(&**call_id);
                add(&mut contents, "user", [answered(made, text)]);
                // The answers to the calls of a reply stand together, so that images come behind all of them.
                held.extend(images_of(made, images));
            }
            Message::Assistant {
                text,
                signed,
                calls,
                ..
            } => {
                let items = signed::items(NAME, request.target, signed.as_ref());
                let blocks = signed::layout(&items, text, calls);
                let parts = reply(blocks, &request.target.model, &mut made);
                add(&mut contents, "model", parts);
            }
        }
    }
    add(&mut contents, "user", held);
    add(
        &mut contents,
        "user",
        text_part(request.notices.join("\n").into()),
    );
    contents
}

fn image_parts<'a>(images: &[Image]) -> impl Iterator<Item = PartOut<'a>> {
    images.iter().map(|image| PartOut::Image {
        inline_data: InlineData {
            mime_type: image.format().as_str(),
            data: image.base64(),
        },
    })
}

/// The images that a call gave: not every model takes them within its answer.
fn images_of<'a>(made: Option<&Made<'a>>, images: &[Image]) -> Vec<PartOut<'a>> {
    if images.is_empty() {
        return vec![];
    }
    let tool = made.map_or("unknown", |made| made.tool);
    let named = text_part(format!("Images of a call of {tool}:").into());
    named.into_iter().chain(image_parts(images)).collect()
}

/// Adds parts to the last content of the same side. Answers to calls stand by themselves.
fn add<'a>(
    contents: &mut Vec<ContentOut<'a>>,
    role: &'static str,
    parts: impl IntoIterator<Item = PartOut<'a>>,
) {
    for part in parts {
        match contents.last_mut() {
            Some(last) if last.role == role && last.answers() == part.answers() => {
                last.parts.push(part);
            }
            _ => contents.push(ContentOut {
                role,
                parts: vec![part],
            }),
        }
    }
}

impl ContentOut<'_> {
    fn answers(&self) -> bool {
        self.parts.first().is_some_and(PartOut::answers)
    }
}

impl PartOut<'_> {
    fn answers(&self) -> bool {
        matches!(self, Self::Response { .. })
    }
}

/// The parts of a reply.
fn reply<'a>(
    blocks: Vec<signed::Block<'a>>,
    model: &str,
    made: &mut BTreeMap<&'a str, Made<'a>>,
) -> Vec<PartOut<'a>> {
    let mut old_marks: Vec<&'a RawValue> = vec![];
    let mut wants_signature = wants_signatures(model);
    let parts = blocks.into_iter().filter_map(|block| match block {
        signed::Block::Raw(item) if item.get().starts_with(OLD_MARK_BEGINS) => {
            old_marks.push(item);
            None
        }
        signed::Block::Raw(item) => Some(PartOut::Kept(item)),
        signed::Block::Text { text, mark } => {
            let thought_signature = Mark::read(mark).thought_signature;
            let says_nothing = text.is_empty() && thought_signature.is_none();
            (!says_nothing).then_some(PartOut::Text {
                text: text.into(),
                thought_signature,
            })
        }
        signed::Block::Call { call, mark } => {
            let mark = mark.or_else(|| old_mark(&mut old_marks, &call.tool));
            let mut mark = Mark::read(mark);
            if std::mem::take(&mut wants_signature) {
                let foreign = || serde_json::from_str(FOREIGN_SIGNATURE).ok();
                mark.thought_signature = mark.thought_signature.or_else(foreign);
            }
            let (tool, id) = (&*call.tool, mark.id());
            made.insert(&call.id, Made { tool, id });
            Some(called(call, mark))
        }
    });
    parts.collect()
}

/// In older logs the mark of a call is found by the tool's name, in order: a run may have dropped some calls.
fn old_mark<'a>(left: &mut Vec<&'a RawValue>, tool: &str) -> Option<&'a RawValue> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    let is_named = |mark: &&RawValue| {
        let named: Result<Named<'_>, _> = serde_json::from_str(mark.get());
        named.is_ok_and(|named| named.name == tool)
    };
    let at = left.iter().position(is_named)?;
    Some(left.remove(at))
}

/// From the third generation on, the provider refuses calls without a signature.
fn wants_signatures(model: &str) -> bool {
    let generation = model.rsplit_once("gemini-").map_or("", |(_, rest)| rest);
    let digits = generation.split(|c: char| !c.is_ascii_digit()).next();
    let number: Option<u32> = digits.and_then(|digits| digits.parse().ok());
    number.is_some_and(|number| number >= 3)
}

fn text_part(text: Cow<'_, str>) -> Option<PartOut<'_>> {
    (!text.is_empty()).then_some(PartOut::Text {
        text,
        thought_signature: None,
    })
}

fn called<'a>(call: &'a MessageCall, mark: Mark<'a>) -> PartOut<'a> {
    PartOut::Call {
        function_call: CallOut {
            id: mark.id(),
            name: &call.tool,
            args: as_object(&call.arguments),
        },
        thought_signature: mark.thought_signature,
    }
}

/// An answer whose call is nowhere in the conversation is sent under a made-up name and not dropped.
fn answered<'a>(made: Option<&Made<'a>>, text: &'a str) -> PartOut<'a> {
    let response = if text.starts_with(FAILED) {
        CallAnswer::Error(text)
    } else {
        CallAnswer::Output(text)
    };
    PartOut::Response {
        function_response: ResponseOut {
            id: made.and_then(|made| made.id),
            name: made.map_or("unknown", |made| made.tool),
            response,
        },
    }
}
