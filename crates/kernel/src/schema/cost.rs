//! How many steps a check of one value takes at most, found out without checking it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::reference::{REFERENCES, candidates, pointed};
use super::weight::{looks_around, of_value, pattern_weight};

/// How many pairs of schema and value are looked at.
const PAIRS_MAX: u32 = 400_000;
/// How deep the pairs may lie in each other: whoever goes after them has a stack.
pub(super) const DEPTH_MAX: u32 = 400;
/// What a pattern that may go back over its text is taken for.
const LOOKING_AROUND: u64 = 4_000;
/// What the schema of schemas takes for each part of a value, where a reference leads there.
const ELSEWHERE: u64 = 100;

/// Stands for the name of a member.
static NAME: Value = Value::String(String::new());

/// What a check takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// To find out whether the value fits.
    pub(super) valid: u64,
    /// To tell what is wrong with it: before each branching it is asked whether the value fits.
    pub(super) errors: u64,
}

impl Cost {
    const NONE: Self = Self::steps(0);
    const ONE: Self = Self::steps(1);

    const fn steps(count: u64) -> Self {
        Self {
            valid: count,
            errors: count,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            valid: self.valid.saturating_add(other.valid),
            errors: self.errors.saturating_add(other.errors),
        }
    }

    fn times(self, count: u64) -> Self {
        Self {
            valid: self.valid.saturating_mul(count),
            errors: self.errors.saturating_mul(count),
        }
    }

    fn branching(self) -> Self {
        Self {
            errors: self.errors.saturating_add(self.valid),
            ..self
        }
    }
}

/// A schema and a part of a value, by where they are.
type Pair = (usize, usize);

/// A look at every pair of schema and value that a check would come to.
pub(super) struct Walk<'s> {
    root: &'s Value,
    pairs: u32,
    known: BTreeMap<Pair, Cost>,
    /// The pairs under way, each with how deep it lies among them.
    open: BTreeMap<Pair, usize>,
    /// The least deep of those that were come to again.
    met: usize,
    depth: u32,
    #[cfg(test)]
    circles: u32,
}

impl<'s> Walk<'s> {
    pub(super) fn of(root: &'s Value) -> Self {
        Self {
            root,
            pairs: 0,
            known: BTreeMap::new(),
            open: BTreeMap::new(),
            met: usize::MAX,
            depth: 0,
            #[cfg(test)]
            circles: 0,
        }
    }

    /// The cost of a value; `None` where there are too many pairs.
    pub(super) fn cost(mut self, value: &Value) -> Option<Cost> {
        self.at(self.root, value)
    }

    #[cfg(test)]
    pub(super) fn at_root(&mut self, value: &Value) {
        let _cost = self.at(self.root, value);
    }

    #[cfg(test)]
    pub(super) fn has_circle(&self) -> bool {
        self.circles > 0
    }

    fn at(&mut self, schema: &'s Value, value: &Value) -> Option<Cost> {
        self.pairs += 1;
        if self.pairs > PAIRS_MAX || self.depth > DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let cost = self.within(schema, value)?;
        self.depth -= 1;
        Some(cost)
    }

    fn within(&mut self, schema: &'s Value, value: &Value) -> Option<Cost> {
        let Value::Object(keywords) = schema else {
            return Some(Cost::ONE);
        };
        let (mut here, mut below) = (Cost::ONE, Cost::NONE);
        let mut repeats = 1;
        for (keyword, argument) in keywords {
            if let Some(cost) = self.in_place(keyword, argument, value)? {
                here = here.and(cost);
            } else {
                let cost = match value {
                    Value::Object(members) => self.members(keyword, argument, keywords, members)?,
                    Value::Array(items) => self.items(keyword, argument, keywords, items)?,
                    Value::String(text) => of_text(keyword, argument, text),
                    Value::Null | Value::Bool(_) | Value::Number(_) => Cost::NONE,
                };
                below = below.and(cost);
            }
            if keyword.starts_with("unevaluated") {
                // What was evaluated is found out by going through the branches again.
                repeats = 3;
            }
        }
        Some(here.times(repeats).and(below))
    }

    /// Keywords that apply schemas to the same value.
    fn in_place(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        value: &Value,
    ) -> Option<Option<Cost>> {
        let cost = match (keyword, argument) {
            (keyword, Value::String(reference)) if REFERENCES.contains(&keyword) => {
                self.reference(reference, value)?
            }
            ("allOf", Value::Array(all)) => self.each(all.iter(), value)?,
            ("anyOf" | "oneOf", Value::Array(all)) => self.each(all.iter(), value)?.branching(),
            ("not" | "if" | "then" | "else", schema) => self.at(schema, value)?.branching(),
            ("dependentSchemas" | "dependencies", Value::Object(named)) => {
                self.each(named.values(), value)?
            }
            ("enum", Value::Array(all)) => Cost::steps(all.len() as u64),
            _ => return Some(None),
        };
        Some(Some(cost))
    }

    fn each<'v>(
        &mut self,
        schemas: impl Iterator<Item = &'s Value>,
        value: &'v Value,
    ) -> Option<Cost> {
        let mut sum = Cost::NONE;
        for schema in schemas {
            sum = sum.and(self.at(schema, value)?);
        }
        Some(sum)
    }

    fn members(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        beside: &'s Map<String, Value>,
        members: &Map<String, Value>,
    ) -> Option<Cost> {
        let mut sum = Cost::NONE;
        match (keyword, argument) {
            ("properties", Value::Object(named)) => {
                for (name, schema) in named {
                    if let Some(value) = members.get(name) {
                        sum = sum.and(self.at(schema, value)?);
                    }
                }
            }
            ("patternProperties", Value::Object(named)) => {
                for (pattern, schema) in named {
                    for (name, value) in members {
                        sum = sum
                            .and(of_pattern(pattern, name))
                            .and(self.at(schema, value)?);
                    }
                }
            }
            ("additionalProperties" | "unevaluatedProperties", schema) => {
                let named = beside.get("properties").and_then(Value::as_object);
                for (name, value) in members {
                    if named.is_none_or(|named| !named.contains_key(name)) {
                        sum = sum.and(self.at(schema, value)?);
                    }
                }
            }
            ("propertyNames", schema) => {
                let one = self.at(schema, &NAME)?;
                sum = members.keys().fold(sum, |sum, name| {
                    sum.and(one).and(of_pattern(text_of(schema), name))
                });
            }
            _ => {}
        }
        Some(sum)
    }

    fn items(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        beside: &'s Map<String, Value>,
        items: &[Value],
    ) -> Option<Cost> {
        let mut sum = Cost::NONE;
        match (keyword, argument) {
            ("items" | "prefixItems", Value::Array(schemas)) => {
                for (schema, value) in schemas.iter().zip(items) {
                    sum = sum.and(self.at(schema, value)?);
                }
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", schema) => {
                let before = beside.get("prefixItems").and_then(Value::as_array);
                let skipped = match keyword {
                    "items" => before.map_or(0, Vec::len),
                    _ => 0,
                };
                for value in items.iter().skip(skipped) {
                    sum = sum.and(self.at(schema, value)?);
                }
            }
            ("uniqueItems", Value::Bool(true)) => {
                let all = items.iter().map(of_value).sum::<u64>();
                sum = Cost::steps(all.saturating_mul(4));
            }
            _ => {}
        }
        Some(sum)
    }

    /// A pair is counted once; how often it is come to is counted by those who come.
    fn reference(&mut self, reference: &str, value: &Value) -> Option<Cost> {
        if let Some(target) = pointed(self.root, reference) {
            return self.target(target, value);
        }
        let targets = candidates(self.root, reference);
        if targets.is_empty() {
            return Some(Cost::steps(of_value(value).saturating_mul(ELSEWHERE)));
        }
        let mut sum = Cost::NONE;
        for target in targets {
            sum = sum.and(self.target(target, value)?);
        }
        Some(sum)
    }

    fn target(&mut self, target: &'s Value, value: &Value) -> Option<Cost> {
        let pair = (
            std::ptr::from_ref(target) as usize,
            std::ptr::from_ref(value) as usize,
        );
        if let Some(cost) = self.known.get(&pair) {
            return Some(*cost);
        }
        if let Some(depth) = self.open.get(&pair) {
            // The validator goes round no circle twice.
            self.met = self.met.min(*depth);
            #[cfg(test)]
            {
                self.circles += 1;
            }
            return Some(Cost::ONE);
        }
        let depth = self.open.len();
        let met_before = std::mem::replace(&mut self.met, usize::MAX);
        self.open.insert(pair, depth);
        let cost = self.at(target, value)?;
        self.open.remove(&pair);
        // What was cut short by a pair that is still under way may take longer when that is not.
        if self.met >= depth {
            self.known.insert(pair, cost);
            self.met = usize::MAX;
        }
        self.met = self.met.min(met_before);
        Some(cost)
    }
}

fn text_of(schema: &Value) -> &str {
    let pattern = schema.get("pattern").and_then(Value::as_str);
    pattern.unwrap_or_default()
}

fn of_text(keyword: &str, argument: &Value, text: &str) -> Cost {
    match (keyword, argument) {
        ("pattern", Value::String(pattern)) => of_pattern(pattern, text),
        ("format" | "contentMediaType", _) => Cost::steps(1 + text.len() as u64 / 4),
        _ => Cost::NONE,
    }
}

fn of_pattern(pattern: &str, text: &str) -> Cost {
    let looking = match looks_around(pattern) {
        true => LOOKING_AROUND,
        false => 0,
    };
    let matching = (text.len() as u64).saturating_mul(pattern_weight(pattern)) / 256;
    Cost::steps(matching.saturating_add(looking).saturating_add(1))
}
