//! A conversation as messages, in an order that the service accepts.
//!
//! A run's conversation may have any order: a person speaks while tools still work, a reply is empty, two
//! people speak in a row. Services refuse what their templates cannot write. So words that come between a call
//! and its answer are held back until all calls are answered, and sides that must alternate are joined or
//! bridged, depending on what the service takes. Nothing that was said is dropped but replies that are empty;
//! which thoughts go back is what the service accepts.

use std::borrow::Cow;

use bonded_kernel::{
    Accepts, Image, Message, MessageCall, Request, SystemRole, Target, Text, ThoughtReturn,
};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::NAME;
use crate::dialect::ids::Ids;
use crate::dialect::signed;

/// What the model is made to say where nobody may speak right after a tool; Mistral's own client says it, too.
const BRIDGE: &str = "Understood.";

/// The system text, the conversation, and the notices as one last message.
pub(super) fn messages<'a>(
    request: &Request<'a>,
    accepts: &'a Accepts,
    ids: &'a Ids,
) -> Vec<MessageOut<'a>> {
    let mut list = List::new(request, accepts, ids);
    if !request.system.is_empty() {
        let role = match accepts.system_role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        };
        list.messages
            .push(MessageOut::new(role, request.system, ids));
    }
    for message in request.messages {
        match message {
            Message::User { text, images } => list.user(ContentOut::new(text.as_str(), images)),
            Message::Tool {
                call_id,
                text,
                images,
            } => list.tool(call_id, text, images),
            Message::Assistant {
                text,
                reasoning,
                signed,
                calls,
            } => {
                let (content, details) = list.thought(reasoning, signed.as_ref());
                let is_returned = content.is_some_and(|it| !it.is_empty()) || !details.is_empty();
                let content_text = match text.trim().is_empty() && calls.is_empty() && !is_returned
                {
                    // A reply of reasoning alone would be lost with it.
                    true => reasoning.as_str(),
                    false => text.as_str(),
                };
                let silent = content_text.is_empty() && !calls.is_empty();
                list.assistant(MessageOut {
                    content: match silent {
                        true => ContentOut::default(),
                        false => ContentOut::new(content_text, &[]),
                    },
                    tool_calls: CallsOut { calls, ids },
                    reasoning_content: content,
                    reasoning_details: details,
                    ..MessageOut::new("assistant", "", ids)
                });
            }
        }
    }
    list.release();
    if !request.notices.is_empty() {
        list.user(ContentOut::new(request.notices.join("\n"), &[]));
    }
    list.messages
}

/// Messages as they are put into order.
struct List<'a> {
    target: &'a Target,
    accepts: &'a Accepts,
    ids: &'a Ids,
    messages: Vec<MessageOut<'a>>,
    /// How many calls of the last message that has some are not answered yet.
    open: usize,
    /// What a person said meanwhile: answers follow their calls at once.
    held: Vec<ContentOut<'a>>,
}

impl<'a> List<'a> {
    fn new(request: &Request<'a>, accepts: &'a Accepts, ids: &'a Ids) -> Self {
        Self {
            target: request.target,
            accepts,
            ids,
            messages: Vec::with_capacity(request.messages.len() + 2),
            open: 0,
            held: vec![],
        }
    }

    /// Held back while calls are open, since an answer must follow its call at once.
    fn user(&mut self, content: ContentOut<'a>) {
        if self.open > 0 {
            return self.held.push(content);
        }
        let accepts = self.accepts;
        match self.messages.last_mut() {
            Some(last) if accepts.alternates && last.role == "user" => {
                return last.content.join(content);
            }
            Some(last) if !accepts.user_after_tool && last.role == "tool" => {
                self.messages
                    .push(MessageOut::new("assistant", BRIDGE, self.ids));
            }
            _ => {}
        }
        self.messages.push(MessageOut {
            content,
            ..MessageOut::new("user", "", self.ids)
        });
    }

    /// The last answer lets go of what was held. An answer is words alone: images follow as if a person had shown them.
    fn tool(&mut self, call_id: &'a str, text: &'a str, images: &'a [Image]) {
        self.messages.push(MessageOut {
            tool_call_id: Some(self.ids.sent(call_id)),
            ..MessageOut::new("tool", text, self.ids)
        });
        if !images.is_empty() {
            let named = format!("Images of the tool call {}:", self.ids.sent(call_id));
            self.held.push(ContentOut::new(named, images));
        }
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.release();
        }
    }

    /// A reply with nothing in it is left out: many services refuse an empty message. Calls that were never
    /// answered count as closed when the next reply comes.
    fn assistant(&mut self, message: MessageOut<'a>) {
        let thinks = message.reasoning_content.is_some_and(|it| !it.is_empty());
        let is_empty = message.is_silent() && message.tool_calls.is_empty();
        if is_empty && !thinks && message.reasoning_details.is_empty() {
            return;
        }
        self.release();
        self.open = message.tool_calls.calls.len();
        match self.messages.last_mut() {
            Some(last) if self.accepts.alternates && last.can_take(&message) => last.go_on(message),
            _ => self.messages.push(message),
        }
    }

    /// Lets what was held follow.
    fn release(&mut self) {
        self.open = 0;
        if self.held.is_empty() {
            return;
        }
        for content in std::mem::take(&mut self.held) {
            self.user(content);
        }
    }

    /// A thought as it goes back to whom it came from: as text, or in the details that were kept of it.
    fn thought(
        &self,
        reasoning: &'a str,
        signed: Option<&'a Text>,
    ) -> (Option<&'a str>, Vec<&'a RawValue>) {
        match self.accepts.thought_return {
            ThoughtReturn::None => (None, vec![]),
            ThoughtReturn::Details => (None, signed::items(NAME, self.target, signed)),
            ThoughtReturn::Content => {
                let foreign =
                    signed.is_some() && signed::items(NAME, self.target, signed).is_empty();
                // The field itself is demanded of every message, whoever wrote it.
                (Some(if foreign { "" } else { reasoning }), vec![])
            }
        }
    }
}

/// What a message says: a text, or parts where images go with it, which stand before the words about them.
#[derive(Default)]
struct ContentOut<'a> {
    text: Option<Cow<'a, str>>,
    images: Vec<&'a Image>,
}

impl<'a> ContentOut<'a> {
    fn new(text: impl Into<Cow<'a, str>>, images: &'a [Image]) -> Self {
        Self {
            text: Some(text.into()),
            images: images.iter().collect(),
        }
    }

    /// With a blank line between, as people write paragraphs.
    fn join(&mut self, other: Self) {
        self.images.extend(other.images);
        match (&mut self.text, other.text) {
            (_, None) => {}
            (Some(content), Some(text)) if !content.is_empty() => {
                let content = content.to_mut();
                content.push_str("\n\n");
                content.push_str(&text);
            }
            (content, text) => *content = text,
        }
    }
}

impl Serialize for ContentOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.images.is_empty() {
            return self.text.serialize(serializer);
        }
        let images = self.images.iter().map(|image| ChatPart::ImageUrl {
            image_url: ImageUrl {
                url: image.data_url(),
            },
        });
        let text = self.text.as_deref().filter(|text| !text.is_empty());
        let text = text.map(|text| ChatPart::Text { text });
        serializer.collect_seq(images.chain(text))
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

/// The image itself: nothing has to be fetched.
#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

/// A message on the wire. `content` is written as null beside calls, and never left out.
#[derive(Serialize)]
pub(super) struct MessageOut<'a> {
    role: &'static str,
    content: ContentOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "CallsOut::is_empty")]
    tool_calls: CallsOut<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a RawValue>,
}

impl<'a> MessageOut<'a> {
    fn new(role: &'static str, content: impl Into<Cow<'a, str>>, ids: &'a Ids) -> Self {
        Self {
            role,
            content: ContentOut::new(content, &[]),
            reasoning_content: None,
            tool_call_id: None,
            tool_calls: CallsOut { calls: &[], ids },
            reasoning_details: vec![],
        }
    }

    /// No content and an empty one are the same to this.
    fn is_silent(&self) -> bool {
        self.content
            .text
            .as_ref()
            .is_none_or(|text| text.is_empty())
    }

    /// Whether another message of the same side can become a part of this one.
    ///
    /// A message with calls cannot: its answers come first.
    fn can_take(&self, next: &Self) -> bool {
        self.role == next.role && self.tool_calls.is_empty()
    }

    /// The thought of the second message replaces that of the first, as it belongs to the calls that come with
    /// it.
    fn go_on(&mut self, next: Self) {
        self.content.join(next.content);
        self.tool_calls = next.tool_calls;
        self.reasoning_content = next.reasoning_content;
        self.reasoning_details.extend(next.reasoning_details);
    }
}

/// The calls of a message, written as they are met: a conversation may hold thousands.
struct CallsOut<'a> {
    calls: &'a [MessageCall],
    ids: &'a Ids,
}

impl CallsOut<'_> {
    fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

impl Serialize for CallsOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.calls.iter().map(|call| CallOut::of(call, self.ids)))
    }
}

/// The id is the one that the service takes, which may be another than the run's.
#[derive(Serialize)]
struct CallOut<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CallFunctionOut<'a>,
}

impl<'a> CallOut<'a> {
    fn of(call: &'a MessageCall, ids: &'a Ids) -> Self {
        Self {
            id: ids.sent(&call.id),
            kind: "function",
            function: CallFunctionOut {
                name: &call.tool,
                arguments: &call.arguments,
            },
        }
    }
}

#[derive(Serialize)]
struct CallFunctionOut<'a> {
    name: &'a str,
    arguments: &'a str,
}
