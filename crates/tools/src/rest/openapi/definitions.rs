//! The definitions at the end of a schema that stands alone.
//!
//! A definition is named when it is first referred to and written later, from a list of those that are open. So
//! a schema that refers to itself is written once, and no recursion follows it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// What references were given names for.
#[derive(Default)]
pub(super) struct Definitions<'d> {
    names: BTreeMap<&'d str, String>,
    /// Named, and not written yet.
    open: Vec<(String, &'d str)>,
    written: Map<String, Value>,
}

impl<'d> Definitions<'d> {
    /// A reference to the definition of what another reference names.
    pub(super) fn refer_to(&mut self, reference: &'d str) -> Value {
        let count = self.names.len();
        let open = &mut self.open;
        let name = self.names.entry(reference).or_insert_with(|| {
            let last = reference.rsplit('/').next().unwrap_or_default();
            let usable = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let last: String = last.chars().filter(|c| usable(*c)).take(40).collect();
            // Numbered, so that two names that look alike stay two.
            let name = format!("{last}_{count}");
            open.push((name.clone(), reference));
            name
        });
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    pub(super) fn next_open(&mut self) -> Option<(String, &'d str)> {
        self.open.pop()
    }

    pub(super) fn close(&mut self, name: String, schema: Value) {
        self.written.insert(name, schema);
    }

    /// All definitions, where there are any.
    pub(super) fn take(&mut self) -> Option<Value> {
        let written = std::mem::take(&mut self.written);
        (!written.is_empty()).then_some(Value::Object(written))
    }
}
