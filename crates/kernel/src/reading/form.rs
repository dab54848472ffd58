//! Forms: which fields an object has that people write, what each may hold, and what it is for.
//!
//! One table for the reader, which holds the object to it, and for the JSON Schema that editors read: what the one takes
//! the other offers. What depends on other fields, or on where it is read, is not in a form.

use serde_json::{Map, Value, json};

use super::Measure;

/// The key by which a file names its schema for editors. Every reader takes it and does nothing with it.
pub const SCHEMA_KEY: &str = "$schema";

/// The row of that key, for the forms of whole files.
pub const SCHEMA_ROW: FormRow = FormRow::new(
    SCHEMA_KEY,
    FormKind::Any,
    "The JSON Schema of this file, for editors; bonded ignores it",
);

/// One field of an object.
#[derive(Clone, Copy, Debug)]
pub struct FormRow {
    /// Its key.
    pub name: &'static str,
    /// What it may hold.
    pub kind: FormKind,
    /// Whether an object without it is refused.
    pub is_required: bool,
    /// What it is for, in a line.
    pub help: &'static str,
}

/// What a field may hold.
#[derive(Clone, Copy, Debug)]
pub enum FormKind {
    /// A text that holds something, without control characters but for tabs and ends of lines.
    Text {
        /// The longest.
        bytes_max: usize,
    },
    /// What is not looked at.
    Any,
    /// A text, whatever it holds.
    AnyText,
    /// A text that holds something and no NUL, so that a command can be given it.
    Argument,
    /// A text that the field's own reader takes; the regular expression says which, for editors.
    Pattern(&'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    /// True or false.
    Flag,
    /// True or false, of which only one is taken.
    Only(bool),
    /// A whole number within bounds, both included.
    Whole {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A duration or a size within bounds, both included: a whole number, or a text with a unit.
    Measured {
        /// What it counts.
        measure: Measure,
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A number within bounds, both included.
    Number {
        /// The smallest.
        least: u32,
        /// The largest.
        most: u32,
    },
    /// A list of texts that the field's own reader takes.
    Patterns {
        /// What each of them is, for editors.
        pattern: &'static str,
        /// The most that there may be.
        members_max: usize,
        /// The longest of them.
        bytes_max: usize,
    },
    /// An object with a form of its own.
    Object(&'static [FormRow]),
    /// What has a reader of its own, which describes it to editors too.
    Own(fn() -> Value),
}

impl FormRow {
    /// A field that may be left out.
    pub const fn new(name: &'static str, kind: FormKind, help: &'static str) -> Self {
        Self {
            name,
            kind,
            is_required: false,
            help,
        }
    }

    /// A field that must be there.
    pub const fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }
}

/// The words of a table that says what each means.
pub const fn words<T: Copy, const N: usize>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = table[at].0;
        at += 1;
    }
    names
}

/// Every character but those that act on a terminal.
const PLAIN: &str = r"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]";
const PLAIN_VISIBLE: &str = r"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\s]";

impl FormKind {
    /// What it may hold as JSON Schema. Texts are bounded in characters there, of which each has one byte or more.
    pub fn schema(self) -> Value {
        match self {
            Self::Text { bytes_max } => json!({
                "type": "string",
                "maxLength": bytes_max,
                "pattern": format!("^{PLAIN}*{PLAIN_VISIBLE}{PLAIN}*$"),
            }),
            Self::Any => json!({}),
            Self::AnyText => json!({ "type": "string" }),
            Self::Argument => {
                json!({ "type": "string", "pattern": r"^[^\u0000]*[^\u0000\s][^\u0000]*$" })
            }
            Self::Pattern(pattern) => json!({ "type": "string", "pattern": pattern }),
            Self::Word(words) => json!({ "enum": words }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Only(flag) => json!({ "enum": [flag] }),
            Self::Whole { least, most } => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Self::Measured {
                measure,
                least,
                most,
            } => measure.schema(least..=most),
            Self::Number { least, most } => {
                json!({ "type": "number", "minimum": least, "maximum": most })
            }
            Self::Patterns {
                pattern,
                members_max,
                bytes_max,
            } => {
                let mut list = json!({
                    "type": "array",
                    "items": { "type": "string", "pattern": pattern },
                });
                if members_max != usize::MAX {
                    list["maxItems"] = json!(members_max);
                }
                if bytes_max != usize::MAX {
                    list["items"]["maxLength"] = json!(bytes_max);
                }
                list
            }
            Self::Object(form) => form_schema(form),
            Self::Own(schema) => schema(),
        }
    }
}

/// A form as JSON Schema. A field that may be left out may be null: that is how YAML writes an empty one.
pub fn form_schema(form: &[FormRow]) -> Value {
    let mut properties = Map::new();
    for row in form {
        let schema = match row.is_required {
            true => row.kind.schema(),
            false => or_null(row.kind.schema()),
        };
        properties.insert(row.name.into(), described(schema, row.help));
    }
    let required = form.iter().filter(|row| row.is_required);
    let required: Vec<&str> = required.map(|row| row.name).collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The same schema, with what people are told of it.
pub fn described(mut schema: Value, help: &str) -> Value {
    schema["description"] = help.into();
    schema
}

/// The same schema, and null.
pub fn or_null(mut schema: Value) -> Value {
    let is_plain = ["allOf", "anyOf", "oneOf", "not", "if", "$ref"]
        .iter()
        .all(|keyword| schema.get(keyword).is_none());
    if is_plain && let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
        return schema;
    }
    match schema.get("type") {
        None if is_plain => schema,
        Some(Value::String(kind)) if is_plain => {
            schema["type"] = json!([kind, "null"]);
            schema
        }
        Some(Value::Array(kinds)) if is_plain => {
            let with_null = kinds.iter().cloned().chain(["null".into()]);
            schema["type"] = with_null.collect();
            schema
        }
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}
