//! How many tokens a text is for a model whose vocabulary is known.
//!
//! The vocabularies weigh some 50 MB and a minute of the compiler's time, so they are there only with the
//! cargo feature `tokenizers`. Without it nothing is counted, and whoever asks falls back to an estimate.

use bonded_kernel::Vocabulary;

use crate::models;

/// The tokens of a text, or `None` where the vocabulary is not at hand.
///
/// Long stretches without white space are counted in pieces: the time stays in proportion to the text,
/// whatever it holds, and the count errs upwards.
pub fn count(vocabulary: Vocabulary, text: &str) -> Option<u64> {
    let tokens_of = counter(vocabulary)?;
    Some(pieces(text).map(tokens_of).sum())
}

/// Counts the tokens of a short text.
///
/// The vocabulary is loaded when the first piece is counted and stays in memory.
type Counter = fn(&str) -> u64;

#[cfg(feature = "tokenizers")]
fn counter(vocabulary: Vocabulary) -> Option<Counter> {
    match vocabulary {
        Vocabulary::Unknown | Vocabulary::Claude | Vocabulary::Qwen => None,
        Vocabulary::Cl100k => Some(|piece| bpe_openai::cl100k_base().count(piece) as u64),
        Vocabulary::O200k => Some(|piece| bpe_openai::o200k_base().count(piece) as u64),
    }
}

#[cfg(not(feature = "tokenizers"))]
fn counter(_: Vocabulary) -> Option<Counter> {
    None
}

/// A piece is no longer than this many bytes.
///
/// The counting of one unbroken stretch takes more than its length in time, so that a stretch of a megabyte
/// must not be one.
const PIECE_BYTES_MAX: usize = 1024;

/// The text in pieces that end before white space where there is some: vocabularies join white space to
/// the word after it.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = piece_end(rest);
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The last white space within the limit, or the limit itself where there is none. White space at the very
/// beginning does not count: the piece would be empty.
fn piece_end(text: &str) -> usize {
    if text.len() <= PIECE_BYTES_MAX {
        return text.len();
    }
    let limit = text.floor_char_boundary(PIECE_BYTES_MAX);
    let gap = text[..limit].rfind(char::is_whitespace);
    gap.filter(|gap| *gap > 0).unwrap_or(limit)
}

/// Vocabularies by the names of models, without their makers. The first row that fits counts, and the last one of a maker
/// is for names that nobody knew when this was written.
const BY_NAME: &[(Vocabulary, &[&str])] = &[
    (Vocabulary::Claude, &["claude*"]),
    (Vocabulary::O200k, &["gpt-4o*", "gpt-4.1*", "chatgpt-4o*"]),
    (
        Vocabulary::Cl100k,
        &["gpt-4*", "gpt-3.5*", "text-embedding-*"],
    ),
    (Vocabulary::O200k, &["gpt-*", "o1*", "o3*", "o4*"]),
    (
        Vocabulary::Qwen,
        &["qwen*", "qwq*", "qvq*", "*distill-qwen*"],
    ),
];

/// The vocabulary of a model, as far as its name tells.
pub fn vocabulary_of(model: &str) -> Vocabulary {
    let name = models::bare(model);
    let fits = |names: &[&str]| names.iter().any(|it| models::glob::fits(it, &name));
    let row = BY_NAME.iter().find(|(_, names)| fits(names));
    row.map_or(Vocabulary::Unknown, |(vocabulary, _)| *vocabulary)
}

/// Why a setting names no vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is not a tokenizer; use \"tiktoken:MODEL\", \"o200k_base\", \"cl100k_base\", \"claude\", \"qwen\" or \
     \"approximate\""
)]
pub struct UnknownTokenizer {
    /// As the setting has it.
    pub name: String,
}

/// The vocabulary that a setting names.
pub fn vocabulary_named(name: &str) -> Result<Vocabulary, UnknownTokenizer> {
    let name = name.trim();
    if let Some(model) = name.strip_prefix("tiktoken:") {
        return Ok(vocabulary_of(model.trim()));
    }
    match name {
        "o200k_base" => Ok(Vocabulary::O200k),
        "cl100k_base" => Ok(Vocabulary::Cl100k),
        "claude" => Ok(Vocabulary::Claude),
        "qwen" => Ok(Vocabulary::Qwen),
        "approximate" | "bytes" => Ok(Vocabulary::Unknown),
        other => Err(UnknownTokenizer { name: other.into() }),
    }
}

#[cfg(test)]
mod tests;
