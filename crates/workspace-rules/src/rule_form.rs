//! The form of a rule, for its reader and for editors.

use bonded_kernel::{FormKind, FormRow, ID_PATTERN, SCHEMA_ROW, form_schema, words};
use serde_json::{Value, json};

use super::trigger::{TRIGGERS, Trigger};
use super::{action, condition, schedule};

/// A longer chain is almost certainly a circle.
const CHAIN_DEPTH_MAX: u64 = 16;
/// What people call a rule is one line.
const NAME_BYTES_MAX: usize = 800;
const TRIGGER_WORDS: &[&str] = &words(&TRIGGERS);

pub(super) const FORM: &[FormRow] = &[
    SCHEMA_ROW,
    FormRow::new(
        "workspace_id",
        FormKind::Pattern(ID_PATTERN),
        "The workspace of the rule; `bonded rule add` fills it in",
    )
    .required(),
    FormRow::new(
        "name",
        FormKind::Text {
            bytes_max: NAME_BYTES_MAX,
        },
        "What people call the rule: one line",
    ),
    FormRow::new(
        "trigger",
        FormKind::Word(TRIGGER_WORDS),
        "What makes the rule fire",
    )
    .required(),
    FormRow::new(
        "condition_json",
        FormKind::Own(condition_reference),
        "When it fires: all, any, not, or comparisons of fields [default: always]",
    ),
    FormRow::new(
        "action_json",
        FormKind::Own(action::schema),
        "What the rule does: its kind, and the fields of that kind",
    )
    .required(),
    FormRow::new(
        "enabled",
        FormKind::Flag,
        "Whether the rule fires [default: true]",
    ),
    FormRow::new(
        "schedule",
        FormKind::Object(schedule::FORM),
        "When a rule with the trigger automation_schedule.cron fires",
    ),
    FormRow::new(
        "max_chain_depth",
        FormKind::Whole {
            least: 0,
            most: CHAIN_DEPTH_MAX,
        },
        "How long a chain of runs may be in which the rule still fires [default: 3]",
    ),
];

fn condition_reference() -> Value {
    json!({ "$ref": "#/$defs/condition" })
}

/// A rule as JSON Schema, as files of `bonded rule add` have it: the command fills in the workspace.
pub fn rule_schema() -> Value {
    let mut schema = form_schema(FORM);
    schema["title"] = "An automation rule".into();
    schema["description"] = "What `bonded rule add FILE` takes".into();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|field| field != "workspace_id");
    }
    // A schedule and the trigger need each other.
    schema["if"] = json!({
        "properties": { "trigger": { "const": Trigger::Cron.as_str() } },
        "required": ["trigger"],
    });
    schema["then"] = json!({
        "properties": { "schedule": { "type": "object" } },
        "required": ["schedule"],
    });
    schema["else"] = json!({ "properties": { "schedule": { "type": "null" } } });
    schema["$defs"] = condition::definitions();
    schema
}
