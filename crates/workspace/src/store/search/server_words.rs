//! The index of words on a server, asked for what FTS5 is asked for in a file.
//!
//! A word of the query is one lexeme, or several that follow one another. The server finds the notes; their ranks are those
//! of BM25 as FTS5 counts it, made here of the places of the words in the few notes that are ranked.

use std::collections::{BTreeMap, BTreeSet};

use bonded_workspace_rules::search_terms;
use rusqlite::{ToSql, params};

use super::order::{HEADINGS, Match, NotePart, TEXT, TITLE, WordIndex};
use super::query::SearchQuery;
use crate::store::codes::{count, number};
use crate::store::connection::Connection;
use crate::store::error::StoreFault;
use crate::store::rows;
use crate::store::words::{
    IndexRow, Token, WEIGHTS, kind_word, plain, quoted, tokens, workspace_word,
};

/// How soon more of the same word counts no more, and how much a long note is held against it, as FTS5 has them.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// What a word that stands in more than half of the notes counts.
const COMMON: f64 = 1e-6;

/// A word of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Phrase {
    lexemes: Vec<String>,
    /// The last one stands for all that begin like it.
    is_prefix: bool,
}

impl Phrase {
    /// None of a word that no text can hold.
    fn of(term: &str) -> Result<Option<Self>, StoreFault> {
        let (start, is_prefix) = match term.strip_suffix('*') {
            Some(start) if start.ends_with(char::is_alphanumeric) => (start, true),
            _ => (term, false),
        };
        let read = tokens([&plain(start), "", "", ""])?;
        let lexemes: Vec<String> = read.into_iter().map(|token: Token| token.word).collect();
        Ok((!lexemes.is_empty()).then_some(Self { lexemes, is_prefix }))
    }

    /// As the server takes it.
    fn text(&self) -> String {
        let quoted: Vec<String> = self.lexemes.iter().map(|lexeme| quoted(lexeme)).collect();
        let star = if self.is_prefix { ":*" } else { "" };
        format!("({}{star})", quoted.join(" <-> "))
    }

    /// How often it stands in a note, weighed by where.
    fn weight(&self, places: &BTreeMap<String, WordPlaces>) -> f64 {
        let at = |index: usize| -> BTreeMap<i64, f64> {
            let lexeme = &self.lexemes[index];
            let is_last = index + 1 == self.lexemes.len();
            let matches = |word: &str| match self.is_prefix && is_last {
                true => word.starts_with(lexeme.as_str()),
                false => word == lexeme,
            };
            let found = places.iter().filter(|(word, _)| matches(word));
            found.flat_map(|(_, places)| places.clone()).collect()
        };
        let first = at(0);
        let others: Vec<BTreeSet<i64>> = (1..self.lexemes.len())
            .map(|index| at(index).into_keys().collect())
            .collect();
        let stands = |place: i64| {
            let follows = |(others, next): (&BTreeSet<i64>, i64)| others.contains(&(place + next));
            others.iter().zip(1..).all(follows)
        };
        let found = first.into_iter().filter(|(place, _)| stands(*place));
        let weight: f64 = found.map(|(_, weight)| weight).sum();
        // It matched, if only where no places are kept.
        weight.max(TEXT)
    }
}

/// Where a lexeme stands, and what it counts there.
type WordPlaces = Vec<(i64, f64)>;

/// A note that is ranked.
#[derive(Debug, Default)]
struct Candidate {
    tokens: f64,
    places: BTreeMap<String, WordPlaces>,
}

/// A search in one workspace.
pub(super) struct ServerWords<'a> {
    connection: Connection<'a>,
    workspace: i64,
    phrases: Vec<Phrase>,
    /// All words, the kind that is asked for, and the workspace.
    all: String,
}

impl<'a> ServerWords<'a> {
    /// `None` where nothing can be found.
    pub(super) fn new(
        connection: Connection<'a>,
        workspace: i64,
        query: &SearchQuery,
    ) -> Result<Option<Self>, StoreFault> {
        let mut phrases = Vec::new();
        for term in search_terms(&query.query) {
            let Some(phrase) = Phrase::of(term)? else {
                return Ok(None);
            };
            phrases.push(phrase);
        }
        if phrases.is_empty() {
            return Ok(None);
        }
        let mut all: Vec<String> = phrases.iter().map(Phrase::text).collect();
        all.push(quoted(&workspace_word(workspace)));
        if let Some(kind) = &query.note_kind {
            let Some(kind) = kind_word(kind) else {
                return Ok(None);
            };
            all.push(quoted(&kind));
        }
        Ok(Some(Self {
            connection,
            workspace,
            phrases,
            all: all.join(" & "),
        }))
    }

    /// In how many notes of all workspaces it stands; `None` where these are too many.
    fn notes_with(&self, phrase: &Phrase, most: usize) -> Result<Option<f64>, StoreFault> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM words \
                   WHERE words @@ CAST(CAST(?1 AS text) AS tsquery) LIMIT ?2) AS found";
        let parameters = params![phrase.text(), number(most as u64 + 1)];
        let found = rows::one(self.connection, sql, parameters, |row| {
            Ok(count(row.get(0)?))
        })?;
        let found = found.unwrap_or(0);
        Ok((found <= most as u64).then_some(found as f64))
    }

    /// The notes that match, with the places of the words that are asked for.
    fn candidates(&self) -> Result<BTreeMap<i64, Candidate>, StoreFault> {
        let mut parameters: Vec<Box<dyn ToSql>> =
            vec![Box::new(self.workspace), Box::new(self.all.clone())];
        let mut asked = Vec::new();
        for phrase in &self.phrases {
            for (index, lexeme) in phrase.lexemes.iter().enumerate() {
                parameters.push(Box::new(lexeme.clone()));
                let place = parameters.len();
                asked.push(
                    match phrase.is_prefix && index + 1 == phrase.lexemes.len() {
                        true => format!("starts_with(found.lexeme, ?{place})"),
                        false => format!("found.lexeme = ?{place}"),
                    },
                );
            }
        }
        let sql = format!(
            "SELECT words.written, words.tokens, found.lexeme, array_to_string(found.positions, ','), \
             array_to_string(found.weights, '') FROM words, unnest(words.words) AS found \
             WHERE words.workspace = ?1 AND words.words @@ CAST(CAST(?2 AS text) AS tsquery) AND ({})",
            asked.join(" OR ")
        );
        let mut candidates: BTreeMap<i64, Candidate> = BTreeMap::new();
        self.connection.each(&sql, parameters, |row| {
            let candidate = candidates.entry(row.get(0)?).or_default();
            candidate.tokens = count(row.get(1)?) as f64;
            let places = row.get::<Option<String>>(3)?.unwrap_or_default();
            let weights = row.get::<Option<String>>(4)?.unwrap_or_default();
            let places = places.split(',').filter_map(|place| place.parse().ok());
            let places = places.zip(weights.chars().map(weight)).collect();
            candidate.places.insert(row.get(2)?, places);
            Ok(())
        })?;
        Ok(candidates)
    }
}

/// What a word counts where it stands.
fn weight(sign: char) -> f64 {
    match WEIGHTS.iter().position(|weight| *weight == sign) {
        Some(0) => TITLE,
        Some(1) => HEADINGS,
        _ => TEXT,
    }
}

impl WordIndex for ServerWords<'_> {
    fn last_written(&self, part: NotePart, limit: usize) -> Result<Vec<i64>, StoreFault> {
        let column = match part {
            NotePart::Any => "words",
            NotePart::Title => "titles",
            NotePart::Headings => "headings",
        };
        let sql = format!(
            "SELECT written FROM words WHERE workspace = ?1 \
             AND {column} @@ CAST(CAST(?2 AS text) AS tsquery) ORDER BY written DESC LIMIT ?3"
        );
        let parameters = params![self.workspace, self.all, number(limit as u64)];
        rows::all(self.connection, &sql, parameters, |row| {
            let (workspace, written) = (self.workspace, row.get(0)?);
            Ok(IndexRow { workspace, written }.row())
        })
    }

    fn ranked(&self, telling_max: usize) -> Result<Vec<Match>, StoreFault> {
        let sql = "SELECT notes, tokens FROM word_total";
        let totals = rows::one(self.connection, sql, params![], |row| {
            Ok((count(row.get(0)?) as f64, count(row.get(1)?) as f64))
        })?;
        let (notes, tokens) = totals.unwrap_or((0.0, 0.0));
        let mut telling = Vec::new();
        for phrase in &self.phrases {
            if let Some(with) = self.notes_with(phrase, telling_max)? {
                let rarity = ((notes - with + 0.5) / (with + 0.5)).ln();
                telling.push((phrase, if rarity > 0.0 { rarity } else { COMMON }));
            }
        }
        if telling.is_empty() {
            return Ok(vec![]);
        }
        let average = tokens / notes.max(1.0);
        let candidates = self.candidates()?.into_iter();
        Ok(candidates
            .map(|(written, candidate)| {
                let length = 1.0 - LENGTH + LENGTH * candidate.tokens / average.max(1.0);
                let of = |(phrase, rarity): &(&Phrase, f64)| {
                    let weight = phrase.weight(&candidate.places);
                    rarity * weight * (SATURATION + 1.0) / (weight + SATURATION * length)
                };
                let workspace = self.workspace;
                Match {
                    row: IndexRow { workspace, written }.row(),
                    score: telling.iter().map(of).sum(),
                }
            })
            .collect())
    }
}
