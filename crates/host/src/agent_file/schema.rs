//! What an agent takes and what it gives: a format, and a JSON Schema where there is one.
//!
//! A schema is checked when the agent file is read, so that a mistake in it is found before a run. One
//! beside the file is held to the rules of includes, because it is sent to a provider, and becomes part
//! of what is trusted.

use std::path::Path;

use bonded_kernel::{FormRow, Mistake};
use serde_json::{Value, json};

use super::IncludePolicy;
use super::fault::{FieldFaultKind, FrontFields};
use super::form::{INPUT, OUTPUT};
use super::read::{FILE_BYTES_MAX, text_of};
use crate::beneath::{self, SecretFiles};
use crate::trust::Contents;
use crate::yaml;

/// What the goal of an agent must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// Anything.
    Text,
    /// JSON, which must fit the schema where there is one.
    Json,
}

/// What the report of an agent is demanded to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// JSON; it counts more than any option.
    Json,
    /// Markdown, unless an option says otherwise.
    Markdown,
    /// Plain text, unless an option says otherwise.
    Text,
}

/// What an agent takes, as its file says.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSpec {
    /// JSON where there is a schema and nothing else is said.
    pub format: InputFormat,
    /// A checked JSON Schema, which is an object.
    pub schema: Option<Value>,
}

/// What an agent gives, as its file says.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSpec {
    /// JSON where there is a schema, else Markdown, unless it is said.
    pub format: OutputFormat,
    /// A checked JSON Schema, which is an object.
    pub schema: Option<Value>,
}

/// The words of an input's `format`.
pub(super) const INPUT_FORMATS: [(&str, InputFormat); 2] =
    [("text", InputFormat::Text), ("json", InputFormat::Json)];
/// The words of an output's `format`.
pub(super) const OUTPUT_FORMATS: [(&str, OutputFormat); 3] = [
    ("json", OutputFormat::Json),
    ("markdown", OutputFormat::Markdown),
    ("text", OutputFormat::Text),
];

/// What an agent takes that does not say it: a prompt, and the format of the answer.
pub fn default_input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "prompt": {"type": "string"},
            "format": {
                "type": "string",
                "enum": [
                    "markdown", "markdown+mermaid", "slack-block-kit", "tty", "pipe", "json",
                    "sub-agent"
                ],
                "default": "markdown"
            }
        },
        "required": ["prompt"],
        "additionalProperties": false
    })
}

pub(super) fn input(
    fields: &mut FrontFields<'_, '_>,
    beside: &mut Beside<'_>,
) -> Option<InputSpec> {
    let (format, schema) = spec(fields, "input", &INPUT_FORMATS, INPUT, beside)?;
    Some(InputSpec {
        // A schema describes JSON, so it says the format by itself.
        format: format.unwrap_or(match schema {
            Some(_) => InputFormat::Json,
            None => InputFormat::Text,
        }),
        schema,
    })
}

pub(super) fn output(
    fields: &mut FrontFields<'_, '_>,
    beside: &mut Beside<'_>,
) -> Option<OutputSpec> {
    let (format, schema) = spec(fields, "output", &OUTPUT_FORMATS, OUTPUT, beside)?;
    Some(OutputSpec {
        format: format.unwrap_or(match schema {
            Some(_) => OutputFormat::Json,
            None => OutputFormat::Markdown,
        }),
        schema,
    })
}

/// The format and the schema, each if it is said.
type Spec<F> = (Option<F>, Option<Value>);

/// The two keys differ only in the words that their format may be. A schema that is given twice is
/// refused: nobody could say which one holds.
fn spec<F: Copy>(
    fields: &mut FrontFields<'_, '_>,
    key: &str,
    words: &[(&'static str, F)],
    form: &'static [FormRow],
    beside: &mut Beside<'_>,
) -> Option<Spec<F>> {
    let mut fields = fields.object_of(key, "format, and schema or schemaRef")?;
    fields.hold_to(form);
    let format = fields.word("format", words);
    let own = fields.parsed("schema", inline);
    let is_twice = fields.given("schema").is_some();
    let beside = fields.parsed("schemaRef", |path| match is_twice {
        true => Err(Mistake::wrong_type("left out: there is a schema already", path).into()),
        false => referenced(path, beside),
    });
    Some((format, own.or(beside)))
}

/// A schema in the file itself: as an object, or as JSON or YAML in a text.
fn inline(written: &Value) -> Result<Value, FieldFaultKind> {
    let schema = match written.as_str() {
        Some(text) => parse_text(text),
        None => Ok(written.clone()),
    };
    let checked = schema.and_then(check);
    checked.map_err(|why| FieldFaultKind::Schema { why })
}

/// Where the schemas of an agent file may lie.
pub(super) struct Beside<'b> {
    pub(super) dir: &'b Path,
    pub(super) policy: IncludePolicy,
    pub(super) secrets: &'b SecretFiles,
    pub(super) contents: &'b mut Contents,
}

impl Beside<'_> {
    /// A text beside the agent file. What it holds is sent to a provider, so the rules of includes hold.
    fn read(&mut self, path: &str) -> Result<String, String> {
        let opened = match self.policy {
            IncludePolicy::InsideTree => beneath::open(self.dir, Path::new(path)),
            IncludePolicy::Anywhere => beneath::open_anywhere(&self.dir.join(path)),
        };
        let shown = self.dir.join(path);
        let opened = opened.map_err(|error| match beneath::leads_out(&error) {
            true => format!(
                "{} lies outside {}; move it there, or allow includes from anywhere",
                shown.display(),
                self.dir.display()
            ),
            false => match error.kind() {
                std::io::ErrorKind::NotFound => format!("{} does not exist", shown.display()),
                _ => format!("{} cannot be read: {error}", shown.display()),
            },
        })?;
        opened
            .check_secret(self.secrets)
            .map_err(|why| format!("{}: {why}", shown.display()))?;
        let real = opened.real.clone();
        let text = text_of(opened.read(FILE_BYTES_MAX), &shown).map_err(|it| it.to_string())?;
        self.contents.add(&real, Some(text.as_bytes()));
        Ok(text)
    }
}

/// A schema in a file beside the agent file.
fn referenced(path: &Value, beside: &mut Beside<'_>) -> Result<Value, FieldFaultKind> {
    let Some(path) = path.as_str() else {
        return Err(Mistake::wrong_type("a text", path).into());
    };
    let schema = beside.read(path).and_then(|text| {
        let checked = parse_text(&text).and_then(check);
        checked.map_err(|why| format!("{}: {why}", beside.dir.join(path).display()))
    });
    schema.map_err(|why| FieldFaultKind::Schema { why })
}

/// Nearly all JSON is YAML as well, but its own parser is the clearer about errors in it.
fn parse_text(text: &str) -> Result<Value, String> {
    let as_json: Result<Value, _> = serde_json::from_str(text);
    let json_error = match as_json {
        Ok(schema) => return Ok(schema),
        Err(error) => error.to_string(),
    };
    match yaml::parse(text) {
        Ok(tree) => Ok(tree.to_json()),
        Err(_) if text.trim_start().starts_with('{') => Err(json_error),
        Err(error) => Err(format!("line {} of it: {error}", error.line)),
    }
}

/// Only an object: `true` and `false` are schemas too, and would check nothing or refuse everything.
fn check(schema: Value) -> Result<Value, String> {
    if !schema.is_object() {
        return Err("it must be an object".into());
    }
    bonded_kernel::Schema::checked(&schema)?;
    Ok(schema)
}
