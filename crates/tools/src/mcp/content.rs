//! A tool's result as the model is shown it.
//!
//! A model reads text. What a server sends besides is named by its kind, its address, its type and its size, so
//! that the model knows that it is there; the bytes themselves would fill a context with what no model can
//! read.

use serde_json::Value;

/// What a call gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallContent {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// The text parts; where there are none, the structured content, or what else there is. Images and the like
/// are named, never written out. Nothing at all is one blank.
pub(super) fn shown(result: &Value) -> CallContent {
    let text = text_of(result);
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    CallContent {
        text: if text.is_empty() { " ".into() } else { text },
        is_error,
    }
}

/// Servers that give structured content repeat it as text, as the protocol asks them to; so it is shown only
/// where there is no text.
fn text_of(result: &Value) -> String {
    let parts = result.get("content").and_then(Value::as_array);
    let structured = result.get("structuredContent");
    let has_text = parts.is_some_and(|parts| parts.iter().any(|part| kind(part) == "text"));
    match (parts, structured) {
        (Some(parts), _) if has_text => joined(parts),
        (_, Some(structured)) => structured.to_string(),
        (Some(parts), None) => joined(parts),
        (None, None) => whole(result),
    }
}

fn joined(parts: &[Value]) -> String {
    let parts: Vec<String> = parts.iter().map(part_text).collect();
    parts.join("\n")
}

/// A result that is not shaped as the protocol demands is shown as it is.
fn whole(result: &Value) -> String {
    match result {
        Value::Null => String::new(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn kind(part: &Value) -> &str {
    text(part, "type").unwrap_or("unknown part")
}

fn text<'a>(part: &'a Value, field: &str) -> Option<&'a str> {
    part.get(field).and_then(Value::as_str)
}

fn part_text(part: &Value) -> String {
    if kind(part) == "text" {
        return text(part, "text").unwrap_or_default().into();
    }
    let resource = part.get("resource").unwrap_or(part);
    let words = [
        Some(kind(part).to_owned()),
        text(resource, "uri").map(str::to_owned),
        text(resource, "mimeType").map(str::to_owned),
        size_bytes(part, resource).map(|bytes| format!("{bytes} bytes")),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    format!("[{}]", words.join(", "))
}

/// Of what was sent; else what the server says that it is.
fn size_bytes(part: &Value, resource: &Value) -> Option<u64> {
    let encoded = text(part, "data").or(text(resource, "blob"));
    encoded
        .map(decoded_bytes)
        .or_else(|| text(resource, "text").map(|text| text.len() as u64))
        .or_else(|| resource.get("size").and_then(Value::as_u64))
}

/// How many bytes a base64 text stands for.
fn decoded_bytes(base64: &str) -> u64 {
    let digits = base64.trim_end_matches('=').len() as u64;
    digits * 3 / 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_shown_as_text() {
        let text = |text| json!({ "type": "text", "text": text });
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "aGVsbG8=" });
        for (result, expected) in [
            (json!({ "content": [text("one")] }), "one"),
            (
                json!({ "content": [text("\"a\"\n"), text("b")] }),
                "\"a\"\n\nb",
            ),
            (
                json!({ "content": [text("t")], "structuredContent": { "a": 1 } }),
                "t",
            ),
            (
                json!({ "content": [], "structuredContent": { "a": 1 } }),
                "{\"a\":1}",
            ),
            (
                json!({ "content": [image], "structuredContent": [1] }),
                "[1]",
            ),
            (json!({ "structuredContent": null }), "null"),
            (json!({ "content": [] }), " "),
            (json!({ "content": [text("")] }), " "),
            (json!({}), " "),
            (json!(null), " "),
            (json!({ "toolResult": 3 }), "{\"toolResult\":3}"),
            (json!({ "content": "x" }), "{\"content\":\"x\"}"),
            (json!({ "content": [image] }), "[image, image/png, 5 bytes]"),
            (
                json!({ "content": [text("see"), image] }),
                "see\n[image, image/png, 5 bytes]",
            ),
            (
                json!({ "content": [{ "type": "audio", "mimeType": "audio/wav", "data": "AAAA" }] }),
                "[audio, audio/wav, 3 bytes]",
            ),
            (
                json!({ "content": [{ "type": "resource", "resource":
                    { "uri": "file:///a", "mimeType": "text/plain", "text": "äb" } }] }),
                "[resource, file:///a, text/plain, 3 bytes]",
            ),
            (
                json!({ "content": [{ "type": "resource", "resource": { "uri": "x:y", "blob": "AA==" } }] }),
                "[resource, x:y, 1 bytes]",
            ),
            (
                json!({ "content": [{ "type": "resource_link", "uri": "file:///b", "name": "b", "size": 9 }] }),
                "[resource_link, file:///b, 9 bytes]",
            ),
            (
                json!({ "content": [{ "type": "hologram", "data": "AAAA" }, 7] }),
                "[hologram, 3 bytes]\n[unknown part]",
            ),
        ] {
            let shown = shown(&result);
            assert_eq!(shown.text, expected, "{result}");
            assert!(!shown.is_error, "{result}");
        }
    }

    #[test]
    fn only_true_is_an_error() {
        for (is_error, expected) in [
            (json!(true), true),
            (json!(false), false),
            (json!("true"), false),
        ] {
            assert_eq!(
                shown(&json!({ "isError": is_error, "content": [] })).is_error,
                expected
            );
        }
    }
}
