//! The words of a text as FTS5 sees them, for an index that is elsewhere.
//!
//! FTS5 itself is asked, in a database in memory: so a store on a server finds a note by the same words as a file does.

use std::cell::RefCell;

use rusqlite::{Connection, params};

use crate::store::error::StoreFault;

/// One word, where it stands in its text, and in which of the texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) struct Token {
    pub(in crate::store) text: usize,
    pub(in crate::store) place: usize,
    pub(in crate::store) word: String,
}

/// How many texts are read at once.
const TEXTS: usize = 4;

/// A word of an index cannot be longer.
const WORD_BYTES_MAX: usize = 2000;

const TABLES: &str = "CREATE VIRTUAL TABLE read USING fts5 (
        a, b, c, d, content = '', tokenize = 'unicode61 remove_diacritics 2'
    );
    CREATE VIRTUAL TABLE found USING fts5vocab (read, instance);";

thread_local! {
    static READER: RefCell<Option<Connection>> = const { RefCell::new(None) };
}

/// The words of these texts, in their order.
pub(in crate::store) fn tokens(texts: [&str; TEXTS]) -> Result<Vec<Token>, StoreFault> {
    READER.with_borrow_mut(|reader| {
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(opened()?),
        };
        // It is never committed, so that nothing is left of it.
        let transaction = reader.transaction()?;
        transaction
            .prepare_cached("INSERT INTO read (rowid, a, b, c, d) VALUES (1, ?1, ?2, ?3, ?4)")?
            .execute(params![texts[0], texts[1], texts[2], texts[3]])?;
        let mut found = transaction.prepare_cached("SELECT col, offset, term FROM found")?;
        let mut rows = found.query([])?;
        let mut tokens = Vec::new();
        while let Some(row) = rows.next()? {
            let text = row.get_ref(0)?.as_str()?;
            let mut word: String = row.get(2)?;
            word.truncate(word.floor_char_boundary(WORD_BYTES_MAX));
            tokens.push(Token {
                text: ["a", "b", "c", "d"]
                    .iter()
                    .position(|it| *it == text)
                    .unwrap_or(0),
                place: row.get::<_, u32>(1)? as usize,
                word,
            });
        }
        tokens.sort_unstable();
        Ok(tokens)
    })
}

fn opened() -> Result<Connection, StoreFault> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(TABLES)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_stand_where_they_stood() {
        let found = tokens(["Äpfel foo-BAR", "", "x\0y 東", ""]).expect("it reads");
        let words: Vec<_> = found
            .iter()
            .map(|it| (it.text, it.place, it.word.as_str()))
            .collect();
        let expected = [
            (0, 0, "apfel"),
            (0, 1, "foo"),
            (0, 2, "bar"),
            (2, 0, "x"),
            (2, 1, "y"),
            (2, 2, "東"),
        ];
        assert_eq!(words, expected);
        assert_eq!(tokens(["", "", "", ""]).expect("it reads"), []);
    }
}
