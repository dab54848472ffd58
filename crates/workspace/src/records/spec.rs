//! The four instructions that touch notes, as tools.
//!
//! Their arguments are closed: a field that is not listed is refused before the tool is called.

use bonded_kernel::{RECORD_ADD, RECORD_ISSUE, RECORD_SEARCH, RECORD_UPDATE, ToolEffect, ToolSpec};
use serde_json::json;

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
            Self::Add => ToolSpec::closed(
                RECORD_ADD,
                write,
                "Makes a note.",
                &json!({ "keywords": text, "value": full }),
                &["keywords", "value"],
            ),
            Self::Update => ToolSpec::closed(
                RECORD_UPDATE,
                write,
                "Changes a note, named by its id or its exact title.",
                &json!({ "key": full, "value": text }),
                &["key", "value"],
            ),
            Self::Issue => ToolSpec::closed(
                RECORD_ISSUE,
                write,
                "Writes down what a person should look at; changes no note.",
                &json!({ "key": full, "value": full, "metadata": text }),
                &["key", "value", "metadata"],
            ),
            Self::Search => ToolSpec::closed(
                RECORD_SEARCH,
                ToolEffect::Read,
                "Finds notes by words, or reads those with the given ids.",
                &json!({
                    "query": full,
                    "ids": { "type": "array", "items": full, "minItems": 1, "maxItems": IDS_MAX }
                }),
                &[],
            ),
        }
    }
}
