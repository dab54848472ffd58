//! Options as JSON Schema, for editors: what the parser of each kind takes.
//!
//! A value may be written as text wherever it is a number or a word, without regard to case, because variables and the
//! command line have nothing else. So each kind is what people are offered, and a pattern for what is taken besides.

use bonded_kernel::{Measure, described, or_null};
use serde_json::{Value, json};

use super::OptionRow;
use super::approvals::{STRICT_FIRST, TOOL_PATTERN};
use super::kind::{DISABLED, FLAG_WORDS, OptionKind, UNSET_WORDS};
use super::reasoning::ReasoningLevel;

/// A whole number as text.
const DIGITS: &str = r"^\s*\+?[0-9]+\s*$";
/// Any number as text.
const DECIMAL: &str = r"^\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$";
/// One model in a list.
const MODEL: &str = r"^\s*(?:$|script:\s*\S|(?!script:)[^/\s][^/]*/\s*\S)";
/// Models with commas between.
const MODELS: &str =
    r"^(?:\s*(?:script:\s*[^,\s][^,]*|(?!script:)[^/,\s][^/,]*/\s*[^,\s][^,]*)?(?:,|$))*$";

/// An option: what it takes, what it is for, and what it is by default.
pub(crate) fn row_schema(row: &OptionRow) -> Value {
    let mut schema = described(or_null(kind_schema(row.kind)), row.help);
    if let Some(default) = row.default.filter(|default| !default.is_empty()) {
        let parsed = serde_json::from_str(default).ok();
        schema["default"] = parsed.unwrap_or_else(|| default.into());
    }
    schema
}

fn kind_schema(kind: OptionKind) -> Value {
    match kind {
        OptionKind::Whole { min, max, nullable } => {
            let number = json!({ "type": "integer", "minimum": min, "maximum": max });
            let unset = nullable.then(|| spelt(&UNSET_WORDS));
            any_of([Some(number), Some(text(DIGITS)), unset])
        }
        OptionKind::Measured {
            measure,
            min,
            max,
            nullable,
        } => {
            let unset = nullable.then(|| spelt(&UNSET_WORDS));
            any_of([Some(amount(measure, min, max)), unset])
        }
        OptionKind::Real { min, max } => {
            let number = json!({ "type": "number", "minimum": min, "maximum": max });
            let unset = spelt(&UNSET_WORDS);
            any_of([Some(number), Some(text(DECIMAL)), Some(unset)])
        }
        OptionKind::List => any_of([
            Some(json!({ "type": "array", "items": { "type": "string" } })),
            Some(json!({ "type": "string" })),
        ]),
        OptionKind::Models => any_of([Some(list(MODEL)), Some(text(MODELS))]),
        OptionKind::Patterns => patterns(),
        OptionKind::Approvals => approvals(),
        OptionKind::Choice(words) => {
            let words: Vec<&str> = words.iter().map(|(written, _)| *written).collect();
            spelt(&words)
        }
        OptionKind::Reasoning => {
            let levels = ReasoningLevel::WORDS.iter().map(|(word, _)| *word);
            let words: Vec<&str> = levels.chain(UNSET_WORDS).collect();
            any_of([Some(spelt(&words)), Some(json!({ "const": false }))])
        }
        OptionKind::ReasoningTokens => {
            let words: Vec<&str> = UNSET_WORDS.into_iter().chain([DISABLED]).collect();
            let tokens = amount(Measure::Tokens, 0, u64::MAX);
            any_of([Some(tokens), Some(spelt(&words))])
        }
        OptionKind::Flag => any_of([
            Some(json!({ "type": "boolean" })),
            Some(text(&any_case(FLAG_WORDS.as_flattened()))),
        ]),
        OptionKind::Text => json!({ "type": "string", "minLength": 1 }),
    }
}

/// A duration or a size, perhaps with spaces around it.
fn amount(measure: Measure, min: u64, max: u64) -> Value {
    let mut schema = measure.schema(min..=max);
    schema["pattern"] = format!(r"^\s*{}\s*$", measure.pattern()).into();
    schema
}

fn any_of<const N: usize>(schemas: [Option<Value>; N]) -> Value {
    let schemas: Vec<Value> = schemas.into_iter().flatten().collect();
    json!({ "anyOf": schemas })
}

fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

fn list(pattern: &str) -> Value {
    json!({ "type": "array", "items": text(pattern) })
}

/// Words that are offered as they are, and taken in any case.
fn spelt(words: &[&str]) -> Value {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    in_any_case(&words)
}

/// The same for whoever has other words.
pub(crate) fn in_any_case(words: &[String]) -> Value {
    let spelt: Vec<&str> = words.iter().map(String::as_str).collect();
    json!({ "anyOf": [{ "enum": words }, text(&any_case(&spelt))] })
}

/// Not every reader of patterns has a flag for it.
fn any_case(words: &[&str]) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphabetic() => {
            format!(
                "[{}{}]",
                letter.to_ascii_lowercase(),
                letter.to_ascii_uppercase()
            )
        }
        '+' => r"\+".to_owned(),
        letter => letter.to_string(),
    };
    let words: Vec<String> = words
        .iter()
        .map(|word| word.chars().map(letter).collect())
        .collect();
    format!(r"^\s*(?:{})\s*$", words.join("|"))
}

/// Names of tools, as a list or with commas between; empty ones are left out.
fn patterns() -> Value {
    let one = format!(r"\s*(?:{TOOL_PATTERN})?\s*");
    let several = format!("^{one}(?:,{one})*$");
    any_of([Some(list(&format!("^{one}$"))), Some(text(&several))])
}

/// Lists under `allow`, `ask` and `deny`, or one list in order.
fn approvals() -> Value {
    let words: Vec<&str> = STRICT_FIRST.iter().map(|it| it.as_str()).collect();
    let of_word = |word: &&str| ((*word).to_owned(), patterns());
    let offered: serde_json::Map<String, Value> = words.iter().map(of_word).collect();
    // Without regard to case, and without spaces around: these are keys.
    let any_case = any_case(&words).replace(r"\s*", "");
    let one = format!(
        r"\s*(?:{}\s*:\s*{TOOL_PATTERN})?\s*",
        &any_case[1..any_case.len() - 1]
    );
    json!({ "anyOf": [
        {
            "type": "object",
            "properties": offered,
            "patternProperties": { any_case: patterns() },
            "additionalProperties": false,
        },
        list(&format!("^{one}$")),
        text(&format!("^{one}(?:,{one})*$")),
    ] })
}
