//! A conversation as messages, in an order that the service accepts.

use std::borrow::Cow;

use bonded_kernel::{
    Accepts, Message, MessageCall, Request, SystemRole, Target, Text, ThoughtReturn,
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
) -> Vec<Said<'a>> {
    let mut list = List::new(request, accepts, ids);
    if !request.system.is_empty() {
        let role = match accepts.system_role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        };
        list.said.push(Said::new(role, request.system, ids));
    }
    for message in request.messages {
        match message {
            Message::User { text } => list.user(Cow::Borrowed(text)),
            Message::Tool { call_id, text } => list.tool(call_id, text),
            Message::Assistant {
                text,
                reasoning,
                signed,
                calls,
            } => {
                let (content, details) = list.thought(reasoning, signed.as_ref());
                let is_returned = content.is_some_and(|it| !it.is_empty()) || !details.is_empty();
                let said = match text.trim().is_empty() && calls.is_empty() && !is_returned {
                    // A reply of reasoning alone would be lost with it.
                    true => reasoning.as_str(),
                    false => text.as_str(),
                };
                let silent = said.is_empty() && !calls.is_empty();
                list.assistant(Said {
                    content: (!silent).then_some(Cow::Borrowed(said)),
                    tool_calls: CallsOut { calls, ids },
                    reasoning_content: content,
                    reasoning_details: details,
                    ..Said::new("assistant", "", ids)
                });
            }
        }
    }
    list.release();
    if !request.notices.is_empty() {
        list.user(request.notices.join("\n").into());
    }
    list.said
}

/// Messages as they are put into order.
struct List<'a> {
    target: &'a Target,
    accepts: &'a Accepts,
    ids: &'a Ids,
    said: Vec<Said<'a>>,
    /// How many calls of the last message that has some are not answered yet.
    open: usize,
    /// What a person said meanwhile: answers follow their calls at once.
    held: Vec<Cow<'a, str>>,
}

impl<'a> List<'a> {
    fn new(request: &Request<'a>, accepts: &'a Accepts, ids: &'a Ids) -> Self {
        Self {
            target: request.target,
            accepts,
            ids,
            said: Vec::with_capacity(request.messages.len() + 2),
            open: 0,
            held: vec![],
        }
    }

    fn user(&mut self, text: Cow<'a, str>) {
        if self.open > 0 {
            return self.held.push(text);
        }
        let accepts = self.accepts;
        match self.said.last_mut() {
            Some(last) if accepts.alternates && last.role == "user" => return last.join(text),
            Some(last) if !accepts.user_after_tool && last.role == "tool" => {
                self.said.push(Said::new("assistant", BRIDGE, self.ids));
            }
            _ => {}
        }
        self.said.push(Said::new("user", text, self.ids));
    }

    fn tool(&mut self, call_id: &'a str, text: &'a str) {
        self.said.push(Said {
            tool_call_id: Some(self.ids.sent(call_id)),
            ..Said::new("tool", text, self.ids)
        });
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.release();
        }
    }

    fn assistant(&mut self, said: Said<'a>) {
        let thinks = said.reasoning_content.is_some_and(|it| !it.is_empty());
        let is_empty = said.is_silent() && said.tool_calls.is_empty();
        if is_empty && !thinks && said.reasoning_details.is_empty() {
            return;
        }
        self.release();
        self.open = said.tool_calls.calls.len();
        match self.said.last_mut() {
            Some(last) if self.accepts.alternates && last.can_take(&said) => last.go_on(said),
            _ => self.said.push(said),
        }
    }

    /// Lets what was held follow.
    fn release(&mut self) {
        self.open = 0;
        if self.held.is_empty() {
            return;
        }
        for text in std::mem::take(&mut self.held) {
            self.user(text);
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

#[derive(Serialize)]
pub(super) struct Said<'a> {
    role: &'static str,
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "CallsOut::is_empty")]
    tool_calls: CallsOut<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a RawValue>,
}

impl<'a> Said<'a> {
    fn new(role: &'static str, content: impl Into<Cow<'a, str>>, ids: &'a Ids) -> Self {
        Self {
            role,
            content: Some(content.into()),
            reasoning_content: None,
            tool_call_id: None,
            tool_calls: CallsOut { calls: &[], ids },
            reasoning_details: vec![],
        }
    }

    fn is_silent(&self) -> bool {
        self.content.as_ref().is_none_or(|text| text.is_empty())
    }

    fn join(&mut self, text: Cow<'a, str>) {
        match &mut self.content {
            Some(said) if !said.is_empty() => {
                let said = said.to_mut();
                said.push_str("\n\n");
                said.push_str(&text);
            }
            content => *content = Some(text),
        }
    }

    /// Whether another message of the same side can become a part of this one.
    fn can_take(&self, next: &Self) -> bool {
        self.role == next.role && self.tool_calls.is_empty()
    }

    fn go_on(&mut self, next: Self) {
        if let Some(text) = next.content {
            self.join(text);
        }
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
