//! The arguments of calls, which some dialects write as a text and some as an object.
//!
//! A run keeps arguments as the text that the model wrote, valid or not, because the kernel mends or refuses
//! them by the tool's schema. So nothing is checked on the way in, and on the way out a dialect that must write
//! an object gets one in any case.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};

/// Arguments as text: some servers send the object itself instead of a text that holds it.
///
/// An error only for a text whose escapes cannot be read.
pub(super) fn from_wire(raw: Option<&RawValue>) -> Result<String, serde_json::Error> {
    match raw.map(RawValue::get) {
        None => Ok(String::new()),
        Some(text) if text.starts_with('"') => serde_json::from_str(text),
        Some(other) => Ok(other.into()),
    }
}

/// Arguments as an object. What is none is shown inside one, so that the model sees what it wrote.
///
/// An object goes through without a copy, to the last blank: what a provider has cached of it stays the same.
pub(super) fn as_object(arguments: &str) -> Cow<'_, RawValue> {
    match serde_json::from_str::<&RawValue>(arguments) {
        Ok(raw) if raw.get().starts_with('{') => Cow::Borrowed(raw),
        _ => {
            let shown = serde_json::json!({ "arguments": arguments });
            Cow::Owned(to_raw_value(&shown).expect("a value is JSON"))
        }
    }
}
