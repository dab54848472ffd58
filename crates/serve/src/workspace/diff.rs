//! What a proposal would change, as a person reads it: the lines that go and the lines that come, with every letter to
//! be seen. Whatever would be written is shown.
//! A person decides by it, so it must not hide anything: letters that cannot be seen are written out, and everything
//! that the operation would write is in it, metadata too.

use bonded_host::letters::written_out;
use bonded_workspace::store::WorkspaceStore;
use bonded_workspace_rules::{
    MARKDOWN_BYTES_MAX, Metadata, NewNote, Note, NoteWrite, Operation, Proposal, patched,
};
use serde_json::Value;

use super::dto::NoteText;
use crate::json_api::refusal::ApiRefusal;

/// How many equal lines are shown around what differs.
const CONTEXT_LINES: usize = 3;

/// What the operation would change, or did.
pub(super) async fn of_operation(
    store: &WorkspaceStore,
    operation: &Operation,
) -> Result<String, ApiRefusal> {
    match &operation.proposal {
        Proposal::CreateNote(new) => Ok(of_new(new)),
        Proposal::UpdateNote(write) => of_write(store, write).await,
        Proposal::RecordIssue {
            key,
            value,
            metadata,
        } => {
            let mut text = format!("issue {}\n{}", written_out(key), lines("", value));
            if !metadata.is_null() {
                text.push_str(&field("metadata", &written_value(metadata)));
            }
            Ok(text)
        }
    }
}

/// What there is and what there would be.
#[derive(Debug)]
pub(super) struct Sides {
    /// None for what is new, and for a version that is not there.
    pub(super) before: Option<NoteText>,
    /// None where it cannot be made.
    pub(super) after: Option<NoteText>,
    /// Whether the note has another version by now.
    pub(super) is_outdated: bool,
}

/// The whole texts before and after an operation.
pub(super) async fn sides(
    store: &WorkspaceStore,
    operation: &Operation,
) -> Result<Sides, ApiRefusal> {
    match &operation.proposal {
        Proposal::CreateNote(new) => Ok(Sides {
            before: None,
            after: Some(NoteText {
                title: new.title.clone(),
                markdown: new.markdown.clone(),
                note_kind: new.note_kind.clone(),
                keywords: new.keywords.clone(),
                metadata: new.metadata.clone(),
            }),
            is_outdated: store.note(new.note_id).await?.is_some(),
        }),
        Proposal::UpdateNote(write) => sides_of_write(store, write).await,
        Proposal::RecordIssue {
            key,
            value,
            metadata,
        } => Ok(Sides {
            before: None,
            after: Some(NoteText {
                title: Some(key.clone()),
                markdown: value.clone(),
                note_kind: None,
                keywords: vec![],
                metadata: Metadata::from([("metadata".to_owned(), metadata.clone())]),
            }),
            is_outdated: false,
        }),
    }
}

/// Against the version that the agent saw, as the diff.
async fn sides_of_write(store: &WorkspaceStore, write: &NoteWrite) -> Result<Sides, ApiRefusal> {
    let now = store.note(write.note_id).await?;
    let is_now = |note: &Note| note.version == write.base_version && note.deleted_at.is_none();
    let is_outdated = !now.as_ref().is_some_and(is_now);
    let base = store.note_at(write.note_id, write.base_version).await?;
    let Some(base) = base else {
        return Ok(Sides {
            before: None,
            after: None,
            is_outdated,
        });
    };
    let edit = &write.edit;
    let markdown = match (&edit.markdown, &edit.patch) {
        (Some(markdown), _) => Some(markdown.clone()),
        (None, Some(ops)) => patched(&base.markdown, ops, MARKDOWN_BYTES_MAX).ok(),
        (None, None) => Some(base.markdown.as_str().to_owned()),
    };
    let mut metadata = base.metadata.clone();
    metadata.extend(edit.metadata.clone());
    let after = markdown.map(|markdown| NoteText {
        title: Some(edit.title.clone().unwrap_or_else(|| base.title.clone())),
        markdown,
        note_kind: Some(
            edit.note_kind
                .clone()
                .unwrap_or_else(|| base.note_kind.clone()),
        ),
        keywords: edit
            .keywords
            .clone()
            .unwrap_or_else(|| base.keywords.clone()),
        metadata,
    });
    let before = NoteText {
        title: Some(base.title),
        markdown: base.markdown.as_str().to_owned(),
        note_kind: Some(base.note_kind),
        keywords: base.keywords,
        metadata: base.metadata,
    };
    Ok(Sides {
        before: Some(before),
        after,
        is_outdated,
    })
}

/// A new note differs from nothing.
fn of_new(new: &NewNote) -> String {
    let title = new.title.as_deref().unwrap_or("(the date and time)");
    let mut text = format!("+++ {}\n{}", written_out(title), lines("", &new.markdown));
    if let Some(kind) = &new.note_kind {
        text.push_str(&field("kind", &written_out(kind)));
    }
    if !new.keywords.is_empty() {
        text.push_str(&field("keywords", &listed(&new.keywords)));
    }
    text.push_str(&metadata_lines(&new.metadata));
    text
}

/// Against the version that the agent saw, not against the newest: that is what would be written. Empty where there is
/// no such version.
async fn of_write(store: &WorkspaceStore, write: &NoteWrite) -> Result<String, ApiRefusal> {
    let base = store.note_at(write.note_id, write.base_version).await?;
    let Some(base) = base else {
        return Ok(String::new());
    };
    let edit = &write.edit;
    let (title, version) = (written_out(&base.title), base.version);
    let mut text = format!("--- {title} (version {version})\n");
    if let Some(title) = edit.title.as_ref().filter(|title| **title != base.title) {
        text.push_str(&format!("+++ {}\n", written_out(title)));
    }
    let new = match (&edit.markdown, &edit.patch) {
        (Some(markdown), _) => Some(markdown.clone()),
        (None, Some(ops)) => patched(&base.markdown, ops, MARKDOWN_BYTES_MAX).ok(),
        (None, None) => None,
    };
    if let Some(new) = new {
        text.push_str(&lines(&base.markdown, &new));
    }
    if let Some(kind) = &edit.note_kind {
        let change = format!("{} -> {}", written_out(&base.note_kind), written_out(kind));
        text.push_str(&field("kind", &change));
    }
    if let Some(keywords) = &edit.keywords {
        let change = format!("{} -> {}", listed(&base.keywords), listed(keywords));
        text.push_str(&field("keywords", &change));
    }
    text.push_str(&metadata_lines(&edit.metadata));
    Ok(text)
}

/// One line for what is no text of the note.
fn field(name: &str, value: &str) -> String {
    format!("{name}: {value}\n")
}

/// With commas between.
fn listed(words: &[String]) -> String {
    written_out(&words.join(", "))
}

/// As JSON.
fn written_value(value: &Value) -> String {
    written_out(&value.to_string())
}

/// Each key on its own line.
fn metadata_lines(metadata: &Metadata) -> String {
    let lines = metadata.iter();
    lines
        .map(|(key, value)| {
            field(
                &format!("metadata {}", written_out(key)),
                &written_value(value),
            )
        })
        .collect()
}

/// The lines between the first and the last that differ, with a few around them. It is not the shortest that could be
/// said, but it is quick whatever the texts are.
fn lines(old: &str, new: &str) -> String {
    let end = last_end(old, new);
    let old: Vec<&str> = old.split_terminator('\n').collect();
    let new: Vec<&str> = new.split_terminator('\n').collect();
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let before = old.iter().zip(&new).take_while(same).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(same)
        .count();
    let (gone, come) = (old_rest.len() - after, new_rest.len() - after);
    if gone == 0 && come == 0 {
        return end.to_owned();
    }
    let first = before.saturating_sub(CONTEXT_LINES);
    let tail = &old_rest[gone..];
    let marked = |mark: char, lines: &[&str]| -> String {
        let lines = lines.iter().map(|line| written_out(line));
        lines.map(|line| format!("{mark}{line}\n")).collect()
    };
    let mut text = format!("@@ line {} @@\n", before + 1);
    text.push_str(&marked(' ', &old[first..before]));
    text.push_str(&marked('-', &old_rest[..gone]));
    text.push_str(&marked('+', &new_rest[..come]));
    text.push_str(&marked(' ', &tail[..tail.len().min(CONTEXT_LINES)]));
    text.push_str(end);
    text
}

/// What becomes of the break after the last line, which no line shows.
fn last_end(old: &str, new: &str) -> &'static str {
    match (old.ends_with('\n'), new.ends_with('\n')) {
        _ if old.is_empty() || new.is_empty() => "",
        (false, true) => "\\ the last line gets a line break\n",
        (true, false) => "\\ the last line loses its line break\n",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_with_what_stands_around_it() {
        let rows = [
            ("a\nb\nc", "a\nb\nc", ""),
            ("", "a", "@@ line 1 @@\n+a\n"),
            ("a", "", "@@ line 1 @@\n-a\n"),
            ("a\nb\nc", "a\nx\nc", "@@ line 2 @@\n a\n-b\n+x\n c\n"),
            ("a\na", "a\na\na", "@@ line 3 @@\n a\n a\n+a\n"),
            ("", "a\n", "@@ line 1 @@\n+a\n"),
            ("a", "a\n", "\\ the last line gets a line break\n"),
            ("a\n", "a\r\n", "@@ line 1 @@\n-a\n+a\\u{d}\n"),
            ("a", "a\u{200b}", "@@ line 1 @@\n-a\n+a\\u{200b}\n"),
            (
                "1\n2\n3\n4\n5",
                "1\n2\n3\n4\n6",
                "@@ line 5 @@\n 2\n 3\n 4\n-5\n+6\n",
            ),
        ];
        for (old, new, expected) in rows {
            assert_eq!(lines(old, new), expected, "{old:?} to {new:?}");
        }
    }
}
