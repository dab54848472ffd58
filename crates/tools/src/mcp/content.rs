//! A tool's result as the model is shown it.
//!
//! A model reads text, and sees images. What a server sends besides is named by its kind, its address, its type and its size,
//! so that the model knows that it is there; the bytes themselves would fill a context with what no model can read.

use bonded_kernel::{BadImage, Image, too_many_images};
use serde_json::Value;

/// What a call gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallContent {
    pub(super) text: String,
    pub(super) images: Vec<Image>,
    pub(super) is_error: bool,
}

/// The text parts; where there are none, the structured content, or what else there is. Images stand beside the text, and
/// a word for each in it; what is none and yet calls itself one is named, never written out. Nothing at all is one blank. Of
/// an error only the words are shown.
pub(super) fn shown(result: &Value) -> CallContent {
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let mut images = vec![];
    let mut text = text_of(result, &mut images);
    if let Some(why) = too_many_images(&images) {
        images.clear();
        text.push_str(&format!("\n[images not shown: {why}]"));
    }
    if is_error {
        images.clear();
    }
    CallContent {
        text: if text.is_empty() { " ".into() } else { text },
        images,
        is_error,
    }
}

/// Servers that give structured content repeat it as text, as the protocol asks them to; so it is shown only
/// where there is no text.
fn text_of(result: &Value, images: &mut Vec<Image>) -> String {
    let parts = result.get("content").and_then(Value::as_array);
    let structured = result.get("structuredContent");
    let has_text = parts.is_some_and(|parts| parts.iter().any(|part| kind(part) == "text"));
    let words = parts.map(|parts| joined(parts, images));
    match (words, structured) {
        (Some(words), _) if has_text => words,
        (words, Some(structured)) => {
            let named = words.filter(|_| !images.is_empty());
            let parts = [Some(structured.to_string()), named];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            parts.join("\n")
        }
        (Some(words), None) => words,
        (None, None) => whole(result),
    }
}

fn joined(parts: &[Value], images: &mut Vec<Image>) -> String {
    let parts: Vec<String> = parts.iter().map(|part| part_text(part, images)).collect();
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

fn part_text(part: &Value, images: &mut Vec<Image>) -> String {
    if kind(part) == "text" {
        return text(part, "text").unwrap_or_default().into();
    }
    let resource = part.get("resource").unwrap_or(part);
    let why = match image(part, resource) {
        None => None,
        Some(Ok(image)) => {
            images.push(image.clone());
            return format!("[image {}: {}]", images.len(), image.described());
        }
        Some(Err(bad)) => Some(format!("not shown: {bad}")),
    };
    let words = [
        Some(kind(part).to_owned()),
        text(resource, "uri").map(str::to_owned),
        text(resource, "mimeType").map(str::to_owned),
        size_bytes(part, resource).map(|bytes| format!("{bytes} bytes")),
        why,
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    format!("[{}]", words.join(", "))
}

/// What says that it is an image, read as one. What it is, is what its bytes say.
fn image(part: &Value, resource: &Value) -> Option<Result<Image, BadImage>> {
    let is_named = text(resource, "mimeType").is_some_and(|it| it.starts_with("image/"));
    let encoded = match kind(part) {
        "image" => text(part, "data"),
        "resource" if is_named => text(resource, "blob"),
        _ => None,
    };
    encoded.map(Image::read_base64)
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
            (
                json!({ "content": [image] }),
                "[image, image/png, 5 bytes, not shown: it is not an image: only PNG, JPEG, GIF and WebP are taken]",
            ),
            (
                json!({ "content": [text("see"), { "type": "image", "data": "aGVsbG8" }] }),
                "see\n[image, 5 bytes, not shown: it is not base64: only PNG, JPEG, GIF and WebP are taken]",
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

    /// One pixel, and the same with another name.
    const PIXEL: &[u8] = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01\0\0;";

    #[test]
    fn an_image_stands_beside_the_text_whatever_the_server_calls_it() {
        let pixel = Image::read(PIXEL).expect("a pixel");
        let bytes = PIXEL.len();
        let image = json!({ "type": "image", "mimeType": "image/png", "data": pixel.base64() });
        let resource = json!({ "type": "resource", "resource":
            { "uri": "x:y", "mimeType": "image/gif", "blob": pixel.base64() } });
        let named = format!("image/gif, 1x1, {bytes} bytes");
        for (result, text, count) in [
            (
                json!({ "content": [image] }),
                format!("[image 1: {named}]"),
                1,
            ),
            (
                json!({ "content": [{ "type": "text", "text": "see" }, image, resource] }),
                format!("see\n[image 1: {named}]\n[image 2: {named}]"),
                2,
            ),
            (
                json!({ "content": [image], "structuredContent": { "a": 1 } }),
                format!("{{\"a\":1}}\n[image 1: {named}]"),
                1,
            ),
            (
                json!({ "content": [image], "isError": true }),
                format!("[image 1: {named}]"),
                0,
            ),
        ] {
            let shown = shown(&result);
            assert_eq!(shown.text, text, "{result}");
            assert_eq!(shown.images, vec![pixel.clone(); count], "{result}");
        }
    }

    #[test]
    fn more_images_than_a_conversation_holds_are_named_and_not_shown() {
        let pixel = Image::read(PIXEL).expect("a pixel").base64();
        let image = json!({ "type": "image", "data": pixel });
        let shown = shown(&json!({ "content": vec![image; 21] }));
        assert!(shown.images.is_empty());
        let why =
            "[images not shown: 21 images are too many: 20 at most stand in one conversation]";
        assert!(shown.text.ends_with(why), "{}", shown.text);
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
