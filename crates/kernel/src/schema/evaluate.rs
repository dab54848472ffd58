//! A check that comes to no pair of schema and value twice: for schemas whose branches meet again and again.
//!
//! It knows the usual keywords. A schema that has others is not for it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::cost::DEPTH_MAX;
use super::reference::pointed;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

const OF_OBJECTS: [&str; 5] = [
    "properties",
    "additionalProperties",
    "required",
    "minProperties",
    "maxProperties",
];
const OF_ARRAYS: [&str; 5] = [
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
];
const OF_TEXTS: [&str; 2] = ["minLength", "maxLength"];
const OF_NUMBERS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

/// Keywords that say nothing about a value.
const SILENT: [&str; 13] = [
    "$defs",
    "definitions",
    "$schema",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "then",
];

/// Whether a value fits; `None` where that takes too many steps or a keyword is not known here.
pub(super) fn fits(root: &Value, value: &Value, steps_max: u64) -> Option<bool> {
    let dialect = root.get("$schema").and_then(Value::as_str);
    if dialect.is_some_and(|named| named.trim_end_matches('#') != DIALECT) {
        return None;
    }
    let mut evaluation = Evaluation {
        root,
        left: steps_max,
        depth: 0,
        known: BTreeMap::new(),
        circles: 0,
    };
    evaluation.at(root, value)
}

struct Evaluation<'s> {
    root: &'s Value,
    left: u64,
    depth: u32,
    /// What came of the targets of references; `None` while they are under way.
    known: BTreeMap<(usize, usize), Option<bool>>,
    /// How often a pair was come to that is still under way.
    circles: u64,
}

impl<'s> Evaluation<'s> {
    fn at(&mut self, schema: &'s Value, value: &Value) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        if self.depth > DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let fits = self.within(schema, value)?;
        self.depth -= 1;
        Some(fits)
    }

    fn within(&mut self, schema: &'s Value, value: &Value) -> Option<bool> {
        match schema {
            Value::Bool(fits) => Some(*fits),
            Value::Object(keywords) => {
                // Whatever does not go deeper comes first: most branches end there.
                for deeper in [false, true] {
                    for (keyword, argument) in keywords {
                        if goes_deeper(keyword) == deeper
                            && !self.keyword(keyword, argument, keywords, value)?
                        {
                            return Some(false);
                        }
                    }
                }
                Some(true)
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        }
    }

    fn keyword(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        beside: &'s Map<String, Value>,
        value: &Value,
    ) -> Option<bool> {
        match (keyword, argument) {
            ("$ref", Value::String(reference)) => self.reference(reference, value),
            ("allOf", Value::Array(all)) => {
                for schema in all {
                    if !self.at(schema, value)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            ("anyOf", Value::Array(all)) => Some(self.fitting(all, value, 1)? == 1),
            ("oneOf", Value::Array(all)) => Some(self.fitting(all, value, 2)? == 1),
            ("not", schema) => Some(!self.at(schema, value)?),
            ("if", schema) => {
                let branch = match self.at(schema, value)? {
                    true => "then",
                    false => "else",
                };
                match beside.get(branch) {
                    Some(schema) => self.at(schema, value),
                    None => Some(true),
                }
            }
            ("else", _) => Some(true),
            (keyword, _) if SILENT.contains(&keyword) => Some(true),
            ("type", argument) => is_of_type(argument, value),
            ("const", argument) => Some(equal(argument, value)),
            ("enum", Value::Array(all)) => Some(all.iter().any(|one| equal(one, value))),
            _ => match value {
                Value::Object(members) if OF_OBJECTS.contains(&keyword) => {
                    self.members(keyword, argument, beside, members)
                }
                Value::Array(items) if OF_ARRAYS.contains(&keyword) => {
                    self.items(keyword, argument, beside, items)
                }
                Value::String(text) if OF_TEXTS.contains(&keyword) => {
                    let (count, bound) = (text.chars().count() as u64, argument.as_u64()?);
                    Some(if keyword == "minLength" {
                        count >= bound
                    } else {
                        count <= bound
                    })
                }
                Value::Number(number) if OF_NUMBERS.contains(&keyword) => {
                    Some(is_within(keyword, compare(number, argument)?))
                }
                // A keyword for another kind of value says nothing about this one.
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_) => [&OF_OBJECTS[..], &OF_ARRAYS, &OF_TEXTS, &OF_NUMBERS]
                    .iter()
                    .any(|known| known.contains(&keyword))
                    .then_some(true),
            },
        }
    }

    /// How many of the schemas fit; it is not counted beyond `enough`.
    fn fitting(&mut self, all: &'s [Value], value: &Value, enough: usize) -> Option<usize> {
        let mut found = 0;
        for schema in all {
            found += usize::from(self.at(schema, value)?);
            if found == enough {
                break;
            }
        }
        Some(found)
    }

    fn members(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        beside: &'s Map<String, Value>,
        members: &Map<String, Value>,
    ) -> Option<bool> {
        let applied: Vec<(&'s Value, &Value)> = match (keyword, argument) {
            ("properties", Value::Object(named)) => named
                .iter()
                .filter_map(|(name, schema)| Some((schema, members.get(name)?)))
                .collect(),
            ("additionalProperties", schema) if !beside.contains_key("patternProperties") => {
                let named = beside.get("properties").and_then(Value::as_object);
                let is_free = |name: &str| named.is_none_or(|named| !named.contains_key(name));
                let free = members.iter().filter(|(name, _)| is_free(name));
                free.map(|(_, value)| (schema, value)).collect()
            }
            ("required", Value::Array(names)) => {
                let has = |name: &Value| name.as_str().is_some_and(|it| members.contains_key(it));
                return Some(names.iter().all(has));
            }
            ("minProperties", bound) => return Some(members.len() as u64 >= bound.as_u64()?),
            ("maxProperties", bound) => return Some(members.len() as u64 <= bound.as_u64()?),
            _ => return None,
        };
        self.all(applied)
    }

    fn items(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        beside: &'s Map<String, Value>,
        items: &[Value],
    ) -> Option<bool> {
        let applied: Vec<(&'s Value, &Value)> = match (keyword, argument) {
            ("prefixItems", Value::Array(schemas)) => schemas.iter().zip(items).collect(),
            ("items", schema) if !schema.is_array() => {
                let before = beside.get("prefixItems").and_then(Value::as_array);
                let rest = items.iter().skip(before.map_or(0, Vec::len));
                rest.map(|value| (schema, value)).collect()
            }
            ("minItems", bound) => return Some(items.len() as u64 >= bound.as_u64()?),
            ("maxItems", bound) => return Some(items.len() as u64 <= bound.as_u64()?),
            ("uniqueItems", Value::Bool(false)) => return Some(true),
            _ => return None,
        };
        self.all(applied)
    }

    fn all(&mut self, applied: Vec<(&'s Value, &Value)>) -> Option<bool> {
        for (schema, value) in applied {
            if !self.at(schema, value)? {
                return Some(false);
            }
        }
        Some(true)
    }

    fn reference(&mut self, reference: &str, value: &Value) -> Option<bool> {
        let target = pointed(self.root, reference)?;
        let pair = (
            std::ptr::from_ref(target) as usize,
            std::ptr::from_ref(value) as usize,
        );
        match self.known.get(&pair) {
            Some(Some(fits)) => return Some(*fits),
            // A circle says nothing about the value.
            Some(None) => {
                self.circles += 1;
                return Some(true);
            }
            None => {}
        }
        let before = self.circles;
        self.known.insert(pair, None);
        let fits = self.at(target, value)?;
        match self.circles == before {
            true => self.known.insert(pair, Some(fits)),
            // It may come out otherwise where no circle cuts it short.
            false => self.known.remove(&pair),
        };
        Some(fits)
    }
}

/// Whether a keyword has schemas for other values, or for this one once more.
fn goes_deeper(keyword: &str) -> bool {
    matches!(
        keyword,
        "$ref"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "if"
            | "items"
            | "prefixItems"
            | "additionalProperties"
    )
}

fn is_of_type(argument: &Value, value: &Value) -> Option<bool> {
    let is = |name: &Value| {
        Some(match name.as_str()? {
            "array" => value.is_array(),
            "boolean" => value.is_boolean(),
            "integer" => value.as_number().is_some_and(is_whole),
            "null" => value.is_null(),
            "number" => value.is_number(),
            "object" => value.is_object(),
            "string" => value.is_string(),
            _ => return None,
        })
    };
    match argument.as_array() {
        Some(names) => {
            let found: Option<Vec<bool>> = names.iter().map(is).collect();
            Some(found?.contains(&true))
        }
        None => is(argument),
    }
}

fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|it| it.fract() == 0.0)
}

/// Equal values, where numbers are equal however they are written.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(number), other @ Value::Number(_)) => {
            compare(number, other) == Some(Ordering::Equal)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, value): (&String, &Value)| {
                other.get(name).is_some_and(|other| equal(value, other))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}

fn compare(number: &Number, bound: &Value) -> Option<Ordering> {
    let bound = bound.as_number()?;
    match (number.as_i128(), bound.as_i128()) {
        (Some(number), Some(bound)) => Some(number.cmp(&bound)),
        _ => number.as_f64()?.partial_cmp(&bound.as_f64()?),
    }
}

fn is_within(keyword: &str, compared: Ordering) -> bool {
    match keyword {
        "minimum" => compared.is_ge(),
        "maximum" => compared.is_le(),
        "exclusiveMinimum" => compared.is_gt(),
        _ => compared.is_lt(),
    }
}
