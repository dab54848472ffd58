//! What a chat model in the shape of LM Studio says to a run, one answer for each request.

use bonded_testkit::provider::{Provider, Reply, raw, reasoning};
use serde_json::{Value, json};

/// A model that says these.
pub(crate) fn saying(replies: impl IntoIterator<Item = Reply>) -> Provider {
    let provider = Provider::start();
    provider.say(replies);
    provider
}

/// A reply in one piece: its text and what the model thought.
pub(crate) fn whole(text: &str, thought: &str) -> Reply {
    reasoning(thought, text)
}

/// A reply in many pieces, with a call in the provider's own field.
pub(crate) fn streamed(text: &str, call: &str) -> Reply {
    let function = json!({ "name": call, "arguments": format!("{{\"{call}\":1}}") });
    let call = json!({ "tool_calls": [{ "index": 0, "id": "1", "type": "function", "function": function }] });
    let call = piece(&call, &Value::Null);
    let end = piece(&json!({}), &json!("stop"));
    events(format!("{}{call}{end}data: [DONE]\n\n", pieces(text)))
}

/// A stream that breaks off after this text.
pub(crate) fn breaks_off(text: &str) -> Reply {
    events(format!("{}data: {{\"id\": \"c\", \"cho", pieces(text)))
}

/// A stream that goes no further than this text, until the client goes away.
pub(crate) fn hangs(text: &str) -> Reply {
    events(pieces(text)).hanging()
}

fn events(body: String) -> Reply {
    raw(200, "text/event-stream", body)
}

/// A text as a stream brings it: some characters at a time.
fn pieces(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let parts = characters.chunks(64).map(|part| {
        let part: String = part.iter().collect();
        piece(&json!({ "content": part }), &Value::Null)
    });
    parts.collect()
}

fn piece(delta: &Value, finish: &Value) -> String {
    let piece = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    });
    format!("data: {piece}\n\n")
}
