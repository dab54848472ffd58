//! What the model saw in a turn: the request as it was sent, from the log alone.

use bonded_host::Host;
use bonded_kernel::{Entry, Event, Message, Offer, Run, RunId, replay, replay_on, request};
use bonded_state::Store;
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

/// How many entries are read at a time.
const PART_ENTRIES: usize = 128;

/// A run as it was when a model was last asked in a turn. The log is read in parts, as far as that turn: a long one is
/// never in memory as a whole.
#[derive(Default)]
struct Asked {
    run: Option<Run>,
    /// Read, and not yet part of the run: behind the last request of the turn there may be another one.
    held: Vec<Entry>,
    /// What the model was sent, once it is found.
    expected: Option<Option<u64>>,
    /// How many messages the request of the turn before had.
    before: usize,
}

impl Asked {
    async fn read(store: &dyn Store, id: &RunId, turn: u32) -> Result<Self, ConsoleRefusal> {
        let mut asked = Self::default();
        let mut after = 0;
        loop {
            let part = store.load_part(id, after, PART_ENTRIES).await?;
            let is_last = part.len() < PART_ENTRIES;
            for entry in part {
                if entry.turn > turn {
                    return Ok(asked);
                }
                after = entry.seq;
                asked.take(entry, turn)?;
            }
            if is_last {
                return Ok(asked);
            }
            if asked.expected.is_none() {
                asked.go_on()?;
            }
        }
    }

    fn take(&mut self, entry: Entry, turn: u32) -> Result<(), ConsoleRefusal> {
        let expected = match &entry.event {
            Event::AttemptStarted { context, .. } => Some(context.as_ref().map(|it| it.expected())),
            _ => None,
        };
        let at = entry.turn;
        self.held.push(entry);
        if expected.is_none() || at + 1 < turn {
            return Ok(());
        }
        self.go_on()?;
        match at == turn {
            true => self.expected = expected,
            false => self.before = self.run.as_ref().map_or(0, |run| run.messages().len()),
        }
        Ok(())
    }

    fn go_on(&mut self) -> Result<(), ConsoleRefusal> {
        let held = std::mem::take(&mut self.held);
        let went_on = match &mut self.run {
            Some(run) => replay_on(run, &held),
            None => replay(&held).map(|run| self.run = Some(run)),
        };
        went_on
            .map_err(|fault| ConsoleRefusal::conflict(format!("the log cannot be used: {fault}")))
    }
}

/// The last request of a turn.
pub(super) async fn saw(host: &Host, run: &RunId, turn: u32) -> Result<SawDto, ConsoleRefusal> {
    let missing = || ConsoleRefusal::missing(format!("no model was asked in turn {turn}"));
    let asked = Asked::read(&*host.store, run, turn).await?;
    let expected = asked.expected.ok_or_else(missing)?;
    let (state, before) = (asked.run.ok_or_else(missing)?, asked.before);
    let request = request(&state).ok_or_else(missing)?;
    let mut messages = vec![MessageDto::plain("system", request.system, before == 0)];
    let asked = request.messages.iter().enumerate();
    messages.extend(asked.map(|(at, message)| MessageDto::of(message, at >= before)));
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
        estimated_tokens: expected,
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
