//! The one reader of what people write as JSON or YAML: places, all mistakes at once, and the word that was meant.

mod fields;
mod form;
mod measure;
mod mistake;

use serde_json::Value;

pub use fields::{Fields, ReadFault};
pub use form::{FormKind, FormRow, SCHEMA_KEY, SCHEMA_ROW, described, form_schema, or_null, words};
pub use measure::{BadMeasure, Measure};
pub use mistake::{Mistake, did_you_mean};

/// The known word that is nearest to what was written, whatever the case of its letters, if one is near at all.
pub fn nearest<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A hostile word may be long; nothing that long is a slip of the fingers.
    if written.len() > 64 {
        return None;
    }
    let written = written.to_lowercase();
    let letters = written.chars().count();
    let most = (letters / 3).max(2);
    // A stranger may write very many words: what cannot be near by its length or its letters is not compared. A letter
    // that the word lacks is one that must be changed, so that more than so many are too many.
    let distance = |word: &str| {
        let is_far = word.chars().count().abs_diff(letters) > most;
        let has = |letter: char| word.chars().any(|it| it.to_ascii_lowercase() == letter);
        let is_other = || {
            written
                .chars()
                .filter(|letter| letter.is_ascii() && !has(*letter))
                .count()
                > most
        };
        (!is_far && !is_other()).then(|| strsim::osa_distance(&written, &word.to_lowercase()))
    };
    known
        .into_iter()
        .filter_map(|word| Some((distance(word)?, word)))
        .filter(|(distance, word)| *distance <= most && *distance < word.len())
        .min()
        .map(|(_, word)| word)
}

/// What stands there, in words: its kind, and a little of it.
pub fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {}", short(&number.to_string())),
        Value::String(text) => format!("the text {:?}", short(text)),
        Value::Array(members) => format!("a list of {}", members.len()),
        Value::Object(_) => "an object".into(),
    }
}

/// A name as JSON pointers write it.
pub fn escaped(name: &str) -> String {
    short(name).replace('~', "~0").replace('/', "~1")
}

/// What somebody wrote may be long; a message need not be.
pub fn short(text: &str) -> String {
    const SHOWN_MAX: usize = 80;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// How a title is compared where the case of its letters does not matter.
pub fn folded(title: &str) -> String {
    title.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_fingers_finds_its_word_and_a_foreign_word_finds_none() {
        let known = ["maxTurns", "maxRetries", "models", "tools"];
        let rows = [
            ("maxTurn", Some("maxTurns")),
            ("max_turns", Some("maxTurns")),
            ("MAXTURNS", Some("maxTurns")),
            ("model", Some("models")),
            ("tolos", Some("tools")),
            ("colour", None),
            ("x", None),
        ];
        for (word, expected) in rows {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
