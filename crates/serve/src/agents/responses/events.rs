//! A response as events, in the order in which OpenAI's clients put it together.
//!
//! Progress is told as the summary of reasoning, because that is what clients show of a model that works. It is an item of
//! its own, which ends before the answer begins.

use axum::body::Bytes;
use serde::Serialize;

use super::wire::{
    CallItem, OfArguments, OfItem, OfPart, OfResponse, OfSummary, OutputItem, OutputMessage,
    OutputText, PartBody, ReasoningItem, ResponseBody, ResponseError, ResponseEvent, SummaryBody,
    SummaryText, message_id, reasoning_id,
};
use crate::agents::answer::{HandedCall, RunAnswer};
use crate::agents::client::Ticket;
use crate::agents::refusal::AgentRefusal;
use crate::agents::stream::{AnswerWriter, frame};

/// The answer as events.
#[derive(Debug)]
pub(in crate::agents) struct Events {
    ticket: Ticket,
    numbered: Numbered,
    /// What was told of the run so far; empty where nothing was.
    told: String,
}

/// Events that are ready to be sent.
#[derive(Debug, Default)]
struct Numbered {
    /// How many there were.
    sent: u64,
    ready: Vec<Bytes>,
}

impl Numbered {
    /// An event of a response, with its number.
    fn put(&mut self, kind: &str, body: &impl Serialize) {
        let event = ResponseEvent {
            kind,
            sequence_number: self.sent,
            body,
        };
        self.sent += 1;
        self.ready.push(frame(Some(kind), &event));
    }

    /// An event about an item of the response.
    fn put_item(&mut self, kind: &str, output_index: usize, item: OutputItem<'_>) {
        self.put(kind, &OfItem { output_index, item });
    }

    fn take(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.ready)
    }
}

impl Events {
    /// Nothing was sent.
    pub(in crate::agents) fn new(ticket: Ticket) -> Self {
        Self {
            ticket,
            numbered: Numbered::default(),
            told: String::new(),
        }
    }

    /// An event about the summary of what the run does.
    fn put_summary(&mut self, kind: &str, body: SummaryBody<'_>) {
        let body = OfSummary {
            item_id: reasoning_id(&self.ticket),
            output_index: 0,
            summary_index: 0,
            body,
        };
        self.numbered.put(kind, &body);
    }

    /// What is told of the run has a beginning of its own.
    fn begin_progress(&mut self) {
        let item = OutputItem::Reasoning(ReasoningItem::opened(&self.ticket));
        self.numbered
            .put_item("response.output_item.added", 0, item);
        let part = SummaryText::new("");
        self.put_summary(
            "response.reasoning_summary_part.added",
            SummaryBody::Part { part },
        );
    }

    /// And an end, before anything else is told.
    fn end_progress(&mut self) {
        if self.told.is_empty() {
            return;
        }
        let text = self.told.clone();
        let part = SummaryText::new(&text);
        self.put_summary(
            "response.reasoning_summary_text.done",
            SummaryBody::Done { text: &text },
        );
        self.put_summary(
            "response.reasoning_summary_part.done",
            SummaryBody::Part { part },
        );
        let item = OutputItem::Reasoning(ReasoningItem::completed(&self.ticket, &text));
        self.numbered.put_item("response.output_item.done", 0, item);
    }

    /// The message, with its one part.
    fn put_message(&mut self, answer: &RunAnswer, at: usize) {
        let (ticket, text) = (&self.ticket, answer.content.as_str());
        let events = &mut self.numbered;
        let part = |body| OfPart {
            item_id: message_id(ticket),
            output_index: at,
            content_index: 0,
            body,
        };
        let whole = |text| PartBody::Part {
            part: OutputText::new(text),
        };
        let logprobs = [];
        let delta = PartBody::Delta {
            delta: text,
            logprobs,
        };
        let done = PartBody::Done { text, logprobs };
        let opened = OutputItem::Message(OutputMessage::opened(ticket));
        let completed = OutputItem::Message(OutputMessage::completed(ticket, answer));
        events.put_item("response.output_item.added", at, opened);
        events.put("response.content_part.added", &part(whole("")));
        events.put("response.output_text.delta", &part(delta));
        events.put("response.output_text.done", &part(done));
        events.put("response.content_part.done", &part(whole(text)));
        events.put_item("response.output_item.done", at, completed);
    }

    /// A call that the client executes; its arguments come in one piece.
    fn put_call(&mut self, call: &HandedCall, at: usize) {
        let events = &mut self.numbered;
        let opened = CallItem::opened(call);
        let arguments = |delta, arguments| OfArguments {
            item_id: opened.id(),
            output_index: at,
            delta,
            arguments,
        };
        let (delta, done) = (Some(call.arguments.as_str()), Some(call.arguments.as_str()));
        let pieces = [
            (
                "response.function_call_arguments.delta",
                arguments(delta, None),
            ),
            (
                "response.function_call_arguments.done",
                arguments(None, done),
            ),
        ];
        events.put_item(
            "response.output_item.added",
            at,
            OutputItem::Call(opened.clone()),
        );
        for (kind, piece) in pieces {
            events.put(kind, &piece);
        }
        let completed = OutputItem::Call(CallItem::completed(call));
        events.put_item("response.output_item.done", at, completed);
    }
}

impl AnswerWriter for Events {
    fn opening(&mut self) -> Vec<Bytes> {
        let response = ResponseBody::new(&self.ticket, "in_progress");
        let begun = OfResponse { response };
        self.numbered.put("response.created", &begun);
        self.numbered.put("response.in_progress", &begun);
        self.numbered.take()
    }

    fn progress(&mut self, line: &str) -> Vec<Bytes> {
        if self.told.is_empty() {
            self.begin_progress();
        }
        let line = format!("{line}\n");
        self.put_summary(
            "response.reasoning_summary_text.delta",
            SummaryBody::Delta { delta: &line },
        );
        self.told.push_str(&line);
        self.numbered.take()
    }

    fn answered(&mut self, answer: &RunAnswer) -> Vec<Bytes> {
        self.end_progress();
        let mut at = usize::from(!self.told.is_empty());
        if OutputMessage::is_in(answer) {
            self.put_message(answer, at);
            at += 1;
        }
        for (place, call) in answer.calls.iter().enumerate() {
            self.put_call(call, at + place);
        }
        let told = Some(self.told.as_str()).filter(|told| !told.is_empty());
        let response = ResponseBody::completed(&self.ticket, answer, told);
        self.numbered
            .put("response.completed", &OfResponse { response });
        self.numbered.take()
    }

    fn failed(&mut self, refusal: &AgentRefusal) -> Vec<Bytes> {
        self.end_progress();
        let mut response = ResponseBody::new(&self.ticket, "failed");
        response.error = Some(ResponseError {
            code: refusal.code,
            message: &refusal.message,
        });
        self.numbered
            .put("response.failed", &OfResponse { response });
        self.numbered.take()
    }
}
