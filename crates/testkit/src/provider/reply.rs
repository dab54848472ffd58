//! What a provider answers, as small values.

use std::time::Duration;

use serde_json::{Value, json};

use super::Asked;

/// One answer. Every `NONCE` in its body becomes the nonce of the run that asked.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// How long the answer is held back.
    pub delay: Duration,
    pub(super) manner: Manner,
}

/// How an answer is given.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner {
    Whole,
    /// The connection breaks in the middle of the body.
    Cut,
    /// The body is said again and again, with this pause, as long as somebody listens.
    Endless(Duration),
    /// The body has no end: nothing more comes until the client goes away.
    Hangs,
    /// Not even a head comes until the client goes away.
    Silent,
    /// The connection ends without a word.
    Closes,
    /// What was asked is the body.
    Echoes,
    /// The body is the text of a reply, which is said as a stream: so many letters in each event, each held back for
    /// so long.
    Streamed {
        letters: usize,
        pause: Duration,
    },
}

/// An answer that says something else than a completion.
pub fn raw(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Reply {
    Reply {
        status,
        headers: vec![("content-type".into(), kind.into())],
        body: body.into(),
        delay: Duration::ZERO,
        manner: Manner::Whole,
    }
}

/// A refusal as chat servers write it.
pub fn refusal(status: u16, message: &str) -> Reply {
    let body = json!({ "error": { "message": message } });
    raw(status, "application/json", body.to_string())
}

/// No answer, until the client has had enough.
pub fn silence() -> Reply {
    raw(200, "text/plain", "").in_manner(Manner::Silent)
}

/// No answer: the connection is closed.
pub fn closes() -> Reply {
    raw(200, "text/plain", "").in_manner(Manner::Closes)
}

/// A completion whose message is given whole.
pub fn message(message: &Value, finish: &str) -> Reply {
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
    let body = completion("chat.completion", &choice);
    raw(200, "application/json", body.to_string())
}

fn completion(object: &str, choice: &Value) -> Value {
    json!({
        "id": "chatcmpl-1",
        "object": object,
        "created": 1,
        "model": "answered",
        "choices": [choice],
        "usage": { "prompt_tokens": 120, "completion_tokens": 40, "total_tokens": 160 },
    })
}

/// A completion in the form that was asked for: whole, or as a stream of one piece.
pub fn said_to(asked: &Asked, said: &Value) -> Reply {
    let finish = match said["tool_calls"].is_array() {
        true => "tool_calls",
        false => "stop",
    };
    if !asked.is_streamed() {
        return message(said, finish);
    }
    let choice = json!({ "index": 0, "delta": said, "finish_reason": finish });
    let piece = completion("chat.completion.chunk", &choice);
    let body = format!("data: {piece}\n\ndata: [DONE]\n\n");
    raw(200, "text/event-stream", body)
}

/// A call in the form that was asked for, with an id that no earlier call of the conversation has.
pub fn call_to(asked: &Asked, tool: &str, arguments: &Value) -> Reply {
    let mut said = calling(&[(tool, &arguments.to_string())]);
    said["tool_calls"][0]["id"] = json!(format!("call_{}", asked.outputs() + 1));
    said_to(asked, &said)
}

/// Plain text without a call.
pub fn text(said: &str) -> Reply {
    message(&json!({ "role": "assistant", "content": said }), "stop")
}

/// Plain text as a stream of events with so many letters each, cut through tags, nonce and all.
pub fn streamed_text(said: &str, letters: usize) -> Reply {
    raw(200, "text/event-stream", said).in_manner(Manner::Streamed {
        letters,
        pause: Duration::ZERO,
    })
}

/// Reasoning, and perhaps text after it.
pub fn reasoning(thought: &str, said: &str) -> Reply {
    let said = json!({ "role": "assistant", "content": said, "reasoning_content": thought });
    message(&said, "stop")
}

/// Native calls in one reply. Their ids are `call_1`, `call_2` and so on.
pub fn calls(all: &[(&str, Value)]) -> Reply {
    let texts: Vec<_> = all
        .iter()
        .map(|(tool, arguments)| (*tool, arguments.to_string()))
        .collect();
    let borrowed: Vec<_> = texts.iter().map(|(tool, text)| (*tool, &**text)).collect();
    written_calls(&borrowed)
}

/// Native calls whose arguments are written as the model pleases.
pub fn written_calls(all: &[(&str, &str)]) -> Reply {
    message(&calling(all), "tool_calls")
}

pub fn call(tool: &str, arguments: Value) -> Reply {
    calls(&[(tool, arguments)])
}

/// A message that calls tools.
fn calling(all: &[(&str, &str)]) -> Value {
    let calls = all.iter().enumerate().map(|(index, (tool, arguments))| {
        let id = format!("call_{}", index + 1);
        let function = json!({ "name": tool, "arguments": arguments });
        json!({ "index": index, "id": id, "type": "function", "function": function })
    });
    let calls: Vec<Value> = calls.collect();
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

impl Reply {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn delayed_ms(mut self, ms: u64) -> Self {
        self.delay = Duration::from_millis(ms);
        self
    }

    fn in_manner(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }

    /// Holds each event of a stream back.
    pub fn paused_ms(mut self, ms: u64) -> Self {
        if let Manner::Streamed { pause, .. } = &mut self.manner {
            *pause = Duration::from_millis(ms);
        }
        self
    }

    pub fn cut(self) -> Self {
        self.in_manner(Manner::Cut)
    }

    pub fn endless(self) -> Self {
        self.in_manner(Manner::Endless(Duration::ZERO))
    }

    /// How long an endless answer pauses each time.
    pub fn pausing_ms(self, ms: u64) -> Self {
        self.in_manner(Manner::Endless(Duration::from_millis(ms)))
    }

    /// Goes no further than its body, until the client goes away.
    pub fn hanging(self) -> Self {
        self.in_manner(Manner::Hangs)
    }

    /// Says what it was asked, head and all.
    pub fn echoing(self) -> Self {
        self.in_manner(Manner::Echoes)
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.manner, Manner::Whole)
    }

    pub fn finish(self, reason: &str) -> Self {
        self.changed("/choices/0/finish_reason", json!(reason))
    }

    pub fn usage(self, input: u64, output: u64) -> Self {
        let usage = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
        self.changed("/usage", usage)
    }

    /// Replaces what stands at a place of a JSON body.
    pub fn changed(mut self, pointer: &str, value: Value) -> Self {
        let mut body: Value = serde_json::from_slice(&self.body).expect("the body is JSON");
        *body.pointer_mut(pointer).expect("the place is there") = value;
        self.body = body.to_string().into_bytes();
        self
    }
}
