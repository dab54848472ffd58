//! One entry of the configuration, its variables put in, ready to be read field by field.
//!
//! The types of the fields were checked when the layers were read, so a reader that finds another type
//! finds nothing.
//!
//! An entry also knows the file of each field, so that a message names the one that a person must mend.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use bonded_kernel::{Measure, Mistake, found};
use serde_json::{Map, Value};

use super::{Config, ConfigError, KeyPath, Secret};

/// The fields are copies with variables put in; the path is for messages.
pub(super) struct ConfigEntry<'c> {
    config: &'c Config,
    pub(super) path: KeyPath,
    fields: Map<String, Value>,
}

impl Config {
    /// The entry at a path, if there is one. Variables that are missing are added to the problems.
    pub(super) fn entry(
        &self,
        keys: &[&str],
        problems: &mut Vec<ConfigError>,
    ) -> Option<ConfigEntry<'_>> {
        let path = keys
            .iter()
            .fold(KeyPath::root(), |path, key| path.child(key));
        let node = self.tree.at(&path)?;
        match self.value(node, &path, problems) {
            Value::Object(fields) => Some(ConfigEntry {
                config: self,
                path,
                fields,
            }),
            _ => None,
        }
    }
}

impl<'c> ConfigEntry<'c> {
    /// Null counts as a value here: it may take back what lies below.
    pub(super) fn value(&self, field: &str) -> Option<&Value> {
        self.fields.get(field)
    }

    pub(super) fn text(&self, field: &str) -> Option<String> {
        self.value(field)?.as_str().map(str::to_owned)
    }

    pub(super) fn secret(&self, field: &str) -> Option<Secret> {
        self.text(field).map(Secret::new)
    }

    pub(super) fn flag(&self, field: &str) -> Option<bool> {
        self.value(field)?.as_bool()
    }

    pub(super) fn whole(&self, field: &str) -> Option<u64> {
        self.value(field)?.as_u64()
    }

    /// A duration, a size or a number of tokens.
    pub(super) fn measured(&self, field: &str, measure: Measure) -> Option<u64> {
        measure.of(self.value(field)?, 0..=u64::MAX).ok()
    }

    pub(super) fn real(&self, field: &str) -> Option<f64> {
        self.value(field)?.as_f64()
    }

    /// A text as a list of one.
    pub(super) fn texts(&self, field: &str) -> Vec<String> {
        match self.value(field) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Values that are no texts are passed over; their types were told of when the layer was read.
    pub(super) fn secrets(&self, field: &str) -> BTreeMap<String, Secret> {
        let object = self.value(field).and_then(Value::as_object);
        object
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), Secret::new(value.as_str()?))))
            .collect()
    }

    pub(super) fn object(&self, field: &str) -> Map<String, Value> {
        let object = self.value(field).and_then(Value::as_object);
        object.cloned().unwrap_or_default()
    }

    /// The object in a field as an entry of its own.
    pub(super) fn below(&self, field: &str) -> Self {
        Self {
            config: self.config,
            path: self.path.child(field),
            fields: self.object(field),
        }
    }

    /// One of a few words. Another word is a problem.
    pub(super) fn word<T: Copy>(
        &self,
        field: &str,
        words: &[(&str, T)],
        problems: &mut Vec<ConfigError>,
    ) -> Option<T> {
        let text = self.text(field)?;
        let known = words.iter().find(|(word, _)| *word == text);
        if known.is_none() {
            let words = words.iter().map(|(word, _)| *word);
            problems.push(self.mistaken(field, Mistake::unknown_word(&text, words)));
        }
        known.map(|(_, meaning)| *meaning)
    }

    /// A value of another kind than the expected one.
    pub(super) fn wrong(&self, field: &str, expected: impl Into<Cow<'static, str>>) -> ConfigError {
        self.mistaken(
            field,
            Mistake::WrongType {
                expected: expected.into(),
                found: self.value(field).map_or("nothing".into(), found),
            },
        )
    }

    /// The file is that of the field, where one says it.
    fn mistaken(&self, field: &str, mistake: Mistake) -> ConfigError {
        ConfigError::WrongValue {
            file: self.file(field),
            key_path: self.path.child(field),
            mistake: Box::new(mistake),
        }
    }

    /// For what is wrong with the entry as a whole.
    pub(super) fn unusable(&self, message: impl Into<String>) -> ConfigError {
        ConfigError::Unusable {
            file: self.file(""),
            key_path: self.path.clone(),
            message: message.into(),
        }
    }

    /// Whether one of the fields is of a wrong type, which was told when the layers were read. It is not missing then.
    pub(super) fn is_misshapen(&self, fields: &[&str]) -> bool {
        let mut fields = fields.iter();
        fields.any(|field| self.config.is_misshapen(&self.path.child(field)))
    }

    /// The problem of an entry that lacks what these fields would say.
    pub(super) fn lacking(&self, fields: &[&str], message: String) -> Option<ConfigError> {
        (!self.is_misshapen(fields)).then(|| self.unusable(message))
    }

    /// The file that says the field, or else the highest that has the entry.
    pub(super) fn file(&self, field: &str) -> PathBuf {
        let tree = &self.config.tree;
        let node = tree
            .at(&self.path.child(field))
            .or_else(|| tree.at(&self.path));
        node.map(|node| self.config.file(node).to_owned())
            .unwrap_or_default()
    }
}
