//! Front matter of other programs, such as Obsidian: read for what a note here has too, and otherwise left alone.
//!
//! A file that cannot be read as ours is only refused where it claims to be one: then something is broken, and taking
//! it as text would hide that.

use bonded_host::document::parse_document;
use bonded_kernel::{Millis, NoteId};
use bonded_workspace_rules::{KEYWORD_CHARS_MAX, KEYWORDS_MAX, TITLE_CHARS_MAX};
use serde_json::{Map, Value};

use super::note_file::{FENCE, NoteFields, NoteFile, split_head};
use crate::times;

/// The names of our own fields.
const OWN: [&str; 8] = [
    "id", "title", "kind", "access", "keywords", "metadata", "created", "updated",
];

/// The fields before a text, as far as they can be read.
pub(super) fn head(text: &str) -> Map<String, Value> {
    let plain = text.replace("\r\n", "\n");
    let rest = plain.strip_prefix(FENCE).and_then(split_head);
    let parsed = rest.and_then(|(head, _)| parse_document(head).ok());
    match parsed {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Whether it is a file of an export, which has no fields but ours and says which note it is.
pub(super) fn is_ours(head: &Map<String, Value>) -> bool {
    let id = head.get("id").and_then(Value::as_str);
    let is_id = id.is_some_and(|id| id.parse::<NoteId>().is_ok());
    is_id && head.keys().all(|key| OWN.contains(&key.as_str()))
}

/// The file as a note: all of it is the text.
pub(super) fn file(text: String, head: &Map<String, Value>) -> NoteFile {
    let title = head.get("title").and_then(Value::as_str).map(str::trim);
    let created = ["created", "date"]
        .iter()
        .find_map(|key| time(head.get(*key)?.as_str()?));
    NoteFile {
        fields: NoteFields {
            title: title
                .filter(|it| is_line(it, TITLE_CHARS_MAX))
                .map(str::to_owned),
            keywords: keywords(head),
            ..NoteFields::default()
        },
        created,
        updated: None,
        markdown: text,
    }
}

/// The same bounds that notes have, so that what is taken from a foreign file cannot stop its import.
fn is_line(text: &str, chars_max: usize) -> bool {
    !text.is_empty() && !text.contains(char::is_control) && text.chars().count() <= chars_max
}

/// The tags that can be keywords: a list of them, or one text with blanks or commas between.
fn keywords(head: &Map<String, Value>) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    for key in ["tags", "tag", "keywords"] {
        let texts: Vec<&str> = match head.get(key) {
            Some(Value::String(text)) => text.split([',', ' ']).collect(),
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        };
        let tags = texts.iter().map(|it| it.trim().trim_start_matches('#'));
        for tag in tags.filter(|tag| is_line(tag, KEYWORD_CHARS_MAX)) {
            if found.len() < KEYWORDS_MAX && !found.iter().any(|known| known == tag) {
                found.push(tag.to_owned());
            }
        }
    }
    found
}

/// A moment, or a day or a time of day without a place, which is then taken to be in UTC.
fn time(written: &str) -> Option<Millis> {
    let written = written.trim();
    let civil = || {
        let civil: Option<jiff::civil::DateTime> = written.parse().ok();
        civil.or_else(|| written.parse::<jiff::civil::Date>().ok().map(Into::into))
    };
    times::parse(written).or_else(|| {
        let zoned = civil()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        u64::try_from(zoned.timestamp().as_millisecond())
            .ok()
            .map(Millis)
    })
}

#[cfg(test)]
mod tests {
    use super::super::read_any;
    use super::*;

    #[test]
    fn fields_of_others_stay_in_the_text_and_are_read_for_what_we_have_too() {
        let text = "---\ntags: [Work, '#home', work/deep]\naliases: [A, B]\ncreated: 2024-05-01\n\
                    nested:\n  a: [1, {b: c}]\ntitle: The plan\n---\nText\n";
        let file = read_any(text.to_owned()).expect("it is taken");
        assert_eq!(file.markdown, text, "nothing of it is lost");
        assert_eq!(file.fields.keywords, ["Work", "home", "work/deep"]);
        assert_eq!(file.fields.title.as_deref(), Some("The plan"));
        assert_eq!(file.created, Some(Millis(1_714_521_600_000)));
    }

    #[test]
    fn whatever_stands_before_a_text_it_is_taken_unless_it_is_a_broken_file_of_ours() {
        let taken = [
            "---\ntitel: x\n---\n",
            "---\nid: 7\n---\nzettel\n",
            "---\nnever closed\n",
            "---\n: : {[\n---\n",
            "---\r\ntags:\r\n  - a\r\n---\r\ntext\r\n",
            "---\ncreated: yesterday\ntags: 5\n---\n",
            "---\nid: 07070707-0707-0707-0707-070707070707\ntags: [x]\n---\n",
        ];
        for text in taken {
            let file = read_any(text.to_owned()).expect("it is taken");
            assert_eq!(file.markdown, text);
            assert_eq!(file.fields.id, None, "{text:?}");
        }
        let broken = "---\nid: 07070707-0707-0707-0707-070707070707\nkeywords: x\n---\n";
        assert!(read_any(broken.to_owned()).is_err());
    }
}
