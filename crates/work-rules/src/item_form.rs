//! The form of a work item: its fields, for the reader of plans and for editors.

use bonded_kernel::{FormKind, FormRow, Measure, SCHEMA_ROW, form_schema, words};
use serde_json::{Value, json};

use super::declared::DECLARED_PATTERN;
use super::item::{AGENT_ID_PATTERN, Complexity, ITEM_ID_PATTERN, RETRIES_MAX};

/// Larger numbers are not exact in every reader of JSON.
const WHOLE_MAX: u64 = (1 << 53) - 1;
const COMPLEXITIES: &[&str] = &words(&Complexity::WORDS);

const fn from(least: u64) -> FormKind {
    FormKind::Whole {
        least,
        most: WHOLE_MAX,
    }
}

const fn ms(least: u64) -> FormKind {
    FormKind::Measured {
        measure: Measure::Ms,
        least,
        most: WHOLE_MAX,
    }
}

const fn list(pattern: &'static str) -> FormKind {
    FormKind::Patterns {
        pattern,
        members_max: usize::MAX,
        bytes_max: usize::MAX,
    }
}

pub(super) const ITEM: &[FormRow] = &[
    SCHEMA_ROW,
    FormRow::new(
        "id",
        FormKind::Pattern(ITEM_ID_PATTERN),
        "Names the item: letters, digits, '.', '_' and '-', unique in the plan",
    )
    .required(),
    FormRow::new(
        "agent_id",
        FormKind::Pattern(AGENT_ID_PATTERN),
        "The agent that works on it, agent-0 to agent-9; `bonded work --agent` says which file that is",
    )
    .required(),
    FormRow::new(
        "description",
        FormKind::Argument,
        "What the agent is asked to do",
    )
    .required(),
    FormRow::new(
        "dependencies",
        list(ITEM_ID_PATTERN),
        "Ids of items that must have succeeded first, in this plan or in an earlier one on this tree",
    ),
    FormRow::new(
        "constraints",
        FormKind::Object(CONSTRAINTS),
        "Limits of the item; those of `--limits-of` where it says none",
    ),
    FormRow::new(
        "budget",
        FormKind::Object(BUDGET),
        "What is expected of the item; it is shown and not enforced",
    ),
    FormRow::new(
        "input_files",
        list(DECLARED_PATTERN),
        "Paths that must exist before: files, directories (src/), patterns (*, ?, **)",
    ),
    FormRow::new(
        "output_files",
        list(DECLARED_PATTERN),
        "The only paths that may change; each plain file among them must exist afterwards",
    ),
    FormRow::new(
        "test_command",
        FormKind::Argument,
        "A line for sh that must exit with 0 in the item's copy",
    ),
    FormRow::new(
        "tests_expected",
        from(0),
        "At least this many tests must run and pass, and none may fail; needs a test_command",
    ),
    FormRow::new(
        "retries",
        FormKind::Whole {
            least: 0,
            most: RETRIES_MAX,
        },
        "How often the item is started again after a failure or a timeout [default: 0]",
    ),
];

const CONSTRAINTS: &[FormRow] = &[
    FormRow::new(
        "max_files",
        from(0),
        "Paths at which a file or link may be created, removed or changed [default: 10]",
    ),
    FormRow::new("max_tool_ops", from(0), "Tool calls [default: 50]"),
    FormRow::new(
        "max_delta_size",
        from(0),
        "Those paths, and directories that changed [default: 100]",
    ),
    FormRow::new(
        "timeout_ms",
        ms(1),
        "Time for the run and its tests together, such as 10m; a number counts milliseconds [default: 5m]",
    ),
];

const BUDGET: &[FormRow] = &[
    FormRow::new(
        "time_estimate_ms",
        ms(0),
        "How long it may take, such as 10m; a number counts milliseconds",
    )
    .required(),
    FormRow::new(
        "complexity",
        FormKind::Word(COMPLEXITIES),
        "How hard it is: low, medium or high",
    )
    .required(),
];

/// A plan as JSON Schema: one item, or a list of them.
pub fn plan_schema() -> Value {
    let mut item = form_schema(ITEM);
    // Tests that nothing would run.
    item["if"] = json!({
        "properties": { "tests_expected": { "type": "number" } },
        "required": ["tests_expected"],
    });
    item["then"] = json!({
        "properties": { "test_command": { "type": "string" } },
        "required": ["test_command"],
    });
    json!({
        "title": "A plan of work items",
        "description": "What `bonded work PLAN` runs: one work item, or a list of them",
        "anyOf": [
            { "$ref": "#/$defs/item" },
            { "type": "array", "items": { "$ref": "#/$defs/item" }, "minItems": 1 },
        ],
        "$defs": { "item": item },
    })
}
