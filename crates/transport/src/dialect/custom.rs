//! What stands in a body because the configuration says so.

use bonded_kernel::Target;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::members::Members;
use crate::models::accepted_by;

/// Adds the fields that a target's configuration names to a body, objects within objects. What the dialect wrote itself
/// stays as it is.
pub(super) fn add(target: &Target, body: &mut Vec<u8>) {
    let refused = &accepted_by(target).refused_custom;
    let mut wanted = target.custom.clone();
    wanted.retain(|name, _| !refused.contains(name));
    if wanted.is_empty() {
        return;
    }
    let mut members: Members<'_> =
        serde_json::from_slice(body).expect("every dialect writes an object");
    let mut within: Vec<(usize, Box<RawValue>)> = vec![];
    for (at, (name, written)) in members.0.iter().enumerate() {
        if let Some(custom) = wanted.remove(name) {
            within.extend(merged(written, custom).map(|merged| (at, merged)));
        }
    }
    for (at, merged) in &within {
        members.0[*at].1 = merged;
    }
    let new: Vec<(String, Box<RawValue>)> = wanted
        .into_iter()
        .map(|(name, value)| (name, raw(&value)))
        .collect();
    let new = new.iter().map(|(name, value)| (name.clone(), &**value));
    members.0.extend(new);
    *body = serde_json::to_vec(&members).expect("every key is a string");
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).expect("a value is JSON")
}

/// A field that was written with what is wanted besides; `None` where not both are objects.
fn merged(written: &RawValue, custom: Value) -> Option<Box<RawValue>> {
    let Value::Object(custom) = custom else {
        return None;
    };
    let mut written: Map<String, Value> = serde_json::from_str(written.get()).ok()?;
    merge(&mut written, custom);
    Some(raw(&written.into()))
}

fn merge(written: &mut Map<String, Value>, custom: Map<String, Value>) {
    for (name, value) in custom {
        match (written.get_mut(&name), value) {
            (Some(Value::Object(written)), Value::Object(custom)) => merge(written, custom),
            (Some(_), _) => {}
            (None, value) => {
                written.insert(name, value);
            }
        }
    }
}
