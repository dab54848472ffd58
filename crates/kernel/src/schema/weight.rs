//! What schemas and values weigh before anything is checked.

use std::collections::BTreeMap;

use serde_json::Value;

use super::reference::{REFERENCES, pointed};

/// How deep schemas may lie in each other, references written out: what checks them has a stack.
const DEPTH_MAX: u32 = 300;
/// How many bytes of a text count as much as another value.
const BYTES_PER_STEP: u64 = 16;
/// Patterns that are heavier are looked at together with the text that they are held against.
const LIGHT_PATTERN: u64 = 4_000;
/// A class of Unicode's characters is a large machine.
const CLASS_WEIGHT: u64 = 20;

/// What is known of a schema by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    /// How many steps one value takes at most; `None` where it goes round in a circle, or depends on more.
    steps: Option<u64>,
    pub(super) patterns: u64,
    /// Whether its parts lie in each other, or refer to each other, deeper than is followed.
    pub(super) is_too_deep: bool,
}

impl Weight {
    pub(super) fn of(schema: &Value) -> Self {
        let mut count = Counting {
            root: schema,
            known: BTreeMap::new(),
            depends: false,
            depth: 0,
        };
        let sum = count.sum(schema);
        let is_too_deep = sum.height > DEPTH_MAX;
        Self {
            steps: (!count.depends && !is_too_deep).then_some(sum.steps),
            patterns: patterns_of(schema),
            is_too_deep,
        }
    }

    pub(super) fn breadth(self) -> Option<u64> {
        self.steps
    }
}

struct Counting<'s> {
    root: &'s Value,
    /// What the targets of references come to; `None` while they are being counted.
    known: BTreeMap<usize, Option<Sum>>,
    depends: bool,
    depth: u32,
}

/// What a part of a schema comes to, references written out.
#[derive(Clone, Copy, Debug)]
struct Sum {
    steps: u64,
    /// How deep its parts lie in each other.
    height: u32,
}

impl Sum {
    const ONE: Self = Self {
        steps: 1,
        height: 1,
    };

    fn and(self, part: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(part.steps),
            height: self.height.max(part.height.saturating_add(1)),
        }
    }
}

impl<'s> Counting<'s> {
    /// Every part of a schema counts, whether it is a schema or not.
    fn sum(&mut self, part: &'s Value) -> Sum {
        if self.depth >= DEPTH_MAX {
            return Sum {
                steps: 1,
                height: u32::MAX,
            };
        }
        self.depth += 1;
        let sum = match part {
            Value::Object(members) => members.iter().fold(Sum::ONE, |sum, (keyword, value)| {
                sum.and(self.keyword(keyword, value))
            }),
            Value::Array(items) => items
                .iter()
                .fold(Sum::ONE, |sum, item| sum.and(self.sum(item))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Sum::ONE,
        };
        self.depth -= 1;
        sum
    }

    fn keyword(&mut self, keyword: &str, value: &'s Value) -> Sum {
        if keyword.starts_with("unevaluated") {
            self.depends = true;
        }
        let is_heavy = |text: &str| pattern_weight(text) > LIGHT_PATTERN || looks_around(text);
        match (keyword, value) {
            ("$id" | "id" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor", _) => {
                let is_roots = self.root.get(keyword);
                self.depends |= !is_roots.is_some_and(|named| std::ptr::eq(named, value));
                Sum::ONE
            }
            ("pattern", Value::String(text)) => {
                self.depends |= is_heavy(text);
                Sum::ONE
            }
            ("patternProperties", Value::Object(named)) => {
                self.depends |= named.keys().any(|text| is_heavy(text));
                self.sum(value)
            }
            (keyword, Value::String(reference)) if REFERENCES.contains(&keyword) => {
                self.reference(reference)
            }
            _ => self.sum(value),
        }
    }

    fn reference(&mut self, reference: &str) -> Sum {
        let Some(target) = pointed(self.root, reference) else {
            self.depends = true;
            return Sum::ONE;
        };
        let key = std::ptr::from_ref(target) as usize;
        match self.known.get(&key) {
            Some(Some(sum)) => *sum,
            Some(None) => {
                self.depends = true;
                Sum::ONE
            }
            None => {
                self.known.insert(key, None);
                let sum = self.sum(target);
                self.known.insert(key, Some(sum));
                sum
            }
        }
    }
}

/// How much a value is: its parts, and the length of its texts.
pub(super) fn of_value(value: &Value) -> u64 {
    let of_text = |text: &str| text.len() as u64 / BYTES_PER_STEP;
    match value {
        Value::String(text) => 1 + of_text(text),
        Value::Array(items) => items.iter().map(of_value).sum::<u64>() + 1,
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, it)| of_value(it) + of_text(name))
                .sum::<u64>()
                + 1
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// About as many bytes as a value has as text.
pub(super) fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(bytes_of).sum::<usize>() + 2,
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, it)| name.len() + 4 + bytes_of(it))
                .sum::<usize>()
                + 2
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
    }
}

/// What all patterns of a schema weigh together.
fn patterns_of(schema: &Value) -> u64 {
    match schema {
        Value::Object(members) => members.iter().fold(0, |sum: u64, (keyword, value)| {
            let own = match (keyword.as_str(), value) {
                ("pattern", Value::String(text)) => pattern_weight(text),
                ("patternProperties", Value::Object(named)) => named
                    .keys()
                    .fold(0, |sum: u64, text| sum.saturating_add(pattern_weight(text))),
                _ => 0,
            };
            sum.saturating_add(own).saturating_add(patterns_of(value))
        }),
        Value::Array(items) => items
            .iter()
            .fold(0, |sum: u64, item| sum.saturating_add(patterns_of(item))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// How large the machine of a pattern may become: its length times whatever it repeats by number.
pub(super) fn pattern_weight(pattern: &str) -> u64 {
    let mut weight = pattern.len() as u64 + 1;
    for class in ["\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "\\p", "\\P"] {
        let found = pattern.matches(class).count() as u64;
        weight = weight.saturating_add(found.saturating_mul(CLASS_WEIGHT));
    }
    for counted in pattern.split('{').skip(1) {
        let counted = counted.split('}').next().unwrap_or_default();
        let numbers = counted
            .split(',')
            .filter_map(|text| text.trim().parse().ok());
        weight = weight.saturating_mul(numbers.max().unwrap_or(1_u64).max(1));
    }
    weight
}

/// Whether a pattern is one that may go back over its text.
pub(super) fn looks_around(pattern: &str) -> bool {
    let mut after_backslash = pattern.split('\\').skip(1);
    ["(?=", "(?!", "(?<", "(?>"]
        .iter()
        .any(|it| pattern.contains(it))
        || after_backslash.any(|text| text.starts_with(|c: char| c.is_ascii_digit() || c == 'k'))
}
