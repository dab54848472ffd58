//! A query in the words of FTS5.

use bonded_workspace_rules::search_terms;

use super::query::SearchQuery;
use crate::store::words::{kind_word, plain};

/// What a search asks the index for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression {
    /// The words of the query, each a string, so that nothing in it is an operator but a star at the end.
    pub(super) words: Vec<String>,
    /// All words, and the kind that is asked for.
    pub(super) all: String,
}

/// `None` where nothing can be found.
pub(super) fn expression(query: &SearchQuery) -> Option<Expression> {
    let quoted = |term: &str| format!("\"{}\"", term.replace('"', "\"\"").replace('\0', " "));
    // A word that ends in a star stands for all that begin like it.
    let word = |term: &str| match term.strip_suffix('*') {
        Some(start) if start.ends_with(char::is_alphanumeric) => {
            format!("{}*", quoted(&plain(start)))
        }
        _ => quoted(&plain(term)),
    };
    let terms = search_terms(&query.query).into_iter();
    let words: Vec<String> = terms.map(word).collect();
    let mut all = words.clone();
    if let Some(kind) = &query.note_kind {
        all.push(quoted(&kind_word(kind)?));
    }
    let all = every(&all);
    (!words.is_empty()).then_some(Expression { words, all })
}

/// The notes in which all of these stand.
pub(super) fn every(words: &[String]) -> String {
    words.join(" AND ")
}
