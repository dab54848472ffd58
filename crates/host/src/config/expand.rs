//! `${VARIABLE}` in the strings of a layer.
//!
//! Variables are put in once: what a variable holds is not looked into, so that nobody's value pulls in
//! another variable. `${parameters.NAME}` is left for the call of a request.

use serde_json::Value;

use super::KeyPath;

/// A value with its variables put in.
#[derive(Debug, PartialEq)]
pub(super) struct Expanded {
    pub(super) value: Value,
    /// The variables that were found.
    pub(super) used: Vec<String>,
    /// The variables that were not. They stay in the value as they were written.
    pub(super) missing: Vec<String>,
}

impl Expanded {
    pub(super) fn untouched(value: &Value) -> Self {
        Self {
            value: value.clone(),
            used: Vec::new(),
            missing: Vec::new(),
        }
    }
}

/// What a child process or a server is given as it is written.
///
/// `env` and `headers` of an MCP server: what holds secrets there has keys of its own.
pub(super) fn is_left_alone(path: &KeyPath) -> bool {
    match path.keys() {
        [section, _, field, ..] => {
            section == "mcpServers" && ["env", "headers"].contains(&field.as_str())
        }
        _ => false,
    }
}

/// Puts variables into every string of the value.
pub(super) fn expand(value: &Value, lookup: &dyn Fn(&str) -> Option<String>) -> Expanded {
    let mut done = Expanded::untouched(&Value::Null);
    done.value = expand_value(value, lookup, &mut done);
    done
}

fn expand_value(
    value: &Value,
    lookup: &dyn Fn(&str) -> Option<String>,
    done: &mut Expanded,
) -> Value {
    match value {
        Value::String(text) => Value::String(expand_text(text, lookup, done)),
        Value::Array(items) => items
            .iter()
            .map(|item| expand_value(item, lookup, done))
            .collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), expand_value(value, lookup, done)))
            .collect(),
        other => other.clone(),
    }
}

/// A value is put in as it is, and not looked into again.
fn expand_text(text: &str, lookup: &dyn Fn(&str) -> Option<String>, done: &mut Expanded) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            expanded.push_str("${");
            expanded.push_str(after);
            return expanded;
        };
        rest = after;
        // The parameters of a call are put in when the call is made.
        let is_variable = !name.is_empty() && !name.starts_with("parameters.");
        match is_variable.then(|| lookup(name)) {
            Some(Some(value)) => {
                done.used.push(name.to_owned());
                expanded.push_str(&value);
                continue;
            }
            Some(None) => done.missing.push(name.to_owned()),
            None => {}
        }
        expanded.push_str("${");
        expanded.push_str(name);
        expanded.push('}');
    }
    expanded.push_str(rest);
    expanded
}
