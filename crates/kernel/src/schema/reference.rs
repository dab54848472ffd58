//! Where references lead.

use serde_json::Value;

pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Where a reference leads that is a pointer from the root, if there is something.
pub(super) fn pointed<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    match pointer {
        "" => Some(root),
        pointer if pointer.starts_with('/') => root.pointer(&decoded(pointer)),
        _ => None,
    }
}

/// Everything that a reference may mean, and perhaps more: identifiers are not resolved, every part that has one counts.
pub(super) fn candidates<'s>(root: &'s Value, reference: &str) -> Vec<&'s Value> {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let mut named = vec![root];
    collect(root, &mut named);
    let mut found: Vec<&Value> = match fragment {
        "" => named.clone(),
        pointer if pointer.starts_with('/') => {
            let pointer = decoded(pointer);
            let found = named.iter().filter_map(|part| part.pointer(&pointer));
            found.collect()
        }
        anchor => {
            let names = |part: &&&Value| {
                ["$anchor", "$dynamicAnchor", "$id", "id"]
                    .iter()
                    .any(|key| {
                        let name = part.get(*key).and_then(Value::as_str).unwrap_or_default();
                        name == anchor || name.strip_prefix('#') == Some(anchor)
                    })
            };
            named.iter().filter(names).copied().collect()
        }
    };
    if document.is_empty() && fragment.is_empty() && !has_names(&named) {
        found.truncate(1);
    }
    found
}

/// Whether there is a part with a name besides the root.
fn has_names(named: &[&Value]) -> bool {
    named.len() > 1
}

/// All parts that have a name of their own.
fn collect<'s>(part: &'s Value, named: &mut Vec<&'s Value>) {
    match part {
        Value::Object(members) => {
            let keys = ["$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];
            let is_root = named.first().is_some_and(|root| std::ptr::eq(*root, part));
            if !is_root && keys.iter().any(|key| members.contains_key(*key)) {
                named.push(part);
            }
            members.values().for_each(|it| collect(it, named));
        }
        Value::Array(items) => items.iter().for_each(|it| collect(it, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A pointer in a reference is written as a part of an address.
fn decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
