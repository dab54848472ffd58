//! What the scripted provider answers, as small values.

use std::time::Duration;

use serde_json::{Value, json};

/// One answer. Every `NONCE` in its body becomes the nonce of the run that asked.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// How long the answer is held back.
    pub(crate) delay: Duration,
    /// Whether the connection breaks in the middle of the body.
    pub(crate) is_cut: bool,
    /// Whether the body is said again and again, as long as somebody listens.
    pub(crate) is_endless: bool,
    /// How long an endless answer pauses each time.
    pub(crate) endless_pause: Duration,
    /// The body is the text of a reply, which is said as a stream.
    pub(crate) streamed: Option<Streamed>,
}

/// How a reply is streamed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streamed {
    /// How many letters each event has.
    pub(crate) letters: usize,
    /// How long each event is held back.
    pub(crate) pause: Duration,
}

/// An answer that says something else than a completion.
pub(crate) fn raw(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Reply {
    Reply {
        status,
        headers: vec![("content-type".into(), kind.into())],
        body: body.into(),
        delay: Duration::ZERO,
        is_cut: false,
        is_endless: false,
        streamed: None,
        endless_pause: Duration::ZERO,
    }
}

/// A refusal as chat servers write it.
pub(crate) fn refusal(status: u16, message: &str) -> Reply {
    let body = json!({ "error": { "message": message } });
    raw(status, "application/json", body.to_string())
}

/// A completion whose message is given whole.
pub(crate) fn message(message: &Value, finish: &str) -> Reply {
    let body = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "answered",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": { "prompt_tokens": 120, "completion_tokens": 40, "total_tokens": 160 },
    });
    raw(200, "application/json", body.to_string())
}

/// Plain text without a call.
pub(crate) fn text(said: &str) -> Reply {
    message(&json!({ "role": "assistant", "content": said }), "stop")
}

/// Plain text as a stream of events with so many letters each, cut through tags, nonce and all.
pub(crate) fn streamed_text(said: &str, letters: usize) -> Reply {
    let streamed = Streamed {
        letters,
        pause: Duration::ZERO,
    };
    Reply {
        streamed: Some(streamed),
        ..raw(200, "text/event-stream", said)
    }
}

/// Reasoning, and perhaps text after it.
pub(crate) fn reasoning(thought: &str, said: &str) -> Reply {
    let said = json!({ "role": "assistant", "content": said, "reasoning_content": thought });
    message(&said, "stop")
}

/// Native calls in one reply. Their ids are `call_1`, `call_2` and so on.
pub(crate) fn calls(all: &[(&str, Value)]) -> Reply {
    let texts: Vec<_> = all
        .iter()
        .map(|(tool, arguments)| (*tool, arguments.to_string()))
        .collect();
    let borrowed: Vec<_> = texts.iter().map(|(tool, text)| (*tool, &**text)).collect();
    written_calls(&borrowed)
}

/// Native calls whose arguments are written as the model pleases.
pub(crate) fn written_calls(all: &[(&str, &str)]) -> Reply {
    let calls: Vec<Value> = all
        .iter()
        .enumerate()
        .map(|(index, (tool, arguments))| {
            let id = format!("call_{}", index + 1);
            let function = json!({ "name": tool, "arguments": arguments });
            json!({ "id": id, "type": "function", "function": function })
        })
        .collect();
    let said = json!({ "role": "assistant", "content": null, "tool_calls": calls });
    message(&said, "tool_calls")
}

pub(crate) fn call(tool: &str, arguments: Value) -> Reply {
    calls(&[(tool, arguments)])
}

/// A call of the echoing tool, which also knows some words of its own.
pub(crate) fn echo(said: &str) -> Reply {
    call("test__test", json!({ "text": said }))
}

/// The final report as a native call.
pub(crate) fn report_call(content: &str) -> Reply {
    let arguments = json!({ "report_format": "pipe", "report_content": content });
    call("agent__final_report", arguments)
}

/// A tag of the run, closed.
pub(crate) fn tag(slot: &str, attributes: &str, payload: &str) -> String {
    format!("<ai-agent-NONCE-{slot} {attributes}>{payload}</ai-agent-NONCE-{slot}>")
}

/// A tag that calls the echoing tool.
pub(crate) fn echo_tag(slot: &str, said: &str) -> String {
    tag(
        slot,
        "tool=\"test__test\"",
        &json!({ "text": said }).to_string(),
    )
}

/// The final report as a tag.
pub(crate) fn report_tag(format: &str, payload: &str) -> String {
    let attributes = format!("tool=\"agent__final_report\" format=\"{format}\"");
    tag("FINAL", &attributes, payload)
}

/// The reply that ends most runs: a final report as a tag, in the format of programs.
pub(crate) fn report(content: &str) -> Reply {
    text(&report_tag("pipe", content))
}

impl Reply {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn delayed_ms(mut self, ms: u64) -> Self {
        self.delay = Duration::from_millis(ms);
        self
    }

    /// Holds each event of a stream back.
    pub(crate) fn paused_ms(mut self, ms: u64) -> Self {
        if let Some(streamed) = &mut self.streamed {
            streamed.pause = Duration::from_millis(ms);
        }
        self
    }

    pub(crate) fn cut(mut self) -> Self {
        self.is_cut = true;
        self
    }

    pub(crate) fn endless(mut self) -> Self {
        self.is_endless = true;
        self
    }

    pub(crate) fn pausing_ms(mut self, ms: u64) -> Self {
        self.endless_pause = Duration::from_millis(ms);
        self
    }

    pub(crate) fn finish(self, reason: &str) -> Self {
        self.changed("/choices/0/finish_reason", json!(reason))
    }

    pub(crate) fn usage(self, input: u64, output: u64) -> Self {
        let usage = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
        self.changed("/usage", usage)
    }

    /// Replaces what stands at a place of a JSON body.
    pub(crate) fn changed(mut self, pointer: &str, value: Value) -> Self {
        let mut body: Value = serde_json::from_slice(&self.body).expect("the body is JSON");
        *body.pointer_mut(pointer).expect("the place is there") = value;
        self.body = body.to_string().into_bytes();
        self
    }
}
