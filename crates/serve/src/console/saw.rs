//! What the model saw in a turn: the request as it was sent, from the log alone.

use bonded_host::Host;
use bonded_kernel::{Event, Message, Offer, RunId, replay, request};
use serde::Serialize;

use super::refusal::ConsoleRefusal;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Saw"))]
pub(super) struct SawDto {
    turn: u32,
    messages: Vec<MessageDto>,
    tools: Vec<String>,
    estimated_tokens: Option<u64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Message"))]
struct MessageDto {
    role: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<CallDto>,
    /// The call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// Whether the request of the turn before did not have it.
    is_new: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Call"))]
struct CallDto {
    id: String,
    tool: String,
    arguments: String,
}

/// The last request of a turn.
pub(super) async fn saw(host: &Host, run: &RunId, turn: u32) -> Result<SawDto, ConsoleRefusal> {
    let entries = host.store.load(run, 0).await?;
    let asked = |turn: u32| {
        entries.iter().rposition(|entry| {
            entry.turn == turn && matches!(entry.event, Event::AttemptStarted { .. })
        })
    };
    let missing = || ConsoleRefusal::missing(format!("no model was asked in turn {turn}"));
    let last = asked(turn).ok_or_else(missing)?;
    let before = match turn.checked_sub(1).and_then(asked) {
        Some(at) => replay(&entries[..=at])
            .ok()
            .map_or(0, |run| run.messages().len()),
        None => 0,
    };
    let state = replay(&entries[..=last])
        .map_err(|fault| ConsoleRefusal::conflict(format!("the log cannot be used: {fault}")))?;
    let request = request(&state).ok_or_else(missing)?;
    let mut messages = vec![MessageDto::plain("system", request.system, before == 0)];
    let said = request.messages.iter().enumerate();
    messages.extend(said.map(|(at, message)| MessageDto::of(message, at >= before)));
    let notices = request.notices.iter();
    messages.extend(notices.map(|notice| MessageDto::plain("notice", notice, true)));
    let tools = match request.offer {
        Offer::TerminalOnly => vec![],
        _ => request
            .catalog
            .specs()
            .map(|it| it.name.to_string())
            .collect(),
    };
    Ok(SawDto {
        turn,
        messages,
        tools,
        estimated_tokens: match &entries[last].event {
            Event::AttemptStarted { context, .. } => context.as_ref().map(|it| it.expected()),
            _ => None,
        },
    })
}

impl MessageDto {
    fn plain(role: &'static str, text: &str, is_new: bool) -> Self {
        Self {
            role,
            text: text.to_owned(),
            calls: vec![],
            call: None,
            is_new,
        }
    }

    fn of(message: &Message, is_new: bool) -> Self {
        match message {
            Message::User { text } => Self::plain("user", text, is_new),
            Message::Assistant { text, calls, .. } => Self {
                calls: calls
                    .iter()
                    .map(|call| CallDto {
                        id: call.id.to_string(),
                        tool: call.tool.to_string(),
                        arguments: call.arguments.to_string(),
                    })
                    .collect(),
                ..Self::plain("assistant", text, is_new)
            },
            Message::Tool { call_id, text } => Self {
                call: Some(call_id.to_string()),
                ..Self::plain("tool", text, is_new)
            },
        }
    }
}
