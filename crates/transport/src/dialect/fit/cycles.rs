//! Definitions that lead back to themselves.
//!
//! A service that writes references out can stop only at a property that may be absent. So a property in such a circle
//! is no longer demanded; the kernel still demands it. Where there is no property to let go, anything may stand.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::parts::{parts, parts_mut};
use super::refs::name_of;

/// Which definitions each definition needs, whatever is left out.
type Needs = BTreeMap<String, BTreeSet<String>>;

/// Says whether there was such a circle.
pub(super) fn soften(schema: &mut Value) -> bool {
    let Some(Value::Object(definitions)) = schema.get_mut("$defs") else {
        return false;
    };
    let needs: Needs = definitions
        .iter()
        .map(|(name, definition)| {
            let mut found = BTreeSet::new();
            needed(definition, &mut found);
            (name.clone(), found)
        })
        .collect();
    let circles = circles(&needs);
    let leads_back = |name: &str| circles.contains(name);
    for (name, definition) in definitions.iter_mut() {
        if circles.contains(name) && soften_part(definition, &leads_back) {
            open(definition, &leads_back);
        }
    }
    !circles.is_empty()
}

fn needed(schema: &Value, found: &mut BTreeSet<String>) {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(name_of);
    found.extend(reference.map(Into::into));
    let required = required(schema);
    for (key, part) in properties(schema) {
        if required.contains(key) {
            needed(part, found);
        }
    }
    for (keyword, part) in parts(schema) {
        if always_holds(keyword) {
            needed(part, found);
        }
    }
}

/// What stands under a keyword is written out together with what the keyword stands in.
fn always_holds(keyword: &str) -> bool {
    ["allOf", "anyOf", "items", "oneOf", "prefixItems"].contains(&keyword)
}

fn required(schema: &Value) -> BTreeSet<String> {
    let names = schema.get("required").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(Into::into).collect()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let named = schema.get("properties").and_then(Value::as_object);
    named.into_iter().flatten()
}

/// The definitions that lie in circles, and those between two of them.
fn circles(needs: &Needs) -> BTreeSet<String> {
    let mut needed_by = Needs::new();
    for (name, needed) in needs {
        for other in needed {
            let by = needed_by.entry(other.clone()).or_default();
            by.insert(name.clone());
        }
    }
    let lead_in = without_ends(needs, &needed_by);
    let lead_out = without_ends(&needed_by, needs);
    &lead_in & &lead_out
}

/// The names whose ways go on for ever. Whatever leads only to an end is taken away, one after the other.
fn without_ends(ways: &Needs, back: &Needs) -> BTreeSet<String> {
    let mut left: BTreeMap<&String, usize> =
        ways.iter().map(|(name, to)| (name, to.len())).collect();
    let names = ways.keys().chain(back.keys());
    let mut ends: Vec<&String> = names
        .filter(|name| ways.get(*name).is_none_or(BTreeSet::is_empty))
        .collect();
    ends.sort();
    ends.dedup();
    while let Some(end) = ends.pop() {
        left.remove(end);
        for name in back.get(end).into_iter().flatten() {
            if let Some(ways) = left.get_mut(name) {
                *ways -= 1;
                if *ways == 0 {
                    ends.push(name);
                }
            }
        }
    }
    left.into_keys().cloned().collect()
}

/// Lets go of the innermost demanded property around each reference that leads back; says whether one is left that no
/// property is around.
fn soften_part(schema: &mut Value, leads_back: &dyn Fn(&str) -> bool) -> bool {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(name_of);
    let mut is_hard = reference.is_some_and(leads_back);
    let mut let_go = BTreeSet::new();
    let demanded = required(schema);
    if let Some(Value::Object(named)) = schema.get_mut("properties") {
        for (key, part) in named {
            if demanded.contains(key) && soften_part(part, leads_back) {
                let_go.insert(key.clone());
            }
        }
    }
    if let Some(Value::Array(names)) = schema.get_mut("required").filter(|_| !let_go.is_empty()) {
        names.retain(|name| !name.as_str().is_some_and(|name| let_go.contains(name)));
    }
    for (keyword, part) in parts_mut(schema) {
        if always_holds(keyword) {
            is_hard |= soften_part(part, leads_back);
        }
    }
    is_hard
}

/// Lets anything stand for the references that lead back without a property between.
fn open(schema: &mut Value, leads_back: &dyn Fn(&str) -> bool) {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(name_of);
    if reference.is_some_and(leads_back) {
        *schema = json!({});
        return;
    }
    for (keyword, part) in parts_mut(schema) {
        if always_holds(keyword) {
            open(part, leads_back);
        }
    }
}
