//! A value as a message shows it: its kind, and a little of it.

use serde_json::Value;

const CHARS_MAX: usize = 40;

/// For example `the text "ten"`, `the number 5`, `a list`.
pub(crate) fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing (null)".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {:?}", shortened(text)),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".into(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
