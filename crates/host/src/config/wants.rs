//! What a layer would do that nobody trusts, in lines for a person: what it starts, whom it sends something to, what
//! it loosens.
//!
//! The lines are what a person decides on, so they show the command or address as it would be used. The
//! person's own variables are named and not put in: a question must not show their values.

use std::collections::BTreeSet;

use serde_json::Value;

use super::KeyPath;
use super::expand::expand;
use super::layer::Layer;
use crate::trust::Wants;

/// The lines for what was left out of a layer.
pub(super) fn wants(layer: &Layer, more: &[KeyPath]) -> Wants {
    let mut teller = WantsWriter {
        layer,
        wants: Wants::default(),
    };
    let mut shown = BTreeSet::new();
    for path in more {
        let [section, name, ..] = path.keys() else {
            continue;
        };
        let is_new = shown.insert((section.clone(), name.clone()));
        let entry = layer.value.get(section).and_then(|it| it.get(name));
        match (section.as_str(), entry) {
            ("mcpServers" | "providers" | "restTools" | "openapiSpecs", Some(entry)) if is_new => {
                teller.entry(section, name, entry);
            }
            ("mcpServers" | "providers" | "restTools" | "openapiSpecs", _) => {}
            _ => teller.loosened(path),
        }
    }
    teller.wants
}

/// An entry is told as a whole, once, however many of its fields were left out.
struct WantsWriter<'l> {
    layer: &'l Layer,
    wants: Wants,
}

impl WantsWriter<'_> {
    fn loosened(&mut self, path: &KeyPath) {
        let value = path
            .keys()
            .iter()
            .try_fold(&self.layer.value, |value, key| value.get(key));
        let value = value.map(|it| self.shown(it)).unwrap_or_default();
        self.wants.loosens.push(format!("{path}: {value}"));
    }

    /// A server that is started is the gravest, then whoever is sent something; an entry that does
    /// neither loosens.
    fn entry(&mut self, section: &str, name: &str, entry: &Value) {
        let what = match section {
            "mcpServers" => format!("the MCP server {name}"),
            "providers" => format!("the provider {name}"),
            "restTools" => format!("the tool {name}"),
            _ => format!("the tools of {name}"),
        };
        let to = self.address(entry);
        match (section, &to) {
            ("mcpServers", Some(to)) if entry.get("command").is_some() => {
                let line = format!("{to}, as {what}{}", self.freedom(entry));
                self.wants.starts.push(line);
            }
            ("providers", Some(to)) => {
                let line = format!("goals and what agents read to {to}, as {what}");
                self.wants.sends.push(line);
            }
            (_, Some(to)) => {
                let line = format!("what agents ask of {what} to {to}");
                self.wants.sends.push(line);
            }
            (_, None) => {
                let path = KeyPath::root().child(section).child(name);
                self.loosened(&path);
            }
        }
        let to = to.unwrap_or_else(|| format!("where {what} is"));
        let mut secrets = vec![];
        secrets_in(entry, "", &mut secrets);
        for (place, value) in secrets {
            for variable in variables(value) {
                let line = match self.layer.variables.get(&variable) {
                    Some(_) => format!("{variable} of its own env file ({place}) to {to}"),
                    None => format!("your variable {variable} ({place}) to {to}"),
                };
                self.wants.sends.push(line);
            }
            if place.ends_with("tokenFile") {
                let file = self.shown(value);
                let line = format!("the content of the file {file} ({place}) to {to}");
                self.wants.sends.push(line);
            }
        }
    }

    /// The command or the address of an entry.
    fn address(&self, entry: &Value) -> Option<String> {
        if let Some(command) = entry.get("command").filter(|it| !it.is_null()) {
            let args = entry.get("args").filter(|it| !it.is_null());
            let words = [Some(command), args].into_iter().flatten();
            let words: Vec<String> = words
                .flat_map(|word| match word {
                    Value::Array(parts) => parts.iter().map(|it| self.shown(it)).collect(),
                    word => vec![self.shown(word)],
                })
                .collect();
            return Some(format!("`{}`", words.join(" ")));
        }
        let places = ["url", "baseUrl", "spec"].into_iter();
        let mut addresses = places.filter_map(|key| entry.get(key).filter(|it| it.is_string()));
        addresses.next().map(|it| self.shown(it))
    }

    /// How a server would be freer than a command of the agent.
    fn freedom(&self, entry: &Value) -> String {
        let mut text = String::new();
        if let Some(level) = entry.get("sandbox").filter(|it| !it.is_null()) {
            text.push_str(&format!(", with the sandbox {}", self.shown(level)));
        }
        if entry.get("sandboxNetwork") == Some(&Value::Bool(true)) {
            text.push_str(", with the network");
        }
        let env = entry.get("env").and_then(Value::as_object);
        let env: Vec<&str> = env
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        if !env.is_empty() {
            text.push_str(&format!(", with {} set", env.join(", ")));
        }
        text
    }

    /// A value as it would be, with the layer's own variables put in and nobody else's.
    fn shown(&self, value: &Value) -> String {
        let lookup = |name: &str| self.layer.variables.get(name).map(str::to_owned);
        match expand(value, &lookup).value {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }
}

/// The texts of an entry with the way to each.
fn secrets_in<'v>(value: &'v Value, place: &str, found: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let place = match place {
                    "" => key.clone(),
                    place => format!("{place}.{key}"),
                };
                secrets_in(value, &place, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                secrets_in(item, place, found);
            }
        }
        Value::String(_) if !is_left_alone(place) => found.push((place.to_owned(), value)),
        _ => {}
    }
}

/// What is handed on as it is written; only MCP servers have `env`.
fn is_left_alone(place: &str) -> bool {
    place.starts_with("env.")
}

/// The variables in a text.
fn variables(value: &Value) -> Vec<String> {
    let seen = std::cell::RefCell::new(vec![]);
    expand(value, &|name| {
        seen.borrow_mut().push(name.to_owned());
        None
    });
    seen.into_inner()
}
