//! JSON Schemas that check values within a bound of steps.
//!
//! A schema may be a stranger's: a client's, a server's, a cloned repository's. The validator that does the work knows
//! no bound, and what it does to tell of an error grows with every branch of `anyOf` at every level of the value. So
//! the work is counted before it is begun. The count depends on nothing but schema and value: the same call is refused
//! on every machine, and in every replay.

mod cost;
mod evaluate;
mod glance;
mod reference;
mod weight;

use std::sync::OnceLock;

use bonded_schema::{Draft, Mismatch, Validator};
use serde_json::Value;

use crate::plain_schema::is_plain;
use cost::{Cost, Walk};
use weight::Weight;

/// A schema is sent to a model with every request, so it is no book.
const BYTES_MAX: usize = 512 * 1024;
/// How much all patterns of a schema may weigh: each is a machine that takes memory.
const PATTERNS_MAX: u64 = 200_000;
/// How many steps a check may take.
const STEPS_MAX: u64 = 4_000_000;
/// How many steps it may take to tell what is wrong; each may make an error that is kept until the last.
const ERROR_STEPS_MAX: u64 = 100_000;
/// Up to here it is not worth the while to look closer.
const SMALL: u64 = 20_000;
/// How often a pattern that looks around or back may go wrong before it is given up.
const BACKTRACKS_MAX: usize = 100_000;

/// Where a value does not fit, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// A JSON pointer; empty for the value as a whole.
    pub place: String,
    /// The reason does not repeat the value: it may be long, and whoever wrote it has it.
    pub why: String,
}

/// A schema that is ready to check.
pub struct Schema {
    source: Value,
    /// Whether it is a schema was seen without the validator.
    is_plain: bool,
    /// Where the schema is plain, set up for the first value that is not seen to fit; else from the beginning.
    validator: OnceLock<Validator>,
    /// How many steps one value takes at most, where that does not depend on the value.
    breadth: Option<u64>,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Schema({:?})", self.breadth)
    }
}

impl Schema {
    /// Prepares a schema that somebody gives; the error says why it cannot be used.
    pub fn new(schema: &Value) -> Result<Self, String> {
        check_size(schema)?;
        Self::compile(schema)
    }

    /// Prepares a schema that somebody wrote for values of others: it must be one by the schema of schemas, too.
    pub fn checked(schema: &Value) -> Result<Self, String> {
        check_size(schema)?;
        bonded_schema::check_schema(schema)?;
        Self::compile(schema)
    }

    /// Prepares a schema that a log has recorded: it was looked at when it came in.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let is_plain = is_plain(schema);
        let validator = match is_plain {
            true => OnceLock::new(),
            false => validator(schema, false)?.into(),
        };
        Ok(Self {
            source: schema.clone(),
            is_plain,
            validator,
            breadth: Weight::of(schema).breadth(),
        })
    }

    fn validator(&self) -> &Validator {
        let set_up = || validator(&self.source, true).expect("what is plain is a schema");
        self.validator.get_or_init(set_up)
    }

    /// Whether a value is seen to fit without the validator.
    fn surely_fits(&self, value: &Value) -> bool {
        self.is_plain && glance::fits(&self.source, value)
    }

    /// Checks a value.
    pub fn check(&self, value: &Value) -> Result<(), Misfit> {
        self.check_within(self.most_steps(value), value)
    }

    /// Checks a value that was read from a text of so many bytes: it has no more parts than those, and nobody has to
    /// count them.
    pub(crate) fn check_written(&self, bytes: usize, value: &Value) -> Result<(), Misfit> {
        let most = self
            .breadth
            .map(|breadth| breadth.saturating_mul(bytes as u64));
        match most {
            Some(most) if most <= STEPS_MAX => self.check_within(most, value),
            _ => self.check(value),
        }
    }

    /// Checks a value that takes no more than so many steps.
    fn check_within(&self, most: u64, value: &Value) -> Result<(), Misfit> {
        if most <= STEPS_MAX && self.surely_fits(value) {
            return Ok(());
        }
        if most <= SMALL {
            return self.explain(value);
        }
        if most > STEPS_MAX {
            return self.check_slowly(value);
        }
        if self.validator().is_valid(value) {
            return Ok(());
        }
        match self.cost(value) {
            Some(cost) if cost.errors <= ERROR_STEPS_MAX => self.explain(value),
            _ => Err(unexplained()),
        }
    }

    /// Whether a value fits; one that takes too many steps does not.
    pub fn fits(&self, value: &Value) -> bool {
        match self.most_steps(value) <= STEPS_MAX {
            true => self.surely_fits(value) || self.validator().is_valid(value),
            false => self.check_slowly(value).is_ok(),
        }
    }

    /// How many steps a check takes at most, without a close look.
    fn most_steps(&self, value: &Value) -> u64 {
        let breadth = self.breadth.unwrap_or(u64::MAX);
        breadth.saturating_mul(weight::of_value(value))
    }

    /// What a check would take; `None` where even that takes too long to find out.
    fn cost(&self, value: &Value) -> Option<Cost> {
        Walk::of(&self.source).cost(value)
    }

    fn check_slowly(&self, value: &Value) -> Result<(), Misfit> {
        match self.cost(value) {
            Some(cost) if cost.errors <= ERROR_STEPS_MAX => self.explain(value),
            Some(cost) if cost.valid <= STEPS_MAX => match self.validator().is_valid(value) {
                true => Ok(()),
                false => Err(unexplained()),
            },
            // Branches that meet again and again in the same places: each place is looked at once.
            _ => match evaluate::fits(&self.source, value, STEPS_MAX / 4) {
                Some(true) => Ok(()),
                Some(false) => Err(unexplained()),
                None => Err(too_much()),
            },
        }
    }

    fn explain(&self, value: &Value) -> Result<(), Misfit> {
        let explained = self.validator().validate(value);
        explained.map_err(|Mismatch { place, why }| Misfit { place, why })
    }
}

fn validator(schema: &Value, is_plain: bool) -> Result<Validator, String> {
    // What is plain means the same in every draft, and the schema of schemas of this one is the shortest to set up.
    let draft = match is_plain {
        true => Draft::Seven,
        false => Draft::Named,
    };
    Validator::new(schema, draft, BACKTRACKS_MAX)
}

/// Whether a schema is small enough to be taken in; to be asked before anything else is done with one.
pub(crate) fn check_size(schema: &Value) -> Result<(), String> {
    let bytes = weight::bytes_of(schema);
    if bytes > BYTES_MAX {
        return Err(format!(
            "it has about {bytes} bytes, more than the {BYTES_MAX} that a schema may have"
        ));
    }
    let weight = Weight::of(schema);
    if weight.is_too_deep {
        return Err("its parts lie in each other, or refer to each other, too deep".to_owned());
    }
    if weight.patterns > PATTERNS_MAX {
        return Err(
            "its patterns take too much memory: use fewer, or shorter repetitions".to_owned(),
        );
    }
    Ok(())
}

fn unexplained() -> Misfit {
    Misfit {
        place: String::new(),
        why: "it does not fit the schema, whose branches are too many to say where".into(),
    }
}

fn too_much() -> Misfit {
    Misfit {
        place: String::new(),
        why: format!(
            "checking it against the schema would take more than {STEPS_MAX} steps: make it smaller, or give the \
             schema fewer branches"
        ),
    }
}

#[cfg(test)]
mod tests;
