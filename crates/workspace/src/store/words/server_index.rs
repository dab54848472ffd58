//! The words of a note in the index of a server, where they are lexemes with places and weights.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bonded_workspace_rules::{Note, headings_and_body};
use rusqlite::params;

use super::index::{IndexRow, kind_word, plain};
use super::tokens::{Token, tokens};
use crate::store::connection::Connection;
use crate::store::error::StoreFault;

/// How words in titles, headings, keywords and texts are told apart.
pub(in crate::store) const WEIGHTS: [char; 4] = ['A', 'B', 'C', 'D'];

/// What the word for a workspace begins with: a search in one never reads the notes of another.
const WORKSPACE_MARK: char = '\u{e002}';

/// Between two parts of a note, so that no phrase is found across them.
const GAP: usize = 2;

/// The server keeps no place behind this one. Words that stand there are found, but not as parts of a phrase.
const PLACE_MAX: usize = 16_383;

/// So many places of a word are kept.
const PLACES_MAX: usize = 255;

/// What lexemes and their places may take together; the server refuses more than a mebibyte.
const BYTES_MAX: usize = 1_000_000;

/// The word for a workspace.
pub(in crate::store) fn workspace_word(workspace: i64) -> String {
    format!("{WORKSPACE_MARK}{workspace}")
}

/// A lexeme between quotes.
pub(in crate::store) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\\', "\\\\").replace('\'', "''"))
}

/// Indexes a note that has no words in the index.
pub(super) fn add(
    connection: Connection<'_>,
    place: IndexRow,
    note: &Note,
) -> Result<(), StoreFault> {
    let kind = kind_word(&note.note_kind).unwrap_or_default();
    let (headings, body) = headings_and_body(&note.markdown);
    let (title, headings) = (plain(&note.title), plain(&headings));
    let keywords = format!("{}\n{kind}", plain(&note.keywords.join("\n")));
    let all = tokens([&title, &headings, &keywords, &plain(&body)])?;
    let workspace = workspace_word(place.workspace);
    let part = |text: usize| {
        let words = all.iter().filter(|token| token.text == text);
        let words = words.map(|token| token.word.as_str());
        lexemes(words.chain([kind.as_str(), &workspace]))
    };
    let in_headings = match headings.is_empty() {
        true => String::new(),
        false => part(1),
    };
    connection.execute(
        "INSERT INTO words (written, workspace, tokens, words, titles, headings) VALUES \
         (?1, ?2, ?3, CAST(CAST(?4 AS text) AS tsvector), CAST(CAST(?5 AS text) AS tsvector), \
         CAST(CAST(?6 AS text) AS tsvector))",
        params![
            place.written,
            place.workspace,
            all.len() as i64,
            placed(&all, &workspace),
            part(0),
            in_headings,
        ],
    )?;
    Ok(())
}

/// Takes a note out of the index.
pub(super) fn remove(connection: Connection<'_>, place: IndexRow) -> Result<(), StoreFault> {
    connection.execute("DELETE FROM words WHERE written = ?1", [place.written])?;
    Ok(())
}

/// Words without places.
fn lexemes<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: std::collections::BTreeSet<&str> = words.filter(|word| !word.is_empty()).collect();
    let (mut text, mut bytes) = (String::new(), 0);
    for word in words {
        bytes += word.len() + 4;
        if bytes > BYTES_MAX {
            break;
        }
        text.push_str(&quoted(word));
        text.push(' ');
    }
    text
}

/// All words of a note with their places.
fn placed(tokens: &[Token], workspace: &str) -> String {
    let mut lexemes: BTreeMap<&str, Vec<(usize, char)>> = BTreeMap::new();
    let (mut bytes, mut begins, mut last, mut part) = (workspace.len() + 8, 1, 0, 0);
    for token in tokens {
        if token.text != part {
            part = token.text;
            begins = last + GAP;
        }
        last = begins + token.place;
        let places = lexemes.get(token.word.as_str());
        let takes = places.map_or(token.word.len() + 8, |_| 2);
        if bytes + takes > BYTES_MAX {
            break;
        }
        bytes += takes;
        let places = lexemes.entry(&token.word).or_default();
        if places.len() < PLACES_MAX && last < PLACE_MAX {
            places.push((last, WEIGHTS[token.text.min(3)]));
        }
    }
    let mut text = quoted(workspace);
    for (word, places) in lexemes {
        text.push(' ');
        text.push_str(&quoted(word));
        for (number, (place, weight)) in places.into_iter().enumerate() {
            let before = if number == 0 { ':' } else { ',' };
            // A text takes whatever is written.
            let _ = write!(text, "{before}{place}{weight}");
        }
    }
    text
}
