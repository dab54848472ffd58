//! From everything that was said to one plain set of options.
//!
//! For each key the first source that says something wins, from the override down to the built-in
//! value. What a file says is then bounded by the person's own files, if the option is a capability: a
//! flag is the person's own word and is not.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;

use bonded_kernel::{Rule, nearest};

use super::kind::{OptionKind, Parsed, list, parse};
use super::values::{Options, Values};
use super::{Given, OptionError, OptionRow, Source, Sources, TABLE, find};
use crate::provider::no_provider;

/// The options, and for each key the source that won.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The values, each read by its kind.
    pub options: Options,
    /// Every key of the table has one.
    pub sources: BTreeMap<&'static str, Source>,
}

/// Weighs the sources, key by key. Every value is read, also one that loses: a mistake in an agent file
/// does not become right because a flag hides it.
pub fn resolve(sources: &Sources) -> Result<Resolved, OptionError> {
    let (resolved, errors) = resolve_all(sources);
    match errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(resolved),
    }
}

/// The same for whoever wants to know every mistake: what is wrong says nothing.
pub(crate) fn resolve_all(sources: &Sources) -> (Resolved, Vec<OptionError>) {
    let mut errors = check_keys(sources);
    let mut won = BTreeMap::new();
    for row in TABLE {
        won.insert(row.key, resolve_row(row, sources, &mut errors));
    }
    fall_back_on_default_reasoning(&mut won);
    let rules = rules(&won, sources, &mut errors);
    let sources = won
        .iter()
        .map(|(key, (source, _))| (*key, *source))
        .collect();
    let mut options = Values::new(won).options();
    options.rules_beside = rules;
    (Resolved { options, sources }, errors)
}

/// The bound is met and not chosen: what holds is the most that both allow.
fn resolve_row(
    row: &OptionRow,
    sources: &Sources,
    errors: &mut Vec<OptionError>,
) -> (Source, Parsed) {
    let given = [
        (Source::Override, &sources.overrides),
        (Source::CommandLine, &sources.command_line),
        (Source::FrontMatter, &sources.front_matter),
        (Source::Inherited, &sources.inherited),
        (Source::Config, &sources.config),
        (Source::Variable, &sources.variables),
    ];
    let mut winner = None;
    for (source, values) in given {
        let Some(given) = values.get(row.key) else {
            continue;
        };
        let parsed = read(row, given, source, errors);
        if parsed != Parsed::Nothing && winner.is_none() {
            winner = Some((source, parsed));
        }
    }
    let Some((source, parsed)) = winner else {
        return (Source::BuiltIn, built_in(row));
    };
    // What was typed is the person's word, and so is what is handed down of it.
    let is_of_a_file = matches!(source, Source::FrontMatter | Source::Config);
    match sources.own.get(row.key) {
        Some(own) if is_of_a_file && row.order.is_bound() => {
            let bound = read(row, own, Source::Config, errors);
            (source, row.order.meet(&parsed, &bound))
        }
        _ => (source, parsed),
    }
}

/// What is wrong is added to the errors, once.
fn read(row: &OptionRow, given: &Given, source: Source, errors: &mut Vec<OptionError>) -> Parsed {
    parse(row.kind, &given.value, source).unwrap_or_else(|mistake| {
        let place = given.place.clone();
        let error = match bare_model(row, given) {
            Some(model) => OptionError::BareModel {
                place,
                error: Box::new(no_provider(&model)),
            },
            None => OptionError::BadValue {
                place,
                key: row.key.into(),
                mistake: Box::new(mistake),
            },
        };
        if !errors.contains(&error) {
            errors.push(error);
        }
        Parsed::Nothing
    })
}

/// The first model that is named without a provider: which one is meant can be guessed.
fn bare_model(row: &OptionRow, given: &Given) -> Option<String> {
    let names = list(&given.value).filter(|_| row.kind == OptionKind::Models)?;
    names.into_iter().find(|name| !name.contains(['/', ':']))
}

/// A row without a default gives nothing, which means something of its own.
pub(crate) fn built_in(row: &OptionRow) -> Parsed {
    row.default
        .and_then(|default| parse(row.kind, &default.into(), Source::BuiltIn).ok())
        .unwrap_or(Parsed::Nothing)
}

/// The approvals that hold beside those that won: the person's own, and those of files that nobody trusts.
fn rules(
    won: &BTreeMap<&'static str, (Source, Parsed)>,
    sources: &Sources,
    errors: &mut Vec<OptionError>,
) -> Vec<Vec<Rule>> {
    const KEY: &str = "approvals";
    let Some(row) = find(KEY) else {
        return vec![];
    };
    let (source, winner) = won
        .get(KEY)
        .cloned()
        .unwrap_or((Source::BuiltIn, Parsed::Nothing));
    let is_of_a_file = matches!(source, Source::FrontMatter | Source::Config);
    let own = sources.own.get(KEY).filter(|_| is_of_a_file);
    let mut beside = vec![];
    for given in own.into_iter().chain(&sources.rules) {
        let parsed = read(row, given, Source::Config, errors);
        if parsed != winner
            && let Parsed::Rules(rules) = parsed
        {
            beside.push(rules);
        }
    }
    beside
}

/// An agent that says nothing about reasoning takes what the run or the configuration gives as default.
fn fall_back_on_default_reasoning(won: &mut BTreeMap<&'static str, (Source, Parsed)>) {
    let not_given = (Source::BuiltIn, Parsed::Nothing);
    if won.get("reasoning") != Some(&not_given) {
        return;
    }
    if let Some((source, parsed)) = won.get("defaultReasoning").cloned() {
        let source = match source {
            Source::CommandLine => Source::Inherited,
            Source::Override
            | Source::FrontMatter
            | Source::Inherited
            | Source::Config
            | Source::Variable
            | Source::BuiltIn => source,
        };
        won.insert("reasoning", (source, parsed));
    }
}

/// Keys of all sources but the person's own files, which are part of the configuration.
fn check_keys(sources: &Sources) -> Vec<OptionError> {
    let overrides = sources.overrides.keys();
    let mut errors: Vec<OptionError> = overrides
        .filter_map(|key| check_override(key).err())
        .collect();
    let rest = [
        &sources.command_line,
        &sources.front_matter,
        &sources.inherited,
        &sources.config,
        &sources.variables,
    ];
    let unknown = rest.into_iter().flatten();
    let unknown = unknown.filter(|(key, _)| find(key).is_none());
    errors.extend(unknown.map(|(key, given)| self::unknown(key, given)));
    errors
}

fn unknown(key: &str, given: &Given) -> OptionError {
    OptionError::UnknownKey {
        place: given.place.clone(),
        key: key.into(),
        nearest: nearest(key, TABLE.iter().map(|row| row.key)).map(str::to_owned),
    }
}

/// Found when the flag is read, before any file is.
pub(super) fn check_override(key: &str) -> Result<(), OptionError> {
    let place = "--override".to_owned();
    let overridable = TABLE.iter().filter(|row| row.overridable);
    match find(key) {
        Some(row) if row.overridable => Ok(()),
        Some(row) => Err(OptionError::NotHere {
            place,
            key: key.into(),
            instead: row.flag.map(str::to_owned),
        }),
        None => Err(OptionError::UnknownKey {
            place,
            key: key.into(),
            nearest: nearest(key, overridable.map(|row| row.key)).map(str::to_owned),
        }),
    }
}
