//! A note as a Markdown file: its fields as YAML before the text, the text as it is.
//!
//! Export and import are each other's inverse: what `write` made, `read` takes apart to the same note, byte for byte.
//! Files of other programs are taken too, and nothing of them is lost.

mod foreign;
mod note_file;

use bonded_host::document::parse_document;
use bonded_workspace_rules::Note;
use serde_json::{Value, json};

use crate::times;
use note_file::{FENCE, split_head};

pub use note_file::{NoteFields, NoteFile};

/// The file of a note. Values are written as JSON, which YAML takes as it is.
pub fn write(note: &Note) -> String {
    let rows: [(&str, Value); 8] = [
        ("id", json!(note.note_id)),
        ("title", json!(note.title)),
        ("kind", json!(note.note_kind)),
        ("access", json!(note.access_scope)),
        ("keywords", json!(note.keywords)),
        ("metadata", json!(note.metadata)),
        ("created", json!(times::rfc3339(note.created_at))),
        ("updated", json!(times::rfc3339(note.updated_at))),
    ];
    let rows: String = rows
        .iter()
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    format!("{FENCE}{rows}{FENCE}{}", &*note.markdown)
}

/// Reads a file that anybody may have written. Fields that are not ours stay part of the text, as they are; what is in
/// them of tags, a title and a date is read all the same.
pub fn read_any(text: String) -> Result<NoteFile, String> {
    match read(&text) {
        Ok(file) => Ok(file),
        Err(why) => {
            let head = foreign::head(&text);
            match foreign::is_ours(&head) {
                true => Err(why),
                false => Ok(foreign::file(text, &head)),
            }
        }
    }
}

/// Reads a file of ours. One without fields is all text.
/// Faults name their line. The text behind the fields keeps its line ends.
pub fn read(text: &str) -> Result<NoteFile, String> {
    let plain = text.replace("\r\n", "\n");
    let Some(rest) = plain.strip_prefix(FENCE) else {
        return Ok(NoteFile {
            fields: NoteFields::default(),
            created: None,
            updated: None,
            markdown: text.to_owned(),
        });
    };
    // The text is taken from the file as it is: only the fields are read without carriage returns.
    let (head, _) =
        split_head(rest).ok_or("line 1: the fields are opened by --- and never closed")?;
    let lines = head.lines().count() + 2;
    let markdown: String = text.split_inclusive('\n').skip(lines).collect();
    let fields = match head.trim().is_empty() {
        true => NoteFields::default(),
        false => {
            let value = parse_document(head)
                .map_err(|bad| format!("line {}: {}", bad.line + 1, bad.why))?;
            serde_json::from_value(value)
                .map_err(|error| format!("the fields before the text: {error}"))?
        }
    };
    let time = |name: &str, written: &Option<String>| match written {
        None => Ok(None),
        Some(written) => match times::parse(written) {
            Some(at) => Ok(Some(at)),
            None => Err(format!(
                "{name}: {written:?} is not a time such as 2026-11-15T18:00:00.000Z"
            )),
        },
    };
    Ok(NoteFile {
        created: time("created", &fields.created)?,
        updated: time("updated", &fields.updated)?,
        fields,
        markdown,
    })
}

/// What a note's file is called: something of the title, and enough of the id that no two are alike.
/// At most 60 signs of the title, so that it fits every file system.
pub fn file_name(note: &Note) -> String {
    let mut slug = String::new();
    for sign in note.title.chars().take(60) {
        match sign {
            sign if sign.is_alphanumeric() => slug.extend(sign.to_lowercase()),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    let slug = slug.trim_end_matches('-');
    let id = note.note_id.to_string();
    format!("{slug}-{}.md", &id[..13])
        .trim_start_matches('-')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use bonded_kernel::{Millis, NoteId, WorkspaceId};
    use bonded_workspace_rules::{AccessScope, Metadata};
    use proptest::prelude::*;

    use super::*;

    fn note(title: &str, markdown: &str, keywords: Vec<String>, metadata: Metadata) -> Note {
        Note {
            note_id: NoteId::from_bytes([7; 16]),
            workspace_id: WorkspaceId::from_bytes([1; 16]),
            title: title.into(),
            markdown: markdown.into(),
            note_kind: "note".into(),
            access_scope: AccessScope::Workspace,
            keywords,
            metadata,
            version: 3,
            created_at: Millis(1_763_230_000_007),
            updated_at: Millis(1_763_230_000_008),
            deleted_at: None,
        }
    }

    #[test]
    fn a_file_by_hand_is_read_and_a_broken_one_says_where() {
        let read_ok = read("---\ntitle: Plain words\nkeywords: [a, b]\n---\nText\n")
            .expect("it is well formed");
        assert_eq!(read_ok.fields.title.as_deref(), Some("Plain words"));
        assert_eq!(read_ok.fields.keywords, ["a", "b"]);
        assert_eq!(read_ok.markdown, "Text\n");
        let only_text = read("# Hello\n---\n").expect("there are no fields");
        assert_eq!(only_text.markdown, "# Hello\n---\n");
        assert_eq!(
            read("---\n---\n---\n").expect("no fields").markdown,
            "---\n"
        );
        let rows = [
            ("---\ntitle: x\n", "never closed"),
            ("---\ntitle: [\n---\n", "line"),
            ("---\ntitel: x\n---\n", "titel"),
            ("---\nid: 7\n---\n", "before the text"),
            ("---\ncreated: yesterday\n---\n", "not a time"),
        ];
        for (text, part) in rows {
            let message = read(text).expect_err("it is broken");
            assert!(message.contains(part), "{text:?}: {message}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_exactly(
            title in "[^\\p{Cc}]{1,40}",
            markdown in "(---\n|\r\n|.|\n){0,60}",
            keywords in prop::collection::vec("[^\\p{Cc}]{1,10}", 0..4),
            value in "[^\\p{Cc}]{0,10}",
        ) {
            let metadata = Metadata::from([("k".to_owned(), json!({ "a": [value, 1, null] }))]);
            let note = note(&title, &markdown, keywords, metadata);
            let file = read(&write(&note)).expect("what was written is well formed");
            prop_assert_eq!(file.markdown.as_str(), &*note.markdown);
            prop_assert_eq!(file.fields.id, Some(note.note_id));
            prop_assert_eq!(file.fields.title.as_deref(), Some(note.title.as_str()));
            prop_assert_eq!(&file.fields.keywords, &note.keywords);
            prop_assert_eq!(&file.fields.metadata, &note.metadata);
            prop_assert_eq!((file.created, file.updated), (Some(note.created_at), Some(note.updated_at)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(---\n|[a-z]+: |\\PC|\n){0,80}") {
            let _read_or_refused = read(&text);
        }
    }
}
