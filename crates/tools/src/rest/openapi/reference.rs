//! References within a document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// References that lead to references; longer chains are taken for circles.
const HOPS_MAX: usize = 16;
/// How many values may be looked at in order to find out which references lead back to themselves. When they
/// are used up, every reference is taken for one that does, which is safe.
const LOOKS_MAX: usize = 4_000_000;

/// A document whose references can be followed.
pub(super) struct Document<'d> {
    root: &'d Value,
    looks_left: usize,
    /// The references that lie directly behind a reference.
    behind: BTreeMap<&'d str, Vec<&'d str>>,
    recursive: BTreeMap<&'d str, bool>,
}

impl<'d> Document<'d> {
    pub(super) fn new(root: &'d Value) -> Self {
        Self {
            root,
            looks_left: LOOKS_MAX,
            behind: BTreeMap::new(),
            recursive: BTreeMap::new(),
        }
    }

    /// What a reference names. Other documents are not opened.
    pub(super) fn at(&self, reference: &str) -> Result<&'d Value, String> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(format!(
                "{reference:?} is in another document, which is not opened"
            ));
        };
        let pointer = pointer
            .replace("%7B", "{")
            .replace("%7D", "}")
            .replace("%20", " ");
        let found = self.root.pointer(&pointer);
        found.ok_or_else(|| format!("{reference:?} leads nowhere"))
    }

    /// A value, or what it refers to.
    pub(super) fn followed(&self, value: &'d Value) -> Result<&'d Value, String> {
        let mut value = value;
        for _ in 0..HOPS_MAX {
            match reference_of(value) {
                None => return Ok(value),
                Some(reference) => value = self.at(reference)?,
            }
        }
        Err("its references lead in a circle".into())
    }

    /// Whether what lies behind a reference leads back to it.
    pub(super) fn is_recursive(&mut self, reference: &'d str) -> bool {
        if let Some(known) = self.recursive.get(reference) {
            return *known;
        }
        let found = self.leads_back(reference);
        self.recursive.insert(reference, found);
        found
    }

    /// Every reference is visited once, and the looks are shared by the whole document.
    fn leads_back(&mut self, reference: &'d str) -> bool {
        let mut seen = BTreeSet::new();
        let mut left = vec![reference];
        while let Some(next) = left.pop() {
            for found in self.behind(next) {
                if found == reference || self.looks_left == 0 {
                    return true;
                }
                self.looks_left -= 1;
                if seen.insert(found) {
                    left.push(found);
                }
            }
        }
        self.looks_left == 0
    }

    fn behind(&mut self, reference: &'d str) -> Vec<&'d str> {
        if let Some(known) = self.behind.get(reference) {
            return known.clone();
        }
        let mut found = vec![];
        let mut left: Vec<&Value> = self.at(reference).into_iter().collect();
        while let Some(value) = left.pop() {
            self.looks_left = self.looks_left.saturating_sub(1);
            if self.looks_left == 0 {
                break;
            }
            found.extend(reference_of(value));
            match value {
                Value::Array(items) => left.extend(items),
                Value::Object(fields) => left.extend(fields.values()),
                _ => {}
            }
        }
        self.behind.insert(reference, found.clone());
        found
    }
}

pub(super) fn reference_of(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_followed_within_the_document_and_never_for_ever() {
        let root = json!({
            "a": { "$ref": "#/b" }, "b": { "x": 1 }, "c": { "$ref": "#/d" }, "d": { "$ref": "#/c" },
            "e": { "$ref": "other.yaml#/x" }, "f": { "$ref": "#/gone" }, "g": { "$ref": "#/h~1i" }, "h/i": 7,
        });
        let document = Document::new(&root);
        for (key, found) in [
            ("a", Some(json!({ "x": 1 }))),
            ("b", Some(json!({ "x": 1 }))),
            ("g", Some(json!(7))),
            ("c", None),
            ("e", None),
            ("f", None),
        ] {
            assert_eq!(document.followed(&root[key]).ok(), found.as_ref(), "{key}");
        }
    }

    #[test]
    fn what_leads_back_to_itself_is_found() {
        let root = json!({
            "tree": { "children": [{ "$ref": "#/tree" }] },
            "one": { "x": { "$ref": "#/two" } }, "two": { "$ref": "#/one" },
            "above": { "$ref": "#/tree" }, "leaf": { "type": "string" },
        });
        let mut document = Document::new(&root);
        for (reference, expected) in [
            ("#/tree", true),
            ("#/one", true),
            ("#/two", true),
            ("#/above", false),
            ("#/leaf", false),
            ("#/gone", false),
        ] {
            assert_eq!(document.is_recursive(reference), expected, "{reference}");
        }
    }
}
