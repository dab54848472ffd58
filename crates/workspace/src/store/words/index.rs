//! The rows of the index: which one a note's words are in, and what stands there for it.

use std::borrow::Cow;

use crate::store::connection::Connection;
use bonded_workspace_rules::{Note, headings_and_body, index_text};
use rusqlite::params;

use super::server_index;
use crate::store::dialect::Dialect;
use crate::store::error::StoreFault;

/// What the word for a note's kind begins with. It stands in no indexed text, so that no other word is like it.
const KIND_MARK: char = '\u{e000}';

/// It stands for `_`, which would end a word.
const KIND_JOINT: &str = "\u{e001}";

/// Where a note's words are: its workspace, and the row of its last event.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct IndexRow {
    pub(in crate::store) workspace: i64,
    pub(in crate::store) written: i64,
}

impl IndexRow {
    /// The row in the tables of words. Later notes of a workspace have higher ones.
    pub(in crate::store) fn row(self) -> i64 {
        (self.workspace << 32) + self.written
    }

    /// The inverse of `row`.
    pub(in crate::store) fn of_row(workspace: i64, row: i64) -> Self {
        let written = row - (workspace << 32);
        Self { workspace, written }
    }
}

/// The first and the last row that a note of the workspace can have.
pub(in crate::store) fn rows_of(workspace: i64) -> (i64, i64) {
    (workspace << 32, ((workspace + 1) << 32) - 1)
}

/// The text as it is indexed, or looked for.
pub(in crate::store) fn plain(text: &str) -> Cow<'_, str> {
    let text = index_text(text);
    if text.contains(KIND_MARK) {
        return Cow::Owned(text.replace(KIND_MARK, " "));
    }
    text
}

/// The word for a kind; none for what can be no kind.
pub(in crate::store) fn kind_word(kind: &str) -> Option<String> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let is_kind = !kind.is_empty() && kind.bytes().all(fits);
    is_kind.then(|| format!("{KIND_MARK}{}", kind.replace('_', KIND_JOINT)))
}

/// Indexes a note that has no words in the index.
pub(super) fn add(
    connection: Connection<'_>,
    place: IndexRow,
    note: &Note,
) -> Result<(), StoreFault> {
    if connection.dialect() == Dialect::Postgres {
        return server_index::add(connection, place, note);
    }
    let row = place.row();
    let kind = kind_word(&note.note_kind).unwrap_or_default();
    let (headings, body) = headings_and_body(&note.markdown);
    let (title, headings) = (plain(&note.title), plain(&headings));
    let keywords = format!("{}\n{kind}", plain(&note.keywords.join("\n")));
    connection.execute(
        "INSERT INTO words (rowid, title, headings, body, keywords) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![row, title, headings, plain(&body), keywords],
    )?;
    connection.execute(
        "INSERT INTO titles (rowid, words) VALUES (?1, ?2)",
        params![row, format!("{title}\n{kind}")],
    )?;
    if !headings.is_empty() {
        connection.execute(
            "INSERT INTO headings (rowid, words) VALUES (?1, ?2)",
            params![row, format!("{headings}\n{kind}")],
        )?;
    }
    Ok(())
}

/// Takes a note out of the index, before it is written anew or because it is deleted.
pub(super) fn remove(connection: Connection<'_>, place: IndexRow) -> Result<(), StoreFault> {
    if connection.dialect() == Dialect::Postgres {
        return server_index::remove(connection, place);
    }
    for table in ["words", "titles", "headings"] {
        connection.execute(
            &format!("DELETE FROM {table} WHERE rowid = ?1"),
            [place.row()],
        )?;
    }
    connection.execute(
        "DELETE FROM unindexed WHERE workspace = ?1 AND written = ?2",
        [place.workspace, place.written],
    )?;
    Ok(())
}
