//! A streamed reply. Its last event carries the whole of it, so that the pieces before are read only for who
//! hears them.

use std::borrow::Cow;

use bonded_kernel::{Failure, Reply};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::decode::assemble;
use super::wire::{BegunItem, Event, Item, Response, TextDelta};
use crate::Writing;
use crate::dialect::{Accumulate, ITEMS_MAX, events};
use crate::failure::{ServerError, malformed};

/// A streamed reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct ResponsesAccumulator {
    /// Items that are complete, for servers whose last event leaves them out.
    items: Vec<Item>,
    response: Option<Response>,
    /// The item that began last, for who watches.
    begun: BegunItem,
    /// How much of it has come.
    begun_bytes: usize,
    /// An item has begun.
    spoke: bool,
    /// The server said that nothing follows.
    ended: bool,
}

impl Accumulate for ResponsesAccumulator {
    fn read_event(&mut self, data: &str) -> Result<(), Failure> {
        let event: Event<'_> = events::parse(data, "one of a response")?;
        self.take(&event, data.as_bytes())
    }

    fn end(&mut self) {
        self.ended = true;
    }

    fn new_text<'a>(&'a mut self, data: &'a str) -> Cow<'a, str> {
        // Every other event has no such delta, or none that is a text.
        let delta = serde_json::from_str(data).ok();
        let text = delta.filter(TextDelta::is_output).map(|it| it.delta);
        text.unwrap_or_default().into()
    }

    fn writing<'a>(&'a mut self, data: &str) -> Option<Writing<'a>> {
        if let Ok(delta) = serde_json::from_str::<TextDelta>(data) {
            self.begun_bytes += delta.delta.len();
        }
        let bytes = self.begun_bytes;
        match self.begun.kind.as_deref() {
            Some("function_call") => Some(Writing::Call {
                tool: self.begun.name.as_deref().unwrap_or_default(),
                bytes,
            }),
            Some("reasoning") => Some(Writing::Thought { bytes }),
            _ => None,
        }
    }

    fn has_spoken(&self) -> bool {
        self.spoke
    }

    fn has_reason(&self) -> bool {
        self.response.is_some()
    }

    fn has_ended(&self) -> bool {
        self.ended
    }

    fn finish(self: Box<Self>) -> Result<Reply, Failure> {
        if !self.ended {
            return Err(events::cut_short());
        }
        if self.response.is_none() && self.items.is_empty() {
            return Err(events::without_message());
        }
        let mut response = self.response.unwrap_or_default();
        let left_out = response.output.as_ref().is_none_or(Vec::is_empty);
        if left_out {
            response.output = Some(self.items);
        }
        assemble(response, self.spoke, b"")
    }
}

impl ResponsesAccumulator {
    fn take(&mut self, event: &Event<'_>, source: &[u8]) -> Result<(), Failure> {
        match event.kind.as_deref().unwrap_or_default() {
            "error" => {
                let error = event.error.as_ref().map(ServerError::from_value);
                let error = error.unwrap_or_else(|| ServerError::from_body(source));
                return Err(error.into_failure(self.spoke));
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                self.response = Some(read(event.response, source)?);
                self.ended = true;
            }
            "response.output_item.done" => {
                self.spoke = true;
                if self.items.len() == ITEMS_MAX {
                    let why = format!("the reply holds more than {ITEMS_MAX} items");
                    return Err(malformed(&why, source));
                }
                self.items.push(read(event.item, source)?);
            }
            "response.output_item.added" => {
                self.spoke = true;
                // Nothing of the reply depends on it.
                self.begun = read(event.item, source).unwrap_or_default();
                self.begun_bytes = 0;
            }
            _ => {}
        }
        Ok(())
    }
}

fn read<T: DeserializeOwned>(part: Option<&RawValue>, source: &[u8]) -> Result<T, Failure> {
    let text = part.map_or("null", RawValue::get);
    serde_json::from_str(text).map_err(|error| {
        let why = format!("an event of the stream is not one of a response ({error})");
        malformed(&why, source)
    })
}
