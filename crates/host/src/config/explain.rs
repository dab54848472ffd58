//! The configuration as it came out, with the file that each value came from, and no secrets.
//!
//! It is masked as it is written and not as it came out, by the name of its key and by what it looks
//! like. Rather too much is hidden than too little.

use std::path::PathBuf;

use serde_json::Value;

use super::tree::ConfigNode;
use super::{Config, KeyPath};

const MASK: &str = "***";

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The way to the value.
    pub key_path: KeyPath,
    /// `***` where it is or may be a secret.
    pub value: Value,
    /// The highest file that says it.
    pub file: PathBuf,
    /// The variables in it.
    pub variables: Vec<String>,
}

impl Config {
    /// Every value, sorted by its key path.
    pub fn explain(&self) -> Vec<Explained> {
        let mut all = Vec::new();
        self.explain_node(&self.tree, &KeyPath::root(), &mut all);
        all.sort_by(|a, b| a.key_path.cmp(&b.key_path));
        all
    }

    /// Variables are looked up only to tell their names.
    fn explain_node(&self, node: &ConfigNode, path: &KeyPath, all: &mut Vec<Explained>) {
        match node {
            ConfigNode::Object { children, .. } => {
                for (key, child) in children {
                    self.explain_node(child, &path.child(key), all);
                }
            }
            ConfigNode::Leaf { value, layer } => {
                let expanded = self.expand(value, path, *layer);
                let mut variables = expanded.used;
                variables.extend(expanded.missing);
                all.push(Explained {
                    key_path: path.clone(),
                    value: masked(value, path),
                    file: self.file(node).to_owned(),
                    variables,
                });
            }
        }
    }
}

/// The value as it may be shown. It is masked as it is written, so that what a variable holds is never
/// even looked at.
fn masked(value: &Value, path: &KeyPath) -> Value {
    match value {
        Value::Null => Value::Null,
        value if is_secret(path, value) => MASK.into(),
        value => mask_inside(value),
    }
}

/// Whether the way to a value says that it is a secret.
pub(super) fn is_secret(path: &KeyPath, value: &Value) -> bool {
    let Some((own, above)) = path.keys().split_last() else {
        return false;
    };
    let holds_secrets =
        |key: &String| ["headers", "env", "secretHeaders", "secretEnv"].contains(&key.as_str());
    // Above, only the keys that a person put into `custom` say something: others are names of things.
    let mut custom = above.iter().skip_while(|key| *key != "custom");
    above.iter().any(holds_secrets)
        || custom.any(|key| looks_secret(key, value))
        || looks_secret(own, value)
}

/// Whether a key says that its value is a secret. Numbers of tokens are none.
///
/// By words in the name; `maxTokens` has a number and is none.
fn looks_secret(key: &str, value: &Value) -> bool {
    const WORDS: [&str; 8] = [
        "key",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "credential",
        "authorization",
        "cookie",
    ];
    let key = key.to_lowercase();
    let names_token = key.contains("token") && key != "tokenizer" && !value.is_number();
    names_token || WORDS.iter().any(|word| key.contains(word))
}

/// Inside of lists and objects the keys say what is secret there as well.
fn mask_inside(value: &Value) -> Value {
    match value {
        Value::String(text) if holds_variable(text) || is_private_url(text) => MASK.into(),
        Value::Array(items) => items.iter().map(mask_inside).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| {
                let shown = match looks_secret(key, value) {
                    true => MASK.into(),
                    false => mask_inside(value),
                };
                (key.clone(), shown)
            })
            .collect(),
        other => other.clone(),
    }
}

fn holds_variable(text: &str) -> bool {
    text.split("${")
        .skip(1)
        .any(|after| !after.starts_with("parameters."))
}

/// Whether a URL holds a password before its host, or a secret in its query.
fn is_private_url(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let in_query = query.split('&').any(|part| {
        let name = part.split('=').next().unwrap_or_default();
        looks_secret(name, &Value::Null)
    });
    authority.contains('@') || in_query
}
