//! A conversation as the items of an input.

use std::borrow::Cow;

use bonded_kernel::{Message, Request};
use serde::Serialize;
use serde_json::value::RawValue;

use super::NAME;
use crate::dialect::signed;

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ItemOut<'a> {
    Said {
        role: &'static str,
        content: Cow<'a, str>,
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
        output: &'a str,
    },
    /// Encrypted reasoning, as the provider wrote it.
    Kept(&'a RawValue),
}

/// The conversation, and the notices as its last item.
pub(super) fn items<'a>(request: &Request<'a>) -> Vec<ItemOut<'a>> {
    let mut items = Vec::with_capacity(request.messages.len() + 1);
    for message in request.messages {
        match message {
            Message::User { text } => items.push(said("user", text.as_str().into())),
            Message::Tool { call_id, text } => items.push(ItemOut::Output {
                kind: "function_call_output",
                call_id,
                output: text,
            }),
            Message::Assistant {
                text,
                signed,
                calls,
                ..
            } => {
                // Reasoning that nothing follows is refused.
                if !text.is_empty() || !calls.is_empty() {
                    let kept = signed::items(NAME, request.target, signed.as_ref());
                    items.extend(kept.into_iter().map(ItemOut::Kept));
                }
                if !text.is_empty() {
                    items.push(said("assistant", text.as_str().into()));
                }
                items.extend(calls.iter().map(|call| ItemOut::Call {
                    kind: "function_call",
                    call_id: &call.id,
                    name: &call.tool,
                    arguments: &call.arguments,
                }));
            }
        }
    }
    if !request.notices.is_empty() {
        items.push(said("user", request.notices.join("\n").into()));
    }
    items
}

fn said<'a>(role: &'static str, content: Cow<'a, str>) -> ItemOut<'a> {
    ItemOut::Said { role, content }
}
