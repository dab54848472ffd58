//! References that point where every service looks for what they mean: into `$defs` at the top.
//!
//! A reference to any other place would also come to nothing when that place is changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::parts::{parts, parts_mut};
use super::steps::Steps;

/// Where definitions stand.
const DEFS: &str = "#/$defs/";

/// Lets all references within a schema point into `$defs`; says whether any had to be changed.
pub(super) fn gather(schema: &mut Value, steps: &mut Steps) -> Result<bool, String> {
    let mut found = vec![];
    references(schema, &mut found);
    if found.iter().all(|it| name_of(it).is_some()) || has_other_ways(schema) {
        return Ok(false);
    }
    let whole = schema.take();
    let mut gathering = Gathering {
        whole: &whole,
        names: BTreeMap::new(),
        taken: BTreeSet::new(),
        numbers: BTreeMap::new(),
        open: vec![],
        steps,
    };
    let mut top = whole.clone();
    if let Some(keywords) = top.as_object_mut() {
        keywords.remove("$defs");
        keywords.remove("definitions");
    }
    gathering.point(&mut top)?;
    let mut defs = Map::new();
    while let Some((name, mut definition)) = gathering.open.pop() {
        gathering.point(&mut definition)?;
        defs.insert(name, definition);
    }
    if let Some(keywords) = top.as_object_mut() {
        keywords.insert("$defs".into(), defs.into());
    }
    *schema = top;
    Ok(true)
}

/// The definition that a gathered reference means.
pub(super) fn definition<'s>(top: &'s Value, reference: &str) -> Option<&'s Value> {
    top.get("$defs")?.get(name_of(reference)?)
}

/// The name in a gathered reference. Those that are made here need no escapes; of others, none is followed that has one.
pub(super) fn name_of(reference: &str) -> Option<&str> {
    let name = reference.strip_prefix(DEFS)?;
    (!name.contains(['/', '~', '%'])).then_some(name)
}

/// All references that point to a place in the schema.
fn references<'s>(schema: &'s Value, found: &mut Vec<&'s str>) {
    found.extend(local(schema));
    for (_, part) in parts(schema) {
        references(part, found);
    }
}

/// The reference of a schema, if it is a pointer into the same document.
fn local(schema: &Value) -> Option<&str> {
    let reference = schema.get("$ref")?.as_str()?;
    (reference == "#" || reference.starts_with("#/")).then_some(reference)
}

/// Whether parts are referred to in other ways than by their places, or places are counted from within: then all
/// references stay what they are.
fn has_other_ways(schema: &Value) -> bool {
    let refers_otherwise = schema.get("$ref").is_some() && local(schema).is_none();
    let names_itself = |part: &Value| ["$id", "id"].iter().any(|it| part.get(it).is_some());
    refers_otherwise
        || ["$dynamicRef", "$recursiveRef"]
            .iter()
            .any(|it| schema.get(it).is_some())
        || parts(schema)
            .iter()
            .any(|(_, part)| names_itself(part) || has_other_ways(part))
}

struct Gathering<'s> {
    whole: &'s Value,
    /// The names of definitions, by where they were.
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// The number that comes next for a name that is taken.
    numbers: BTreeMap<String, u32>,
    /// Definitions whose own references were not looked at yet.
    open: Vec<(String, Value)>,
    /// Each place that is pointed to is copied.
    steps: &'s mut Steps,
}

impl Gathering<'_> {
    /// Lets the references in a part of the schema point to definitions.
    fn point(&mut self, schema: &mut Value) -> Result<(), String> {
        let name = match local(schema) {
            Some(reference) => Some(self.name(reference)?),
            None => None,
        };
        if let (Some(name), Some(reference)) = (name, schema.get_mut("$ref")) {
            *reference = format!("{DEFS}{name}").into();
        }
        for (_, part) in parts_mut(schema) {
            self.point(part)?;
        }
        Ok(())
    }

    /// The name of what a reference means, which is copied where it is met for the first time.
    fn name(&mut self, reference: &str) -> Result<String, String> {
        if let Some(name) = self.names.get(reference) {
            return Ok(name.clone());
        }
        let pointer = unescaped(&reference[1..]);
        let meant = self.whole.pointer(&pointer);
        let meant = meant.ok_or_else(|| format!("its reference {reference:?} leads nowhere"))?;
        let is_short = self.steps.take_all([meant]);
        is_short.map_err(|_| "its references would be too long if written out")?;
        let mut meant = meant.clone();
        if let Some(keywords) = meant.as_object_mut() {
            // All definitions stand at the top; what the whole schema says of itself is said there.
            for keyword in ["$defs", "definitions", "$schema", "$id", "id"] {
                keywords.remove(keyword);
            }
        }
        let name = self.free_name(&pointer);
        self.names.insert(reference.into(), name.clone());
        self.open.push((name.clone(), meant));
        Ok(name)
    }

    /// The last part of the place, in usable characters, and told apart where two are the same.
    fn free_name(&mut self, pointer: &str) -> String {
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let usable = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let mut base: String = last.chars().filter(|c| usable(*c)).take(64).collect();
        if base.is_empty() {
            base.push_str("whole");
        }
        let next = self.numbers.entry(base.clone()).or_insert(1);
        loop {
            let name = match *next {
                1 => base.clone(),
                number => format!("{base}_{number}"),
            };
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A pointer as it stands in an address: some characters are written as their numbers.
fn unescaped(pointer: &str) -> String {
    let mut bytes = vec![];
    let mut rest = pointer.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let number = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let number = number.and_then(|two| u8::from_str_radix(two, 16).ok());
        match number.filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| pointer.to_owned())
}
