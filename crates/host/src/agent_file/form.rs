//! The keys of the front matter that are no options, for its reader; and all of them, for editors.

use bonded_kernel::{FormKind, FormRow, SCHEMA_ROW, form_schema, words};
use serde_json::{Value, json};

use super::schema::{INPUT_FORMATS, OUTPUT_FORMATS};
use crate::config::options::{TABLE, row_schema};

const INPUT_WORDS: &[&str] = &words(&INPUT_FORMATS);
const OUTPUT_WORDS: &[&str] = &words(&OUTPUT_FORMATS);

pub(super) const OWN: &[FormRow] = &[
    SCHEMA_ROW,
    FormRow::new(
        "description",
        FormKind::AnyText,
        "What the agent is for; agents without one cannot be called by others",
    ),
    FormRow::new(
        "usage",
        FormKind::AnyText,
        "How to use the agent, for people",
    ),
    FormRow::new(
        "toolName",
        FormKind::Pattern("^[A-Za-z0-9_-]{1,64}$"),
        "The name under which other agents call this one: 1 to 64 letters, digits, - or _",
    ),
    FormRow::new(
        "input",
        FormKind::Own(input_schema),
        "What the agent takes: format, and schema or schemaRef",
    ),
    FormRow::new(
        "output",
        FormKind::Own(output_schema),
        "What the agent delivers: format, and schema or schemaRef",
    ),
    FormRow::new(
        "projectInstructions",
        FormKind::Flag,
        "Add the AGENTS.md of the working directory to the prompt",
    ),
];

pub(super) const INPUT: &[FormRow] = &[
    FormRow::new(
        "format",
        FormKind::Word(INPUT_WORDS),
        "text or json [default: json with a schema, else text]",
    ),
    INLINE,
    BESIDE,
];

pub(super) const OUTPUT: &[FormRow] = &[
    FormRow::new(
        "format",
        FormKind::Word(OUTPUT_WORDS),
        "json, markdown or text [default: json with a schema, else markdown]",
    ),
    INLINE,
    BESIDE,
];

const INLINE: FormRow = FormRow::new(
    "schema",
    FormKind::Own(inline_schema),
    "A JSON Schema, as an object or as JSON or YAML in a text",
);
const BESIDE: FormRow = FormRow::new(
    "schemaRef",
    FormKind::AnyText,
    "A file with a JSON Schema, relative to the agent file",
);

fn inline_schema() -> Value {
    json!({ "type": ["object", "string"] })
}

fn input_schema() -> Value {
    spec_schema(INPUT)
}

fn output_schema() -> Value {
    spec_schema(OUTPUT)
}

/// A schema is given once.
fn spec_schema(form: &'static [FormRow]) -> Value {
    let mut schema = form_schema(form);
    let is_given = json!({ "not": { "type": "null" } });
    schema["not"] = json!({
        "properties": { "schema": is_given, "schemaRef": is_given },
        "required": ["schema", "schemaRef"],
    });
    schema
}

/// The front matter of an agent file as JSON Schema.
pub fn agent_schema() -> Value {
    let mut schema = form_schema(OWN);
    for row in TABLE.iter().filter(|row| row.front_matter) {
        schema["properties"][row.key] = row_schema(row);
    }
    schema["title"] = "The front matter of an agent file".into();
    schema["description"] = "The YAML between the --- lines of an .ai file".into();
    // Front matter without a key is empty.
    schema["type"] = json!(["object", "null"]);
    schema
}
