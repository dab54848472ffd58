//! From everything that was said to one plain set of options.

use std::collections::BTreeMap;

use super::kind::{Parsed, parse};
use super::values::{Options, Values};
use super::{Given, OptionError, OptionRow, Source, Sources, TABLE, find};
use crate::config::nearest::nearest;
use crate::config::value_text::found;

/// The options, and for each key the source that won.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    pub options: Options,
    pub sources: BTreeMap<&'static str, Source>,
}

/// Weighs the sources, key by key. Every value is read, also one that loses: a mistake in an agent file
/// does not become right because a flag hides it.
pub fn resolve(sources: &Sources) -> Result<Resolved, OptionError> {
    check_keys(sources)?;
    let mut won = BTreeMap::new();
    for row in TABLE {
        won.insert(row.key, resolve_row(row, sources)?);
    }
    fall_back_on_default_reasoning(&mut won);
    let sources = won
        .iter()
        .map(|(key, (source, _))| (*key, *source))
        .collect();
    Ok(Resolved {
        options: Values::new(won).options(),
        sources,
    })
}

fn resolve_row(row: &OptionRow, sources: &Sources) -> Result<(Source, Parsed), OptionError> {
    let given = [
        (Source::Override, &sources.overrides),
        (Source::CommandLine, &sources.command_line),
        (Source::FrontMatter, &sources.front_matter),
        (Source::Inherited, &sources.inherited),
        (Source::Config, &sources.config),
    ];
    let mut winner = None;
    for (source, values) in given {
        let Some(given) = values.get(row.key) else {
            continue;
        };
        let parsed = parse(row.kind, &given.value, source).map_err(|expected| {
            let key = row.key.into();
            let place = given.place.clone();
            let value = found(&given.value);
            OptionError::BadValue {
                place,
                key,
                value,
                expected,
            }
        })?;
        if parsed != Parsed::Nothing && winner.is_none() {
            winner = Some((source, parsed));
        }
    }
    Ok(winner.unwrap_or_else(|| (Source::BuiltIn, built_in(row))))
}

fn built_in(row: &OptionRow) -> Parsed {
    row.default
        .and_then(|default| parse(row.kind, &default.into(), Source::BuiltIn).ok())
        .unwrap_or(Parsed::Nothing)
}

/// An agent that says nothing about reasoning takes what the run or the configuration gives as default.
fn fall_back_on_default_reasoning(won: &mut BTreeMap<&'static str, (Source, Parsed)>) {
    let unsaid = (Source::BuiltIn, Parsed::Nothing);
    if won.get("reasoning") != Some(&unsaid) {
        return;
    }
    if let Some((source, parsed)) = won.get("defaultReasoning").cloned() {
        let source = match source {
            Source::CommandLine => Source::Inherited,
            source => source,
        };
        won.insert("reasoning", (source, parsed));
    }
}

fn check_keys(sources: &Sources) -> Result<(), OptionError> {
    for key in sources.overrides.keys() {
        check_override(key)?;
    }
    let rest = [
        &sources.command_line,
        &sources.front_matter,
        &sources.inherited,
        &sources.config,
    ];
    for (key, given) in rest.into_iter().flatten() {
        if find(key).is_none() {
            return Err(unknown(key, given));
        }
    }
    Ok(())
}

fn unknown(key: &str, given: &Given) -> OptionError {
    OptionError::UnknownKey {
        place: given.place.clone(),
        key: key.into(),
        nearest: nearest(key, TABLE.iter().map(|row| row.key)).map(str::to_owned),
    }
}

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
