//! Tools made to fit: each service's rules, and the way back.

mod checker;
mod properties;
mod rules;
mod way;

use bonded_kernel::{Dialect, ToolEffect, ToolSpec};
use serde_json::Value;

pub(crate) const DIALECTS: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Responses,
    Dialect::Messages,
    Dialect::Gemini,
];

pub(crate) fn spec(name: &str, schema: &Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Does it.".into(),
        schema: schema.clone(),
        effect: ToolEffect::Read,
        sandbox: None,
        resource: None,
    }
}
