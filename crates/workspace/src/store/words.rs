//! The index of words: what stands in it for a note, and in which row.

mod waiting;

use std::borrow::Cow;

use bonded_workspace_rules::{Note, headings_and_body, index_text};
use rusqlite::{Connection, TransactionBehavior, params};

use super::error::Fault;
use super::{blobs, rows};
pub(super) use waiting::Waiting;

/// What the word for a note's kind begins with. It stands in no indexed text, so that no other word is like it.
const KIND_MARK: char = '\u{e000}';

/// It stands for `_`, which would end a word.
const KIND_JOINT: &str = "\u{e001}";

/// How many notes are indexed in one transaction when a file of an older build is opened.
const FILLED_AT_ONCE: usize = 1000;

/// Where a note's words are: its workspace, and the row of its last event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) workspace: i64,
    pub(super) written: i64,
}

impl Place {
    /// The row in the tables of words. Later notes of a workspace have higher ones.
    pub(super) fn row(self) -> i64 {
        (self.workspace << 32) + self.written
    }

    pub(super) fn of_row(workspace: i64, row: i64) -> Self {
        let written = row - (workspace << 32);
        Self { workspace, written }
    }
}

/// The first and the last row that a note of the workspace can have.
pub(super) fn rows_of(workspace: i64) -> (i64, i64) {
    (workspace << 32, ((workspace + 1) << 32) - 1)
}

/// The text as it is indexed, or looked for.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let text = index_text(text);
    if text.contains(KIND_MARK) {
        return Cow::Owned(text.replace(KIND_MARK, " "));
    }
    text
}

/// The word for a kind; none for what can be no kind.
pub(super) fn kind_word(kind: &str) -> Option<String> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let is_kind = !kind.is_empty() && kind.bytes().all(fits);
    is_kind.then(|| format!("{KIND_MARK}{}", kind.replace('_', KIND_JOINT)))
}

/// Indexes a note that has no words in the index.
fn add(connection: &Connection, place: Place, note: &Note) -> Result<(), Fault> {
    let row = place.row();
    let kind = kind_word(&note.note_kind).unwrap_or_default();
    let (headings, body) = headings_and_body(&note.markdown);
    let (title, headings) = (plain(&note.title), plain(&headings));
    let keywords = format!("{}\n{kind}", plain(&note.keywords.join("\n")));
    connection
        .prepare_cached(
            "INSERT INTO words (rowid, title, headings, body, keywords) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![row, title, headings, plain(&body), keywords])?;
    connection
        .prepare_cached("INSERT INTO titles (rowid, words) VALUES (?1, ?2)")?
        .execute(params![row, format!("{title}\n{kind}")])?;
    if !headings.is_empty() {
        connection
            .prepare_cached("INSERT INTO headings (rowid, words) VALUES (?1, ?2)")?
            .execute(params![row, format!("{headings}\n{kind}")])?;
    }
    Ok(())
}

/// Takes a note out of the index, before it is written anew or because it is deleted.
fn remove(connection: &Connection, place: Place) -> Result<(), Fault> {
    for table in ["words", "titles", "headings"] {
        connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE rowid = ?1"))?
            .execute([place.row()])?;
    }
    connection
        .prepare_cached("DELETE FROM unindexed WHERE workspace = ?1 AND written = ?2")?
        .execute([place.workspace, place.written])?;
    Ok(())
}

/// Where the words of a note are; nowhere if it is only being made.
pub(super) fn place_of(connection: &Connection, note: i64) -> Result<Option<Place>, Fault> {
    let sql = "SELECT workspace, written FROM note WHERE key = ?1 AND written IS NOT NULL";
    rows::one(connection, sql, [note], |row| {
        Ok(Place {
            workspace: row.get(0)?,
            written: row.get(1)?,
        })
    })
}

/// Indexes the notes that an older build left. Who is stopped in between goes on the next time.
pub(super) fn fill(connection: &mut Connection) -> Result<(), Fault> {
    while connection
        .prepare("SELECT 1 FROM unindexed LIMIT 1")?
        .exists([])?
    {
        // Another process may do the same; each batch is made by one of them.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        fill_some(&transaction)?;
        transaction.commit()?;
    }
    Ok(())
}

/// In the order of their rows, because FTS5 begins a new segment whenever a row is lower than the one before.
fn fill_some(connection: &Connection) -> Result<(), Fault> {
    let sql = format!(
        "SELECT workspace, written, note FROM unindexed ORDER BY workspace, written LIMIT {FILLED_AT_ONCE}"
    );
    let batch = rows::all(connection, &sql, [], |row| {
        let (workspace, written) = (row.get(0)?, row.get(1)?);
        Ok((Place { workspace, written }, row.get::<_, i64>(2)?))
    })?;
    let sql = format!("{} WHERE note.key = ?1", rows::NOTE);
    for (place, key) in batch {
        remove(connection, place)?;
        if let Some((_, mut note)) = rows::one(connection, &sql, [key], rows::note)? {
            blobs::resolve(connection, &mut note.markdown)?;
            add(connection, place, &note)?;
        }
    }
    Ok(())
}
