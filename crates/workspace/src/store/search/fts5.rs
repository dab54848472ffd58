//! The index of words in a file, which FTS5 keeps.

use rusqlite::{ToSql, params};

use super::expression::{Expression, every};
use super::order::{HEADINGS, Match, NotePart, TEXT, TITLE, WordIndex};
use crate::store::connection::Connection;
use crate::store::error::StoreFault;
use crate::store::rows;
use crate::store::words::rows_of;

/// A search in one workspace.
pub(super) struct Fts5<'a> {
    pub(super) connection: Connection<'a>,
    pub(super) workspace: i64,
    pub(super) expression: Expression,
}

impl WordIndex for Fts5<'_> {
    fn last_written(&self, part: NotePart, limit: usize) -> Result<Vec<i64>, StoreFault> {
        let table = match part {
            NotePart::Any => "words",
            NotePart::Title => "titles",
            NotePart::Headings => "headings",
        };
        let (first, last) = rows_of(self.workspace);
        let sql = format!(
            "SELECT rowid FROM {table} WHERE {table} MATCH ?1 AND rowid BETWEEN ?2 AND ?3 \
             ORDER BY rowid DESC LIMIT ?4"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = params![self.expression.all, first, last, limit];
        rows::all(self.connection, &sql, parameters, |row| row.get(0))
    }

    fn ranked(&self, telling_max: usize) -> Result<Vec<Match>, StoreFault> {
        let mut telling = Vec::new();
        for word in &self.expression.words {
            if self.is_telling(word, telling_max)? {
                telling.push(word.clone());
            }
        }
        if telling.is_empty() {
            return Ok(vec![]);
        }
        let telling = every(&telling);
        let all_tell = telling == self.expression.all;
        // The plus keeps SQLite from asking FTS5 for each row by itself, which would count the words each time.
        let that_match = match all_tell {
            true => "",
            false => {
                "AND +rowid IN (SELECT rowid FROM words WHERE words MATCH ?4 AND rowid BETWEEN ?2 AND ?3)"
            }
        };
        let sql = format!(
            "SELECT rowid, bm25(words, {TITLE:?}, {HEADINGS:?}, {TEXT:?}, {TEXT:?}) FROM words \
             WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 {that_match}"
        );
        let (first, last) = rows_of(self.workspace);
        let parameters: [&dyn ToSql; 4] = [&telling, &first, &last, &self.expression.all];
        let used = &parameters[..if all_tell { 3 } else { 4 }];
        rows::all(self.connection, &sql, used, |row| {
            Ok(Match {
                row: row.get(0)?,
                score: -row.get::<f64>(1)?,
            })
        })
    }
}

impl Fts5<'_> {
    /// Stops counting as soon as there are too many.
    fn is_telling(&self, word: &str, telling_max: usize) -> Result<bool, StoreFault> {
        let sql = "SELECT rowid FROM words WHERE words MATCH ?1";
        rows::are_at_most(self.connection, telling_max, sql, [word])
    }
}
