//! What the model saw in a turn: the request as it was sent, from the log alone.
//!
//! A request may have very many messages, so they are given in pages. Rebuilding it takes a look at all that came before:
//! the last one that was asked for is kept for the next page of it.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_host::Host;
use bonded_kernel::{
    Entry, Event, Image, Message, Offer, Request, Run, RunId, replay, replay_on, request,
};
use bonded_state::Store;
use serde::Serialize;

use super::log_parts::LogParts;
use super::refusal::ConsoleRefusal;

/// A page has so many messages where nothing else is asked for, and at most so many.
pub(super) const MESSAGES: usize = 200;
pub(super) const MESSAGES_MAX: usize = 1_000;
/// It ends after the message with which its texts are this long.
const PAGE_BYTES: usize = 1 << 20;
/// A longer text is cut, unless it is asked for whole; so much is left of it at its beginning and at its end.
const TEXT_BYTES_MAX: usize = 65_536;
const HEAD_BYTES: usize = 32_768;
const TAIL_BYTES: usize = 1_024;
/// Without a place a page begins so many messages before what is new, or shows at least so many of the last ones.
const BEFORE_NEW: usize = 6;
const LAST: usize = 50;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Saw"))]
pub(super) struct SawDto {
    turn: u32,
    /// How many messages the request has.
    total: usize,
    /// The place of the first message that the request of the turn before did not have.
    first_new: Option<usize>,
    /// The place of the first of `messages`.
    from: usize,
    /// Some of them, in order; the next ones are at `from` plus their number.
    messages: Vec<MessageDto>,
    tools: Vec<String>,
    estimated_tokens: Option<u64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Message"))]
struct MessageDto {
    role: &'static str,
    text: TextDto,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<CallDto>,
    /// The call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// What went with the text; the bytes are in the store alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<ImageDto>,
    /// Whether the request of the turn before did not have it.
    is_new: bool,
}

/// A text, or the beginning and the end of one that is longer than 65,536 bytes.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "MessageText"))]
enum TextDto {
    Whole(String),
    Cut { cut: CutDto },
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Cut"))]
struct CutDto {
    head: String,
    tail: String,
    /// Of the whole text.
    bytes: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Call"))]
struct CallDto {
    id: String,
    tool: String,
    arguments: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Image"))]
struct ImageDto {
    #[serde(rename = "type")]
    kind: &'static str,
    width: u32,
    height: u32,
    bytes: u64,
    /// By BLAKE3.
    hash: String,
}

impl ImageDto {
    fn of(image: &Image) -> Self {
        Self {
            kind: image.format().as_str(),
            width: image.width(),
            height: image.height(),
            bytes: image.blob().bytes,
            hash: image.blob().hash.to_string(),
        }
    }
}

/// The messages of a request that are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct SawPage {
    /// `None` for where there is something new.
    pub(super) from: Option<usize>,
    pub(super) limit: usize,
    /// Whether long texts are given whole.
    pub(super) is_whole: bool,
}

/// The request that was rebuilt last.
#[derive(Default)]
pub(super) struct LastSaw(Mutex<Option<Arc<Asked>>>);

/// A run as it was when a model was last asked in a turn. The log is read as far as that turn.
pub(super) struct Asked {
    id: RunId,
    turn: u32,
    run: Option<Run>,
    /// Read, and not yet part of the run: behind the last request of the turn there may be another one.
    held: Vec<Entry>,
    /// What the model was sent, once it is found.
    expected: Option<Option<u64>>,
    /// How many messages the request of the turn before had.
    before: usize,
    /// The last entry that was read, and whether it is of a later turn: then no other request follows.
    read_until: u64,
    is_final: bool,
}

impl LastSaw {
    /// What was kept, if the log says the same by now.
    async fn of(
        &self,
        store: &Arc<dyn Store>,
        id: &RunId,
        turn: u32,
    ) -> Result<Arc<Asked>, ConsoleRefusal> {
        let kept = self.kept().clone();
        if let Some(asked) = kept.filter(|it| it.id == *id && it.turn == turn)
            && (asked.is_final
                || store
                    .head(id)
                    .await?
                    .is_some_and(|it| it.seq == asked.read_until))
        {
            return Ok(asked);
        }
        let asked = Arc::new(Asked::read(store, id, turn).await?);
        *self.kept() = Some(asked.clone());
        Ok(asked)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Arc<Asked>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked {
    async fn read(store: &Arc<dyn Store>, id: &RunId, turn: u32) -> Result<Self, ConsoleRefusal> {
        let mut asked = Self {
            id: id.clone(),
            turn,
            run: None,
            held: vec![],
            expected: None,
            before: 0,
            read_until: 0,
            is_final: false,
        };
        let mut parts = LogParts::new(store.clone(), id.clone());
        loop {
            let part = parts.next().await?;
            asked.is_final = part.iter().any(|entry| entry.turn > turn);
            let is_over = asked.is_final || part.is_empty();
            for entry in part.into_iter().take_while(|entry| entry.turn <= turn) {
                asked.take(entry)?;
            }
            if is_over {
                asked.held = vec![];
                return Ok(asked);
            }
            if asked.expected.is_none() {
                asked.go_on()?;
            }
        }
    }

    fn take(&mut self, entry: Entry) -> Result<(), ConsoleRefusal> {
        let expected = match &entry.event {
            Event::AttemptStarted { context, .. } => Some(context.as_ref().map(|it| it.expected())),
            _ => None,
        };
        let at = entry.turn;
        self.read_until = entry.seq;
        self.held.push(entry);
        if expected.is_none() || at + 1 < self.turn {
            return Ok(());
        }
        self.go_on()?;
        match at == self.turn {
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

/// The last request of a turn, a page of it.
pub(super) async fn saw(
    host: &Host,
    last: &LastSaw,
    run: &RunId,
    turn: u32,
    page: SawPage,
) -> Result<SawDto, ConsoleRefusal> {
    let missing = || ConsoleRefusal::missing(format!("no model was asked in turn {turn}"));
    let asked = last.of(&host.store, run, turn).await?;
    let expected = asked.expected.ok_or_else(missing)?;
    let state = asked.run.as_ref().ok_or_else(missing)?;
    let request = request(state).ok_or_else(missing)?;
    let tools = match request.offer {
        Offer::TerminalOnly => vec![],
        _ => request
            .catalog
            .specs()
            .map(|it| it.name.to_string())
            .collect(),
    };
    let messages = RequestMessages {
        before: asked.before,
        request,
    };
    let (total, first_new) = (messages.total(), messages.first_new());
    let around = || first_new.unwrap_or(total).saturating_sub(BEFORE_NEW);
    let from = page
        .from
        .unwrap_or_else(|| around().min(total.saturating_sub(LAST)));
    let from = from.min(total);
    Ok(SawDto {
        turn,
        total,
        first_new,
        from,
        messages: messages.page(from..from.saturating_add(page.limit), page.is_whole),
        tools,
        estimated_tokens: expected,
    })
}

/// A request as one list: the system's text, what was said, and the notices that end it.
struct RequestMessages<'a> {
    request: Request<'a>,
    /// How many of what was said the request of the turn before had.
    before: usize,
}

impl RequestMessages<'_> {
    fn total(&self) -> usize {
        1 + self.request.messages.len() + self.request.notices.len()
    }

    fn first_new(&self) -> Option<usize> {
        let first = match self.before {
            0 => 0,
            before => 1 + before.min(self.request.messages.len()),
        };
        (first < self.total()).then_some(first)
    }

    fn page(&self, places: Range<usize>, is_whole: bool) -> Vec<MessageDto> {
        let mut bytes = 0;
        let mut page = vec![];
        for mut message in places.map_while(|place| self.at(place)) {
            if !is_whole {
                message.text.cut();
            }
            bytes += message.bytes();
            page.push(message);
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        page
    }

    fn at(&self, place: usize) -> Option<MessageDto> {
        let request = &self.request;
        let Some(at) = place.checked_sub(1) else {
            return Some(MessageDto::plain(
                "system",
                request.system,
                self.before == 0,
            ));
        };
        match request.messages.get(at) {
            Some(message) => Some(MessageDto::of(message, at >= self.before)),
            None => {
                let notice = request.notices.get(at - request.messages.len())?;
                Some(MessageDto::plain("notice", notice, true))
            }
        }
    }
}

impl MessageDto {
    fn plain(role: &'static str, text: &str, is_new: bool) -> Self {
        Self {
            role,
            text: TextDto::Whole(text.to_owned()),
            calls: vec![],
            call: None,
            images: vec![],
            is_new,
        }
    }

    fn of(message: &Message, is_new: bool) -> Self {
        match message {
            Message::User { text, images } => Self {
                images: images.iter().map(ImageDto::of).collect(),
                ..Self::plain("user", text, is_new)
            },
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
            Message::Tool {
                call_id,
                text,
                images,
            } => Self {
                call: Some(call_id.to_string()),
                images: images.iter().map(ImageDto::of).collect(),
                ..Self::plain("tool", text, is_new)
            },
        }
    }

    fn bytes(&self) -> usize {
        let calls = self.calls.iter().map(|call| call.arguments.len());
        self.text.bytes() + calls.sum::<usize>()
    }
}

impl TextDto {
    fn cut(&mut self) {
        if let Self::Whole(text) = self
            && text.len() > TEXT_BYTES_MAX
        {
            *self = Self::Cut {
                cut: CutDto {
                    head: text[..text.floor_char_boundary(HEAD_BYTES)].to_owned(),
                    tail: text[text.ceil_char_boundary(text.len() - TAIL_BYTES)..].to_owned(),
                    bytes: text.len(),
                },
            };
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Whole(text) => text.len(),
            Self::Cut { cut } => cut.head.len() + cut.tail.len(),
        }
    }
}
