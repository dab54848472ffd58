//! Answers as bytes.

use serde_json::{Value, json};

use super::Stats;
use super::conduct::{Asked, CallMade};
use super::ending::Ending;

/// Rough, and never more than a client reserves.
const BYTES_PER_TOKEN: u64 = 4;
const OUTPUT_TOKENS: u64 = 20;

pub(super) fn json(status: u16, body: &str) -> Vec<u8> {
    response(status, "application/json", "", body)
}

fn response(status: u16, kind: &str, headers: &str, body: &str) -> Vec<u8> {
    let phrase = match status {
        200 => "OK",
        404 => "Not Found",
        429 => "Too Many Requests",
        _ => "Internal Server Error",
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status} {phrase}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}

/// Where to cut so that the head and a part of the body have been sent.
pub(super) fn middle_of_body(response: &[u8]) -> usize {
    let head_end = response.windows(4).position(|window| window == b"\r\n\r\n");
    let body = head_end.map_or(0, |at| at + 4);
    body + (response.len() - body) / 2
}

pub(super) fn models() -> Vec<u8> {
    json(
        200,
        r#"{"object":"list","data":[{"id":"custom-model","object":"model"}]}"#,
    )
}

pub(super) fn stats(stats: &Stats) -> Vec<u8> {
    let body = json!({
        "requests": stats.requests,
        "bytes_in": stats.bytes_in,
        "bytes_out": stats.bytes_out,
        "last_at_us": stats.last_at_us,
    });
    json(200, &body.to_string())
}

pub(super) fn not_found() -> Vec<u8> {
    json(404, r#"{"error":{"message":"there is nothing here"}}"#)
}

pub(super) fn too_many() -> Vec<u8> {
    let body = r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#;
    response(429, "application/json", "retry-after-ms: 5\r\n", body)
}

pub(super) fn server_error() -> Vec<u8> {
    json(500, r#"{"error":{"message":"out of order"}}"#)
}

/// What a proxy in between says, with a status that promises better.
pub(super) fn html() -> Vec<u8> {
    response(
        200,
        "text/html",
        "",
        "<html><body>Bad gateway</body></html>",
    )
}

pub(super) fn reply(call: &CallMade, asked: &Asked, bytes_in: u64) -> Vec<u8> {
    match Ending::of(call, asked) {
        Ending::Call(call) => call_reply(&call, asked, bytes_in),
        Ending::Text(text) => text_reply(&text, asked, bytes_in),
    }
}

fn call_reply(call: &CallMade, asked: &Asked, bytes_in: u64) -> Vec<u8> {
    let id = format!("call_{}", asked.outputs);
    if asked.stream {
        return stream_call(call, &id, asked, bytes_in);
    }
    let message = json!({
        "role": "assistant",
        "content": null,
        "tool_calls": [{
            "id": id,
            "type": "function",
            "function": { "name": call.tool, "arguments": call.arguments },
        }],
    });
    completion(&message, "tool_calls", asked, bytes_in)
}

/// A reply without a call. A streamed one comes in one piece.
fn text_reply(text: &str, asked: &Asked, bytes_in: u64) -> Vec<u8> {
    let message = json!({ "role": "assistant", "content": text });
    if asked.stream {
        return stream(&[message], "stop", asked, bytes_in);
    }
    completion(&message, "stop", asked, bytes_in)
}

/// A reply without text, reasoning or call.
pub(super) fn empty(asked: &Asked, bytes_in: u64) -> Vec<u8> {
    text_reply("", asked, bytes_in)
}

fn completion(message: &Value, finish: &str, asked: &Asked, bytes_in: u64) -> Vec<u8> {
    let body = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": asked.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": usage(bytes_in),
    });
    json(200, &body.to_string())
}

fn usage(bytes_in: u64) -> Value {
    let input = bytes_in / BYTES_PER_TOKEN;
    json!({
        "prompt_tokens": input,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": input + OUTPUT_TOKENS,
    })
}

/// The arguments come in two pieces, as they do from real servers.
fn stream_call(call: &CallMade, id: &str, asked: &Asked, bytes_in: u64) -> Vec<u8> {
    let (first, second) = call.arguments.split_at(call.arguments.len() / 2);
    let opening = json!({
        "role": "assistant",
        "content": null,
        "tool_calls": [{
            "index": 0,
            "id": id,
            "type": "function",
            "function": { "name": call.tool, "arguments": "" },
        }],
    });
    let piece = |arguments: &str| json!({ "tool_calls": [{ "index": 0, "function": { "arguments": arguments } }] });
    let deltas = [opening, piece(first), piece(second)];
    stream(&deltas, "tool_calls", asked, bytes_in)
}

fn stream(deltas: &[Value], finish: &str, asked: &Asked, bytes_in: u64) -> Vec<u8> {
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "model": asked.model,
            "choices": choices,
            "usage": usage,
        })
    };
    let choice = |delta: &Value, finish: Option<&str>| json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    let said = deltas.iter().map(|delta| choice(delta, None));
    let finished = choice(&json!({}), Some(finish));
    let mut events: Vec<Value> = said
        .chain([finished])
        .map(|choices| chunk(choices, Value::Null))
        .collect();
    events.push(chunk(json!([]), usage(bytes_in)));

    let mut bytes =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec();
    let texts = events.iter().map(Value::to_string);
    for text in texts.chain(["[DONE]".to_owned()]) {
        let event = format!("data: {text}\n\n");
        bytes.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}
