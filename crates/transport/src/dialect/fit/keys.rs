//! Keys of arguments that a service does not take, and the others in their place.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::names::fitted_key;
use super::unread;
use crate::dialect::members::Members;

/// What speaks of keys at the top in a way that would have to be changed with them. It is left to the kernel.
const SPEAKING: [&str; 12] = [
    "const",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "if",
    "not",
    "patternProperties",
    "propertyNames",
    "then",
    "unevaluatedProperties",
];

/// Keys that change places: whoever had one gets the other. So each way is the way back as well, also for a key that
/// nobody declared and that is called like one that was made.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys(BTreeMap<String, String>);

impl Keys {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Arguments with their keys changed; `None` where none of them is. Those that the kernel has to mend first are
    /// mended there: only their keys are changed here.
    pub(super) fn swap(&self, arguments: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let Ok(mut members) = serde_json::from_str::<Members<'_>>(arguments) else {
            return unread::swap(arguments, &|key| self.0.get(key).cloned());
        };
        let mut any = false;
        for (key, _) in &mut members.0 {
            if let Some(other) = self.0.get(key) {
                key.clone_from(other);
                any = true;
            }
        }
        any.then(|| serde_json::to_string(&members).expect("every key is a string"))
    }

    /// In a list of names, such as `required`.
    fn swap_in(&self, names: &mut Value) {
        for name in names.as_array_mut().into_iter().flatten() {
            if let Some(other) = name.as_str().and_then(|name| self.0.get(name)) {
                *name = other.as_str().into();
            }
        }
    }
}

/// Gives the properties at the top keys that are taken, also in the conditions that were lifted from there.
pub(super) fn rename(schema: &mut Value, conditions: Option<&mut Value>) -> Keys {
    let keys = made_for(schema);
    let Some(top) = schema.as_object_mut().filter(|_| !keys.is_empty()) else {
        return keys;
    };
    if top.contains_key("patternProperties") {
        // It would hold for the keys that fit the patterns, which are no longer there.
        top.remove("additionalProperties");
    }
    top.retain(|keyword, _| !SPEAKING.contains(&keyword.as_str()));
    rename_in(schema, &keys);
    if let Some(conditions) = conditions {
        rename_in(conditions, &keys);
    }
    keys
}

/// Made names avoid those of all properties, of everything that is required, and of each other.
fn made_for(schema: &Value) -> Keys {
    let mut keys = BTreeMap::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let required: BTreeSet<&str> = required.collect();
    for key in properties.into_iter().flatten().map(|(key, _)| key) {
        let is_taken = |made: &str| {
            properties.is_some_and(|all| all.contains_key(made))
                || required.contains(made)
                || keys.contains_key(made)
        };
        if let Some(made) = fitted_key(key, is_taken) {
            keys.insert(key.clone(), made.clone());
            keys.insert(made, key.clone());
        }
    }
    Keys(keys)
}

/// Renames what a schema says of the arguments' own keys.
fn rename_in(schema: &mut Value, keys: &Keys) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
        let renamed = std::mem::take(properties).into_iter().map(|(key, part)| {
            let other = keys.0.get(&key).cloned();
            (other.unwrap_or(key), part)
        });
        *properties = Map::from_iter(renamed);
    }
    if let Some(required) = keywords.get_mut("required") {
        keys.swap_in(required);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let list = keywords.get_mut(keyword).and_then(Value::as_array_mut);
        for part in list.into_iter().flatten() {
            rename_in(part, keys);
        }
    }
}
