//! Tools made to fit what a service takes.
//!
//! A service refuses a whole request because of one schema that it does not like, and the tools are strangers'. So each
//! is changed as little as its service asks for, and what was changed has a way back: the kernel sees calls with the
//! tool's own name and keys, and judges them by the tool's own schema. Where a schema has to say less than it did, what
//! it no longer says stands in the tool's description.
//!
//! Everything here depends on the catalogue and the dialect alone, so that a restarted process says the same names.

mod batch;
mod cycles;
mod forms;
mod keys;
mod names;
mod parts;
mod refs;
mod rules;
mod shape;
mod steps;
mod top;
mod unread;
mod way;

use std::borrow::Cow;

use bonded_kernel::{Catalog, Dialect, Schema, ToolSpec};
use serde_json::Value;

use keys::Keys;
pub(super) use rules::Rules;
use steps::Steps;
pub(super) use way::Way;

/// Why a tool is not offered to a service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool {name:?} is left out: {why}")]
pub struct Unfit {
    /// As the catalogue has it.
    pub name: String,
    /// As the end of a sentence, for a person.
    pub why: String,
}

/// A tool as a service takes it.
#[derive(Clone, Debug)]
pub struct Fitted<'a> {
    /// In the characters that the dialect takes; a reply names the tool by it.
    pub name: Cow<'a, str>,
    /// As the tool has it, with what its schema can no longer say.
    pub description: Cow<'a, str>,
    /// In the keywords that the service takes.
    pub schema: Cow<'a, Value>,
    keys: Keys,
}

impl Fitted<'_> {
    /// Arguments in the tool's own keys as the service was told of them, or the other way round. `None` where they
    /// stay what they are. Those that cannot be read, which the kernel mends or refuses, stay unreadable.
    pub fn swap_keys(&self, arguments: &str) -> Option<String> {
        self.keys.swap(arguments)
    }
}

/// Makes a tool fit, whatever the others are called.
pub fn fit(spec: &ToolSpec, dialect: Dialect) -> Result<Fitted<'_>, Unfit> {
    fit_within(spec, dialect, &mut Steps::new())
}

/// The order of the steps matters. References are gathered first, because a reference to any other place would
/// come to nothing once that place is changed. Then the top becomes one object, then keys are renamed in it,
/// then every part gets its form, and circles are softened last, when all references stand in `$defs`. What was
/// moved about is compiled once more as a schema.
fn fit_within<'a>(
    spec: &'a ToolSpec,
    dialect: Dialect,
    steps: &mut Steps,
) -> Result<Fitted<'a>, Unfit> {
    let rules = &super::of(dialect).tools;
    let unfit = |why: String| Unfit {
        name: spec.name.clone(),
        why,
    };
    if spec.schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(unfit("its arguments are not an object".into()));
    }
    let too_many = |why: steps::TooMany| unfit(why.into());
    steps.take_all([&spec.schema]).map_err(too_many)?;
    let mut schema = spec.schema.clone();
    let has_new_refs = refs::gather(&mut schema, steps).map_err(unfit)?;
    let mut conditions = top::lift(&mut schema, rules, steps).map_err(too_many)?;
    let keys = if rules.plain_keys {
        keys::rename(&mut schema, conditions.as_mut())
    } else {
        Keys::default()
    };
    let mut done = forms::renew(&mut schema, rules);
    if rules.soft_cycles {
        done.loosened |= cycles::soften(&mut schema);
    }
    if done.loosened {
        forms::relax(&mut schema);
    }
    // What was moved about might not be a schema any more, if it was an odd one.
    if has_new_refs || done.renewed || conditions.is_some() {
        Schema::new(&schema).map_err(|why| {
            unfit(format!(
                "what the service would accept of it is unusable: {why}"
            ))
        })?;
    }
    Ok(Fitted {
        name: names::fitted(&spec.name, rules, |_| false),
        description: top::describe(&spec.description, conditions.as_ref()),
        schema: if schema == spec.schema {
            Cow::Borrowed(&spec.schema)
        } else {
            Cow::Owned(schema)
        },
        keys,
    })
}

/// The tools of a catalogue that a service cannot be told of, and why.
pub fn unfit(catalog: &Catalog, dialect: Dialect) -> Vec<Unfit> {
    let specs = catalog.specs();
    specs.filter_map(|spec| fit(spec, dialect).err()).collect()
}

#[cfg(test)]
mod tests;
