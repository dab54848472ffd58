//! The entries of a log for a page: long texts are cut, and the rest of them is read in pieces.

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use bonded_host::shapes::json;
use bonded_kernel::{Entry, RunId};
use bonded_state::Store;
use serde::Serialize;
use serde_json::{Value, json};

use super::api::attachment;
use super::refusal::ConsoleRefusal;
use crate::json_api::answer;

/// A longer text is cut.
const TEXT_BYTES_MAX: usize = 8_192;
/// What is left of it at its beginning and at its end.
const HEAD_BYTES: usize = 4_096;
const TAIL_BYTES: usize = 1_024;
/// A text is read in pieces of this.
const PIECE_BYTES: usize = 65_536;
/// A page asks for so many entries at most.
pub(super) const ENTRIES_MAX: usize = 1_000;
/// A search stops at so many places.
const FOUND_MAX: usize = 1_000;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Entries"))]
pub(super) struct EntriesDto {
    /// As `bonded show RUN --json` prints them. A text longer than 8,192 bytes is replaced by an object `cut` with its
    /// beginning, its end, its length, and its place `at`, by which GET …/text finds it.
    entries: Vec<Value>,
    more: bool,
}

/// The entries after a number.
pub(super) async fn page(
    store: &dyn Store,
    run: &RunId,
    after: u64,
    limit: usize,
) -> Result<EntriesDto, ConsoleRefusal> {
    let mut entries = store.load_part(run, after, limit + 1).await?;
    let more = entries.len() > limit;
    entries.truncate(limit);
    Ok(EntriesDto {
        entries: entries.iter().map(shown).collect(),
        more,
    })
}

/// An entry as programs read it, its long texts cut.
pub(super) fn shown(entry: &Entry) -> Value {
    let mut value = whole(entry);
    if let Some(data) = value.get_mut("data") {
        cut(data, &mut String::new());
    }
    value
}

fn whole(entry: &Entry) -> Value {
    serde_json::from_str(&json::entry(entry)).unwrap_or_default()
}

/// Cuts every long text below a value; `at` is the way to it.
pub(super) fn cut(value: &mut Value, at: &mut String) {
    let length = at.len();
    match value {
        Value::String(text) if text.len() > TEXT_BYTES_MAX => {
            let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
            let tail = &text[text.ceil_char_boundary(text.len() - TAIL_BYTES)..];
            *value = json!({ "cut": { "head": head, "tail": tail, "bytes": text.len(), "at": at.as_str() } });
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                at.push('/');
                at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                cut(field, at);
                at.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                at.push_str(&format!("/{index}"));
                cut(item, at);
                at.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A text of an entry, named by its place in the entry's data.
pub(super) async fn text(
    store: &dyn Store,
    run: &RunId,
    seq: u64,
    at: &str,
) -> Result<CutText, ConsoleRefusal> {
    let missing = || ConsoleRefusal::missing(format!("entry {seq} has no text at {at:?}"));
    let after = seq.checked_sub(1).ok_or_else(missing)?;
    let entries = store.load_part(run, after, 1).await?;
    let mut entry = whole(entries.first().ok_or_else(missing)?);
    CutText::of(&mut entry["data"], at).ok_or_else(missing)
}

/// All of a text that was cut where it was shown.
pub(super) struct CutText(String);

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "TextPiece"))]
struct PieceDto<'a> {
    text: &'a str,
    from: usize,
    next: Option<usize>,
    bytes: usize,
}

#[derive(Debug, Serialize)]
struct FoundDto {
    found: Vec<usize>,
}

impl CutText {
    /// The text at a place of a value.
    pub(super) fn of(value: &mut Value, at: &str) -> Option<Self> {
        match value.pointer_mut(at).map(Value::take) {
            Some(Value::String(text)) => Some(Self(text)),
            _ => None,
        }
    }

    /// From a byte on, at the next place between two characters.
    pub(super) fn piece(&self, from: usize) -> Response {
        let text = &self.0;
        let from = text.ceil_char_boundary(from.min(text.len()));
        let end = text.floor_char_boundary((from + PIECE_BYTES).min(text.len()));
        answer::json(
            StatusCode::OK,
            &PieceDto {
                text: &text[from..end],
                from,
                next: (end < text.len()).then_some(end),
                bytes: text.len(),
            },
        )
    }

    /// Where a text stands in it, in bytes.
    pub(super) fn find(&self, wanted: &str) -> Response {
        let places = self.0.match_indices(wanted).map(|(at, _)| at);
        let found = match wanted.is_empty() {
            true => vec![],
            false => places.take(FOUND_MAX).collect(),
        };
        answer::json(StatusCode::OK, &FoundDto { found })
    }

    pub(super) fn download(self, name: &str) -> Response {
        attachment(
            Body::from(self.0),
            "text/plain; charset=utf-8",
            &format!("{name}.txt"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_texts_are_cut_and_each_says_where_it_stands() {
        let long = "é".repeat(TEXT_BYTES_MAX);
        let mut value = json!({ "a/b": [{ "output": long }], "short": "x" });
        cut(&mut value, &mut String::new());
        let cut = &value["a/b"][0]["output"]["cut"];
        assert_eq!(cut["at"], "/a~1b/0/output");
        assert_eq!(cut["bytes"], long.len());
        assert_eq!(cut["head"].as_str().map(str::len), Some(HEAD_BYTES));
        assert_eq!(cut["tail"].as_str().map(str::len), Some(TAIL_BYTES));
        assert_eq!(value["short"], "x");
    }
}
