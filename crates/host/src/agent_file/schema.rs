//! What an agent takes and what it gives: a format, and a JSON Schema where there is one.

use std::path::{Path, PathBuf};

use bonded_kernel::nearest;
use serde_json::{Value, json};

use super::AgentFileError;
use super::IncludePolicy;
use super::front_matter::{text, wrong_type};
use super::read::{FILE_BYTES_MAX, text_of};
use crate::beneath::{self, SecretFiles};
use crate::trust::Contents;
use crate::yaml::{self, YamlKind, YamlPair};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    Json,
    Markdown,
    Text,
}

#[derive(Clone, Debug, PartialEq)]
pub struct InputSpec {
    pub format: InputFormat,
    pub schema: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OutputSpec {
    pub format: OutputFormat,
    pub schema: Option<Value>,
}

/// Which file a line of the assembled text comes from, and its number there.
pub(super) type LineOrigin<'p> = &'p dyn Fn(usize) -> (PathBuf, usize);

const SPEC_KEYS: [&str; 3] = ["format", "schema", "schemaRef"];

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
    pair: &YamlPair,
    place: LineOrigin<'_>,
    beside: &mut Beside<'_>,
) -> Result<Option<InputSpec>, AgentFileError> {
    let words = [("text", InputFormat::Text), ("json", InputFormat::Json)];
    let spec = spec(pair, place, beside, &words, "text or json")?;
    Ok(spec.map(|(format, schema)| InputSpec {
        // A schema describes JSON, so it says the format by itself.
        format: format.unwrap_or(match schema {
            Some(_) => InputFormat::Json,
            None => InputFormat::Text,
        }),
        schema,
    }))
}

pub(super) fn output(
    pair: &YamlPair,
    place: LineOrigin<'_>,
    beside: &mut Beside<'_>,
) -> Result<Option<OutputSpec>, AgentFileError> {
    let words = [
        ("json", OutputFormat::Json),
        ("markdown", OutputFormat::Markdown),
        ("text", OutputFormat::Text),
    ];
    let spec = spec(pair, place, beside, &words, "json, markdown or text")?;
    Ok(spec.map(|(format, schema)| OutputSpec {
        format: format.unwrap_or(match schema {
            Some(_) => OutputFormat::Json,
            None => OutputFormat::Markdown,
        }),
        schema,
    }))
}

type Spec<F> = Option<(Option<F>, Option<Value>)>;

fn spec<F: Copy>(
    pair: &YamlPair,
    place: LineOrigin<'_>,
    beside: &mut Beside<'_>,
    words: &[(&str, F)],
    expected: &str,
) -> Result<Spec<F>, AgentFileError> {
    let pairs = match &pair.value.kind {
        YamlKind::Map(pairs) => pairs,
        YamlKind::Scalar(Value::Null) => return Ok(None),
        _ => return Err(wrong_type(pair, place, "format, and schema or schemaRef")),
    };
    let mut format = None;
    let mut schema = None;
    for pair in pairs {
        let given = match pair.key.as_str() {
            "format" => {
                format = self::format(pair, place, words, expected)?;
                continue;
            }
            "schema" => inline(pair, place)?,
            "schemaRef" => referenced(pair, place, beside)?,
            _ => return Err(unknown(pair, place)),
        };
        if schema.is_some() {
            return Err(wrong_type(
                pair,
                place,
                "left out: there is a schema already",
            ));
        }
        schema = given;
    }
    Ok(Some((format, schema)))
}

fn unknown(pair: &YamlPair, place: LineOrigin<'_>) -> AgentFileError {
    let (file, line) = place(pair.line);
    AgentFileError::UnknownKey {
        file,
        line,
        key: pair.key.clone(),
        nearest: nearest(&pair.key, SPEC_KEYS).map(str::to_owned),
    }
}

fn format<F: Copy>(
    pair: &YamlPair,
    place: LineOrigin<'_>,
    words: &[(&str, F)],
    expected: &str,
) -> Result<Option<F>, AgentFileError> {
    let Some(given) = text(pair, place)? else {
        return Ok(None);
    };
    match words.iter().find(|(word, _)| *word == given) {
        Some((_, format)) => Ok(Some(*format)),
        None => Err(wrong_type(pair, place, expected)),
    }
}

/// A schema in the file itself: as an object, or as JSON or YAML in a text.
fn inline(pair: &YamlPair, place: LineOrigin<'_>) -> Result<Option<Value>, AgentFileError> {
    let schema = match &pair.value.kind {
        YamlKind::Scalar(Value::Null) => return Ok(None),
        YamlKind::Scalar(Value::String(text)) => parse_text(text),
        _ => Ok(pair.value.to_json()),
    };
    let checked = schema.and_then(check);
    checked
        .map(Some)
        .map_err(|why| bad_schema(pair, place, why))
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
fn referenced(
    pair: &YamlPair,
    place: LineOrigin<'_>,
    beside: &mut Beside<'_>,
) -> Result<Option<Value>, AgentFileError> {
    let Some(path) = text(pair, place)? else {
        return Ok(None);
    };
    let schema = beside.read(&path).and_then(|text| {
        parse_text(&text)
            .and_then(check)
            .map_err(|why| format!("{}: {why}", beside.dir.join(&path).display()))
    });
    schema.map(Some).map_err(|why| bad_schema(pair, place, why))
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

fn check(schema: Value) -> Result<Value, String> {
    if !schema.is_object() {
        return Err("it must be an object".into());
    }
    bonded_kernel::check_schema_size(&schema)?;
    jsonschema::meta::validate(&schema).map_err(|error| error.to_string())?;
    bonded_kernel::Schema::new(&schema)?;
    Ok(schema)
}

fn bad_schema(pair: &YamlPair, place: LineOrigin<'_>, why: String) -> AgentFileError {
    let (file, line) = place(pair.line);
    AgentFileError::BadSchema {
        file,
        line,
        key: pair.key.clone(),
        why,
    }
}
