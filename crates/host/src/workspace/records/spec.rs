//! The four instructions that touch notes, as tools.

use bonded_kernel::{RECORD_ADD, RECORD_ISSUE, RECORD_SEARCH, RECORD_UPDATE, ToolEffect, ToolSpec};
use serde_json::{Value, json};

/// More ids than these are not looked up in one search.
pub(super) const IDS_MAX: usize = 50;

/// One of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordOp {
    Add,
    Update,
    Issue,
    Search,
}

impl RecordOp {
    pub(super) const ALL: [Self; 4] = [Self::Add, Self::Update, Self::Issue, Self::Search];

    /// A write is made under the key of its call, so that making it twice is making it once.
    pub(super) fn spec(self) -> ToolSpec {
        let text = json!({ "type": "string" });
        let full = json!({ "type": "string", "minLength": 1 });
        let write = ToolEffect::Idempotent;
        match self {
            Self::Add => spec(
                RECORD_ADD,
                "Makes a note.",
                write,
                &json!({ "keywords": text, "value": full }),
                &["keywords", "value"],
            ),
            Self::Update => spec(
                RECORD_UPDATE,
                "Changes a note, named by its id or its exact title.",
                write,
                &json!({ "key": full, "value": text }),
                &["key", "value"],
            ),
            Self::Issue => spec(
                RECORD_ISSUE,
                "Writes down what a person should look at; changes no note.",
                write,
                &json!({ "key": full, "value": full, "metadata": text }),
                &["key", "value", "metadata"],
            ),
            Self::Search => spec(
                RECORD_SEARCH,
                "Finds notes by words, or reads those with the given ids.",
                ToolEffect::Read,
                &json!({
                    "query": full,
                    "ids": { "type": "array", "items": full, "minItems": 1, "maxItems": IDS_MAX }
                }),
                &[],
            ),
        }
    }
}

fn spec(
    name: &str,
    description: &str,
    effect: ToolEffect,
    properties: &Value,
    required: &[&str],
) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false
        }),
        effect,
        sandbox: None,
    }
}
