//! What stands in a body because the configuration says so.
//!
//! A person may set any field of a request that this program does not know. What the program writes itself
//! cannot be overruled so: a field that decides about guarantees, such as the limit of a reply, would otherwise
//! mean something else than the log says. `overruled` names the fields that would have no effect, so that a
//! configuration can be refused or warned about in time.

use bonded_kernel::{Catalog, FoundTools, Message, Offer, Request, Target, ToolEffect, ToolSpec};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::accepted_by;
use super::members::Members;

/// Room for thoughts beside a reply.
///
/// Large enough that a budget for thoughts fits beside the reply, so that the sample holds that field as well.
const OUTPUT_TOKENS: u32 = 32_768;

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

/// The fields that a target's configuration names and that its requests say otherwise themselves, as paths: because they
/// always do, or because another setting asks for it. Those of the configuration are not sent.
pub fn overruled(target: &Target) -> Vec<String> {
    if target.custom.is_empty() {
        return vec![];
    }
    let plain = Target {
        custom: Map::new(),
        ..target.clone()
    };
    let mut found = vec![];
    if let Value::Object(written) = sample(&plain) {
        collide("", &written, &target.custom, &mut found);
    }
    found
}

/// A request to a target with everything that one can have.
fn sample(target: &Target) -> Value {
    let tool = ToolSpec {
        name: "sample".into(),
        description: String::new(),
        schema: json!({ "type": "object" }),
        effect: ToolEffect::Read,
        sandbox: None,
        resource: None,
        deferred: false,
    };
    let messages = [Message::user("sample")];
    let request = Request {
        target,
        system: "sample",
        messages: &messages,
        notices: vec![],
        catalog: &Catalog::new([tool]).expect("one tool of a good name and schema is a catalogue"),
        offer: Offer::All,
        found: FoundTools::NONE,
        output_tokens_max: OUTPUT_TOKENS,
        temperature: target.sampling.temperature,
        turn: 1,
        attempt: 1,
        ordinal: 0,
    };
    serde_json::from_slice(&super::encode(&request)).expect("every dialect writes JSON")
}

/// Objects are compared member by member. A field of the configuration that says what the request says anyway
/// does not collide.
fn collide(
    above: &str,
    written: &Map<String, Value>,
    custom: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    for (name, wanted) in custom {
        let path = format!("{above}{name}");
        match (written.get(name), wanted) {
            (Some(Value::Object(written)), Value::Object(wanted)) => {
                collide(&format!("{path}."), written, wanted, found);
            }
            (Some(written), wanted) if written != wanted => found.push(path),
            _ => {}
        }
    }
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

/// What was written stays, and only what is missing is added, at every depth.
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
