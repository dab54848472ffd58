//! The kinds of option values. Each has one parser, whichever source the value came from: text from the
//! command line or a variable, JSON from the configuration, YAML from an agent file.
//!
//! A value that cannot be read is never bent to fit: the parser says what it expected, and the message
//! names the place.

use std::ops::RangeInclusive;

use serde_json::Value;

use bonded_kernel::{Measure, Mistake, Rule};

use super::Source;
use super::approvals;
use super::reasoning::ReasoningLevel;
use super::values::ModelRef;

/// For a value that may be absent: do not send it.
pub const UNSET_WORDS: [&str; 5] = ["none", "off", "unset", "default", "null"];

/// What the values of an option may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// A whole number within bounds, both included. Where it is `nullable`, words such as `none` unset
    /// it.
    Whole { min: u64, max: u64, nullable: bool },
    /// A duration, a size or a number of tokens within bounds: a whole number, or a text with a unit.
    Measured {
        measure: Measure,
        min: u64,
        max: u64,
        nullable: bool,
    },
    /// Always nullable.
    Real { min: f64, max: f64 },
    /// Names, as a list or as one text with commas. Empty ones are left out.
    List,
    /// A list of names of tools in which `*` stands for any letters.
    Patterns,
    /// What happens with the calls of which tools.
    Approvals,
    /// A list of `PROVIDER/MODEL`.
    Models,
    /// Words as they may be written, and the word that each means.
    Choice(&'static [(&'static str, &'static str)]),
    /// A level, or that there shall be none.
    Reasoning,
    /// A number of tokens; 0 and `disabled` mean none.
    ReasoningTokens,
    /// `true` or `false`, or a word for one of them.
    Flag,
    /// A text that is not empty.
    Text,
}

/// What a source says about an option.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Parsed {
    /// It leaves the question to the next source.
    Nothing,
    /// It wants the value not to be sent, or the thing to be off.
    Unset,
    Whole(u64),
    Real(f64),
    List(Vec<String>),
    Rules(Vec<Rule>),
    Word(&'static str),
    Level(ReasoningLevel),
    Flag(bool),
    Text(String),
}

/// Reads a value, or says what is wrong with it.
///
/// The source matters for reasoning alone: the same word means different things from inside and outside
/// of an agent.
pub(crate) fn parse(kind: OptionKind, value: &Value, source: Source) -> Result<Parsed, Mistake> {
    let parsed = match kind {
        OptionKind::Reasoning => reasoning(value, source),
        OptionKind::ReasoningTokens => reasoning_tokens(value),
        OptionKind::Whole { nullable: true, .. }
        | OptionKind::Measured { nullable: true, .. }
        | OptionKind::Real { .. }
            if is_unset(value) =>
        {
            Some(Parsed::Unset)
        }
        _ if value.is_null() => Some(Parsed::Nothing),
        OptionKind::Whole { min, max, .. } => whole(value)
            .filter(|whole| (min..=max).contains(whole))
            .map(Parsed::Whole),
        OptionKind::Measured {
            measure, min, max, ..
        } => return measured(measure, value, min..=max).map(Parsed::Whole),
        OptionKind::Real { min, max } => real(value)
            .filter(|real| (min..=max).contains(real))
            .map(Parsed::Real),
        OptionKind::List => list(value).map(Parsed::List),
        OptionKind::Models => list(value)
            .filter(|names| names.iter().all(|name| ModelRef::parse(name).is_some()))
            .map(Parsed::List),
        OptionKind::Patterns => list(value)
            .filter(|names| names.iter().all(|name| approvals::is_pattern(name)))
            .map(Parsed::List),
        OptionKind::Approvals => approvals::rules(value).map(Parsed::Rules),
        OptionKind::Choice(words) => choice(value, words),
        OptionKind::Flag => flag(value).map(Parsed::Flag),
        OptionKind::Text => value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(|text| Parsed::Text(text.to_owned())),
    };
    parsed.ok_or_else(|| mistake(kind, value))
}

fn mistake(kind: OptionKind, value: &Value) -> Mistake {
    if let (OptionKind::Choice(words), Value::String(text)) = (kind, value) {
        return Mistake::unknown_word(text, meant(words));
    }
    Mistake::wrong_type(expected(kind), value)
}

/// The words of a choice without their other spellings.
fn meant(words: &'static [(&str, &str)]) -> impl Iterator<Item = &'static str> + Clone {
    let own = words.iter().filter(|(written, meant)| written == meant);
    own.map(|(word, _)| *word)
}

/// What a value of this kind looks like, for a message.
fn expected(kind: OptionKind) -> String {
    match kind {
        OptionKind::Whole { min, max, nullable } => {
            let or_none = if nullable { ", or none" } else { "" };
            format!("a whole number from {min} to {max}{or_none}")
        }
        OptionKind::Measured {
            measure, nullable, ..
        } => {
            let or_none = if nullable { ", or none" } else { "" };
            format!("{}{or_none}", measure.expected())
        }
        OptionKind::Real { min, max } if max == f64::MAX => {
            format!("a number from {min} up, or none")
        }
        OptionKind::Real { min, max } => format!("a number from {min} to {max}, or none"),
        OptionKind::List => "a list of names, or names separated by commas".into(),
        OptionKind::Patterns => "a list of tool names (* matches anything)".into(),
        OptionKind::Approvals => {
            "lists of tools under allow, ask and deny, or a list such as [deny:rm_*, ask:*]".into()
        }
        OptionKind::Models => "PROVIDER/MODEL, or a list of them".into(),
        OptionKind::Choice(words) => {
            let words: Vec<&str> = meant(words).collect();
            format!("one of {}", words.join(", "))
        }
        OptionKind::Reasoning => "none, minimal, low, medium, high, xhigh or max".into(),
        OptionKind::ReasoningTokens => "a whole number of tokens, or none".into(),
        OptionKind::Flag => "true or false".into(),
        OptionKind::Text => "a text".into(),
    }
}

fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => one_of(text, &UNSET_WORDS),
        _ => false,
    }
}

/// The words for yes, and those for no.
pub(super) const FLAG_WORDS: [[&str; 4]; 2] =
    [["true", "yes", "on", "1"], ["false", "no", "off", "0"]];
/// The words that switch reasoning off, wherever they are written.
const OFF_WORDS: [&str; 2] = ["none", "off"];
/// A word for no tokens of reasoning.
pub(super) const DISABLED: &str = "disabled";

fn one_of(text: &str, words: &[&str]) -> bool {
    let text = text.trim();
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Text counts too, because the command line and variables have nothing else.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Spaces around a text are not part of it, as for numbers.
fn measured(measure: Measure, value: &Value, range: RangeInclusive<u64>) -> Result<u64, Mistake> {
    match value {
        Value::String(text) => Ok(measure.read(text.trim(), range)?),
        value => measure.of(value, range),
    }
}

fn real(value: &Value) -> Option<f64> {
    let real: f64 = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    real.is_finite().then_some(real)
}

/// `None` where one of the items is no text.
pub(super) fn list(value: &Value) -> Option<Vec<String>> {
    let items: Vec<&str> = match value {
        Value::String(text) => text.split(',').collect(),
        Value::Array(items) => items.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let trimmed = items.into_iter().map(str::trim);
    Some(
        trimmed
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

fn choice(value: &Value, words: &[(&str, &'static str)]) -> Option<Parsed> {
    let text = value.as_str()?.trim();
    let (_, meant) = words
        .iter()
        .find(|(written, _)| written.eq_ignore_ascii_case(text))?;
    Some(Parsed::Word(meant))
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if one_of(text, &FLAG_WORDS[0]) => Some(true),
        Value::String(text) if one_of(text, &FLAG_WORDS[1]) => Some(false),
        _ => None,
    }
}

/// An agent that writes `reasoning: unset` wants none. A default or an override that says `unset` says
/// nothing: only `none` and `off` switch reasoning off from outside.
fn reasoning(value: &Value, source: Source) -> Option<Parsed> {
    let own_words = matches!(source, Source::CommandLine | Source::FrontMatter);
    match value {
        Value::String(text) if one_of(text, &OFF_WORDS) => Some(Parsed::Unset),
        _ if is_unset(value) && own_words => Some(Parsed::Unset),
        _ if is_unset(value) => Some(Parsed::Nothing),
        // The only level that YAML or JSON could write otherwise is none, as false.
        Value::Bool(false) => Some(Parsed::Unset),
        Value::String(text) => ReasoningLevel::parse(text.trim()).map(Parsed::Level),
        _ => None,
    }
}

/// Zero switches reasoning off, as the words do.
fn reasoning_tokens(value: &Value) -> Option<Parsed> {
    match value {
        Value::String(text) if one_of(text, &[DISABLED]) => Some(Parsed::Unset),
        _ if is_unset(value) => Some(Parsed::Unset),
        _ => match measured(Measure::Tokens, value, 0..=u64::MAX).ok()? {
            0 => Some(Parsed::Unset),
            tokens => Some(Parsed::Whole(tokens)),
        },
    }
}
