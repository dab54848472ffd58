//! A conversation as contents of two sides.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bonded_kernel::{Message, MessageCall, Request, Target, Text};
use serde::Serialize;
use serde_json::value::RawValue;

use super::NAME;
use super::wire::Mark;
use crate::dialect::arguments::as_object;
use crate::dialect::{FAILED, signed};

/// What the provider's own documentation says to send with a call that another model made.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
pub(super) struct ContentOut<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    role: &'static str,
    parts: Vec<PartOut<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all_fields = "camelCase", untagged)]
enum PartOut<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Call {
        function_call: CallOut<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<String>,
    },
    Response {
        function_response: ResponseOut<'a>,
    },
}

#[derive(Serialize)]
struct CallOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: &'a str,
    args: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct ResponseOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: &'a str,
    response: Answer<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer<'a> {
    Output(&'a str),
    Error(&'a str),
}

/// The system text, which has no side.
pub(super) fn system(text: &str) -> ContentOut<'_> {
    ContentOut {
        role: "",
        parts: said(text.into()).into_iter().collect(),
    }
}

/// A call that was made, for the answer to it: its tool, and the provider's own id if it gave one.
struct Made<'a> {
    tool: &'a str,
    id: Option<String>,
}

/// The conversation, and the notices at its end.
pub(super) fn contents<'a>(request: &Request<'a>) -> Vec<ContentOut<'a>> {
    let mut contents = Vec::with_capacity(request.messages.len() + 1);
    let mut made: BTreeMap<&str, Made<'a>> = BTreeMap::new();
    for message in request.messages {
        match message {
            Message::User { text } => add(&mut contents, "user", said(text.as_str().into())),
            Message::Tool { call_id, text } => {
                add(
                    &mut contents,
                    "user",
                    [answered(made.get(&**call_id), text)],
                );
            }
            Message::Assistant {
                text,
                signed,
                calls,
                ..
            } => {
                add(&mut contents, "model", said(text.as_str().into()));
                let marks = marks_of(calls, signed.as_ref(), request.target);
                for (call, mark) in calls.iter().zip(marks) {
                    let id = mark.id.clone();
                    made.insert(
                        &call.id,
                        Made {
                            tool: &call.tool,
                            id,
                        },
                    );
                    add(&mut contents, "model", [called(call, mark)]);
                }
            }
        }
    }
    add(
        &mut contents,
        "user",
        said(request.notices.join("\n").into()),
    );
    contents
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

/// What comes back with each call. A run may have dropped some of the calls that a reply held, so marks
/// are found by the tool's name, in order.
fn marks_of(calls: &[MessageCall], signed: Option<&Text>, target: &Target) -> Vec<Mark> {
    let items = signed::items(NAME, target, signed);
    let read = items.iter().map(|item| serde_json::from_str(item.get()));
    let mut left: Vec<Mark> = read.filter_map(Result::ok).collect();
    let taken = calls.iter().map(|call| {
        let at = left.iter().position(|mark| *mark.name == *call.tool);
        at.map(|at| left.remove(at)).unwrap_or_default()
    });
    let mut marks: Vec<Mark> = taken.collect();
    if let Some(first) = marks.first_mut()
        && wants_signatures(&target.model)
    {
        let signature = first.thought_signature.take();
        first.thought_signature = signature.or_else(|| Some(FOREIGN_SIGNATURE.into()));
    }
    marks
}

/// From the third generation on, the provider refuses calls without a signature.
fn wants_signatures(model: &str) -> bool {
    let generation = model.rsplit_once("gemini-").map_or("", |(_, rest)| rest);
    let digits = generation.split(|c: char| !c.is_ascii_digit()).next();
    let number: Option<u32> = digits.and_then(|digits| digits.parse().ok());
    number.is_some_and(|number| number >= 3)
}

fn said(text: Cow<'_, str>) -> Option<PartOut<'_>> {
    (!text.is_empty()).then_some(PartOut::Text { text })
}

fn called(call: &MessageCall, mark: Mark) -> PartOut<'_> {
    PartOut::Call {
        function_call: CallOut {
            id: mark.id,
            name: &call.tool,
            args: as_object(&call.arguments),
        },
        thought_signature: mark.thought_signature,
    }
}

fn answered<'a>(made: Option<&Made<'a>>, text: &'a str) -> PartOut<'a> {
    let response = if text.starts_with(FAILED) {
        Answer::Error(text)
    } else {
        Answer::Output(text)
    };
    PartOut::Response {
        function_response: ResponseOut {
            id: made.and_then(|made| made.id.clone()),
            name: made.map_or("unknown", |made| made.tool),
            response,
        },
    }
}
