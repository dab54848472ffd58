//! JSON as everything that is served has it: with the fields of each object sorted by their names.
//!
//! So the same answer has the same bytes, whatever made it.

use serde::Serialize;

/// The text of a body.
pub(crate) fn sorted_json(body: &impl Serialize) -> String {
    let value = serde_json::to_value(body).expect("all keys of a body are strings");
    value.to_string()
}
