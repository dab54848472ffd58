//! Reasoning in the form in which a router wants it back, put together from the pieces of a stream.
//!
//! They go back to the router as they came, signatures and encrypted data among them, and the provider behind
//! it may refuse them if a byte differs. So only the fields that are known to grow are joined, and nothing else
//! in them is interpreted.

use serde_json::{Map, Value};

use crate::dialect::ITEMS_MAX;

/// The fields that grow from piece to piece.
const GROWING: [&str; 3] = ["text", "summary", "data"];

/// The details of a reply's reasoning as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

impl Details {
    /// In the order in which they began.
    pub(super) fn items(&self) -> &[Map<String, Value>] {
        &self.0
    }

    /// Takes the details of one event. They only adorn a reply: what is not a list of objects is as good as
    /// nothing.
    pub(super) fn take(&mut self, details: Option<Value>) {
        let Some(Value::Array(details)) = details else {
            return;
        };
        for detail in details {
            if let Value::Object(detail) = detail {
                self.add(detail);
            }
        }
    }

    /// Only the last detail can go on, and only under the same index and type; one without an index always
    /// stands by itself. More than any reply has are dropped without a failure.
    fn add(&mut self, detail: Map<String, Value>) {
        let continues = |last: &&mut Map<String, Value>| {
            let same = |field: &str| last.get(field) == detail.get(field);
            detail.contains_key("index") && same("index") && same("type")
        };
        let begun = self.0.len();
        match self.0.last_mut().filter(continues) {
            Some(last) => grow(last, detail),
            None if begun < ITEMS_MAX => self.0.push(detail),
            None => {}
        }
    }
}

/// A field that is known and does not grow keeps its first value, unless that was null.
fn grow(known: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (field, value) in piece {
        match (known.get_mut(&field), value) {
            (Some(Value::String(text)), Value::String(more)) if GROWING.contains(&&*field) => {
                text.push_str(&more);
            }
            (None | Some(Value::Null), value) => {
                known.insert(field, value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_of_one_thought_become_one_and_others_stay_apart() {
        let mut details = Details::default();
        for event in [
            json!([{"type": "reasoning.text", "index": 0, "text": "Let ", "signature": null}]),
            json!([{"type": "reasoning.text", "index": 0, "text": "me."}]),
            json!([{"type": "reasoning.text", "index": 0, "signature": "sig"}]),
            json!([{"type": "reasoning.encrypted", "index": 1, "data": "gA"}, "odd", 7]),
            json!([{"type": "reasoning.text", "text": "no index"}]),
            json!({"not": "a list"}),
        ] {
            details.take(Some(event));
        }
        details.take(None);
        let expected = json!([
            {"type": "reasoning.text", "index": 0, "text": "Let me.", "signature": "sig"},
            {"type": "reasoning.encrypted", "index": 1, "data": "gA"},
            {"type": "reasoning.text", "text": "no index"},
        ]);
        assert_eq!(json!(details.items()), expected);
    }
}
