//! A whole reply.
//!
//! A streamed reply ends here as well, since its last event carries a whole response.

use bonded_kernel::{Failure, FailureClass, Finish, Reply, ReplyCall};
use serde::Serialize;

use super::NAME;
use super::wire::{Item, Part, Response, finish_of, usage_of};
use crate::dialect::loose::{cost_of, real_error};
use crate::dialect::{ITEMS_MAX, arguments, signed};
use crate::failure::{ServerError, failed, malformed};

/// Reads a whole reply. An error that came with a good status is a failure too.
pub(super) fn decode(body: &[u8]) -> Result<Reply, Failure> {
    let response: Response = serde_json::from_slice(body)
        .map_err(|error| malformed(&format!("the reply is not a response ({error})"), body))?;
    assemble(response, false, body)
}

/// The reply that a response is, or the failure that it tells of.
pub(super) fn assemble(
    mut response: Response,
    spoke: bool,
    source: &[u8],
) -> Result<Reply, Failure> {
    if let Some(error) = real_error(response.error.take()) {
        return Err(ServerError::from_value(&error).into_failure(spoke));
    }
    let stop_reason = response.stop_reason();
    if let Some("failed" | "cancelled") = stop_reason.as_deref() {
        let message = "the provider broke off the reply and does not say why";
        return Err(failed(FailureClass::Model, message, true));
    }
    let Some(items) = response.output else {
        return Err(malformed("the reply holds no output", source));
    };
    if items.len() > ITEMS_MAX {
        let why = format!("the reply holds more than {ITEMS_MAX} items");
        return Err(malformed(&why, source));
    }
    let mut output = Output::default();
    for item in items {
        output.take(item, source)?;
    }
    let has_calls = !output.calls.is_empty();
    // A model that only says why it will not has not answered.
    let refused = output.text.is_empty() && !has_calls && !output.refusal.is_empty();
    let finish = stop_reason.as_deref().map(|reason| match refused {
        true => Finish::ContentFilter,
        false => finish_of(reason, has_calls),
    });
    Ok(Reply {
        text: if refused { output.refusal } else { output.text },
        reasoning: output.reasoning,
        signed: output.kept.finish(NAME),
        calls: output.calls,
        usage: response.usage.as_ref().and_then(usage_of),
        cost: response.usage.as_ref().and_then(cost_of),
        finish: finish.unwrap_or_default(),
        stop_reason,
        model: response.model.filter(|model| !model.is_empty()),
        request_id: response.id.filter(|id| !id.is_empty()),
        ..Reply::default()
    })
}

/// Reasoning in the words in which the provider wants it back.
#[derive(Serialize)]
struct Encrypted<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    summary: Vec<Summary<'a>>,
    encrypted_content: &'a str,
}

/// The service wants the summary back with the encrypted content, in the shape in which it sent it.
#[derive(Serialize)]
struct Summary<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

impl<'a> Encrypted<'a> {
    /// Reasoning that is not encrypted is looked for where it was never stored.
    fn of(item: &'a Item) -> Option<Self> {
        let encrypted_content = item.encrypted_content.as_deref();
        let encrypted_content = encrypted_content.filter(|content| !content.is_empty())?;
        let parts = item.summary.iter().flatten();
        let summary = parts.filter_map(|part| {
            Some(Summary {
                kind: "summary_text",
                text: part.text.as_deref()?,
            })
        });
        Some(Self {
            kind: "reasoning",
            id: item.id.as_deref(),
            summary: summary.collect(),
            encrypted_content,
        })
    }
}

/// What the items of a reply say.
#[derive(Default)]
struct Output {
    text: String,
    reasoning: String,
    refusal: String,
    calls: Vec<ReplyCall>,
    kept: signed::Kept,
}

/// Which part of a reply a message is, in the provider's word. It wants it back.
#[derive(Serialize)]
struct PhaseMark {
    phase: String,
}

impl Output {
    /// Items of other kinds belong to the provider's own tools, which nobody here asked for.
    fn take(&mut self, item: Item, source: &[u8]) -> Result<(), Failure> {
        match item.kind.as_deref() {
            Some("message") => {
                let begun = self.text.len();
                for part in item.content.into_iter().flatten() {
                    self.text.push_str(&part.text.unwrap_or_default());
                    self.refusal.push_str(&part.refusal.unwrap_or_default());
                }
                let phase = item.phase.map(|phase| PhaseMark { phase });
                self.kept.text(self.text.len() - begun, phase);
            }
            Some("reasoning") => {
                if let Some(encrypted) = Encrypted::of(&item) {
                    self.kept.raw(&encrypted);
                }
                let summary = texts(item.summary);
                let thought = if summary.is_empty() {
                    texts(item.content)
                } else {
                    summary
                };
                self.reasoning.push_str(&thought);
            }
            Some("function_call") => {
                let arguments = arguments::from_wire(item.arguments.as_deref());
                let id = item.call_id.or(item.id).unwrap_or_default();
                let tool = item.name.unwrap_or_default();
                self.kept.call(&id, &tool, None::<PhaseMark>);
                self.calls.push(ReplyCall {
                    id,
                    tool,
                    arguments: arguments.map_err(|error| {
                        let why = format!("the arguments of a call are unreadable ({error})");
                        malformed(&why, source)
                    })?,
                });
            }
            _ => {}
        }
        Ok(())
    }
}

/// Parts of a summary are paragraphs.
fn texts(parts: Option<Vec<Part>>) -> String {
    let parts = parts.into_iter().flatten();
    let texts: Vec<String> = parts.filter_map(|part| part.text).collect();
    texts.join("\n")
}
