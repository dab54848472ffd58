//! From an operation to a request with places.
//!
//! The model sees one flat object of arguments, whatever their places in the request are. An operation that
//! needs what is not supported is refused as a whole; what it can do without is left out and told. The work is
//! counted in nodes of schemas, per operation and for the whole document, because a few references can stand
//! for more than any memory holds.

use std::collections::BTreeSet;
use std::fmt;

use bonded_kernel::{Hash, ToolEffect, ToolSpec};
use reqwest::Method;
use reqwest::header::HeaderName;
use serde_json::{Map, Value, json};

use super::definitions::Definitions;
use super::parameter::{BODY, Parameter, ParameterLocation, Parameters};
use super::reference::Document;
use super::writer::{References, SchemaWriter, Stop};
use crate::bounds::chars_within;
use crate::rest::body::BodyTemplate;
use crate::rest::header::HeaderTemplate;
use crate::rest::schema;
use crate::rest::settings::{Reach, Redirects};
use crate::rest::template::Template;
use crate::rest::tool::{Shape, resource_of};
use crate::rest::url::{Pair, UrlTemplate, encoded, segments};
use crate::tool_name::shown_name;

const DESCRIPTION_CHARS_MAX: usize = 1_000;
/// How much a schema may hold with all references written out, and with definitions.
const NODES_WRITTEN_OUT_MAX: usize = 600;
const NODES_DEFINED_MAX: usize = 6_000;
/// And all schemas of a document together.
pub(super) const NODES_OF_DOCUMENT_MAX: usize = 500_000;

/// One operation of a document.
pub(super) struct Operation<'d> {
    pub(super) path: &'d str,
    pub(super) method: Method,
    pub(super) effect: ToolEffect,
    /// What holds for the whole path.
    pub(super) item: &'d Value,
    pub(super) operation: &'d Value,
}

impl fmt::Display for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, chars_within(self.path, 200))
    }
}

/// Makes tools of operations.
pub(super) struct Compiler<'d> {
    pub(super) name: &'d str,
    pub(super) document: Document<'d>,
    pub(super) base: UrlTemplate,
    pub(super) headers: Vec<HeaderTemplate>,
    pub(super) redirects: Redirects,
    pub(super) reach: Reach,
    /// How much the schemas that are still to come may hold.
    pub(super) nodes_left: usize,
}

/// What the body of a request must be.
struct BodySchema<'d> {
    schema: &'d Value,
    is_required: bool,
}

impl<'d> Compiler<'d> {
    /// The request of an operation, and what of it is left out. The error says why there is none.
    pub(super) fn shape(
        &mut self,
        operation: &Operation<'d>,
        names: &mut BTreeSet<String>,
    ) -> Result<(Shape, Vec<String>), String> {
        let fixed: Vec<HeaderName> = self.headers.iter().map(|it| it.name().clone()).collect();
        let Parameters { sent, mut left_out } =
            Parameters::read(&self.document, operation, &fixed)?;
        let body = self.body(operation, &mut left_out)?;
        let schema = self.schema(&sent, body.as_ref())?;
        schema::check(&schema).map_err(|why| format!("its schema is not usable: {why}"))?;
        let mut headers = self.headers.clone();
        for parameter in sent
            .iter()
            .filter(|it| it.place == ParameterLocation::Header)
        {
            let header = HeaderTemplate::of_argument(parameter.name, &parameter.property);
            headers.push(
                header
                    .ok_or_else(|| format!("the header {:?} is not to be set", parameter.name))?,
            );
        }
        let url = self.url(operation, &sent)?;
        let resource = resource_of(operation.effect, url.origin());
        let shape = Shape {
            url,
            spec: ToolSpec {
                name: tool_name(self.name, operation, names),
                description: description(operation),
                schema,
                effect: operation.effect,
                sandbox: None,
                resource,
                deferred: false,
            },
            method: operation.method.clone(),
            headers,
            body: body.map(|_| BodyTemplate::of_argument(BODY)),
            streaming: None,
            redirects: self.redirects,
            reach: self.reach,
        };
        Ok((shape, left_out))
    }

    /// The body where it is JSON. One that is not JSON is left out where nobody needs it.
    fn body(
        &self,
        operation: &Operation<'d>,
        left_out: &mut Vec<String>,
    ) -> Result<Option<BodySchema<'d>>, String> {
        let Some(body) = operation.operation.get("requestBody") else {
            return Ok(None);
        };
        let body = self.document.followed(body)?;
        let is_required = body.get("required") == Some(&Value::Bool(true));
        let kinds = body.get("content").and_then(Value::as_object);
        let is_json = |kind: &str| {
            let kind = kind
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase();
            kind == "application/json" || kind.ends_with("+json") || kind == "*/*"
        };
        let mut json = kinds
            .into_iter()
            .flatten()
            .filter(|(kind, _)| is_json(kind));
        if let Some((_, content)) = json.next() {
            const ANYTHING: &Value = &Value::Bool(true);
            let schema = content.get("schema").unwrap_or(ANYTHING);
            return Ok(Some(BodySchema {
                schema,
                is_required,
            }));
        }
        let first = kinds.and_then(|kinds| kinds.keys().next());
        let kind = first.map_or("nothing", |kind| chars_within(kind, 100));
        let why = format!("its body is {kind}, and only JSON is supported");
        match is_required {
            true => Err(why),
            false => {
                left_out.push(why);
                Ok(None)
            }
        }
    }

    /// The schema of the arguments: everything written out if that stays small, else with definitions.
    fn schema(
        &mut self,
        parameters: &[Parameter<'d>],
        body: Option<&BodySchema<'d>>,
    ) -> Result<Value, String> {
        let tries = [
            (References::WrittenOut, NODES_WRITTEN_OUT_MAX),
            (References::Defined, NODES_DEFINED_MAX),
        ];
        for (references, nodes_max) in tries {
            let nodes_max = nodes_max.min(self.nodes_left);
            let mut writer = SchemaWriter {
                document: &mut self.document,
                references,
                nodes_left: nodes_max,
                definitions: Definitions::default(),
            };
            match arguments(&mut writer, parameters, body) {
                Ok(schema) => {
                    self.nodes_left -= nodes_max - writer.nodes_left;
                    return Ok(schema);
                }
                Err(Stop::TooLarge) => {}
                Err(Stop::Bad(why)) => return Err(why),
            }
        }
        Err("its schema is too large to be shown to a model".into())
    }

    /// Parts of the path that no parameter declares leave braces behind, which are refused: a server would be
    /// asked for a thing of that name.
    fn url(
        &self,
        operation: &Operation<'d>,
        parameters: &[Parameter<'d>],
    ) -> Result<UrlTemplate, String> {
        let mut path = operation.path.to_owned();
        if path.contains("${") {
            return Err("its path holds ${".into());
        }
        for parameter in parameters
            .iter()
            .filter(|it| it.place == ParameterLocation::Path)
        {
            let place = format!("${{parameters.{}}}", parameter.property);
            path = path.replace(&format!("{{{}}}", parameter.name), &place);
        }
        let segments = segments(&path)?;
        let is_open = |segment: &Template| {
            let text = segment.fill(&Value::Null, str::to_owned);
            text.contains(['{', '}'])
        };
        if segments.iter().any(is_open) {
            return Err("its path has a parameter that it does not declare".into());
        }
        let query = parameters
            .iter()
            .filter(|it| it.place == ParameterLocation::Query);
        let query = query.map(|parameter| Pair {
            name: encoded(parameter.name),
            value: Some(Template::place(&parameter.property)),
            list: parameter.list,
        });
        Ok(self.base.under(segments, query.collect()))
    }
}

fn arguments<'d>(
    writer: &mut SchemaWriter<'_, 'd>,
    parameters: &[Parameter<'d>],
    body: Option<&BodySchema<'d>>,
) -> Result<Value, Stop> {
    let mut properties = Map::new();
    let mut required: Vec<&str> = vec![];
    for parameter in parameters {
        let mut schema = writer.schema(parameter.schema, 0)?;
        if let (Value::Object(fields), Some(description)) = (&mut schema, parameter.description) {
            let description = chars_within(description, DESCRIPTION_CHARS_MAX);
            fields.insert("description".into(), description.into());
        }
        properties.insert(parameter.property.clone(), schema);
        required.extend(parameter.is_required.then_some(parameter.property.as_str()));
    }
    if let Some(body) = body {
        properties.insert(BODY.into(), writer.schema(body.schema, 0)?);
        required.extend(body.is_required.then_some(BODY));
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if let Some(definitions) = writer.finish()? {
        schema["$defs"] = definitions;
    }
    Ok(schema)
}

/// What the document says of an operation, else its method and path.
fn description(operation: &Operation<'_>) -> String {
    let texts = ["summary", "description"].iter().filter_map(|key| {
        let text = operation.operation.get(key)?.as_str()?.trim();
        (!text.is_empty()).then_some(text)
    });
    let texts: Vec<&str> = texts.collect();
    match texts.is_empty() {
        true => operation.to_string(),
        false => chars_within(&texts.join("\n"), DESCRIPTION_CHARS_MAX).to_owned(),
    }
}

/// `openapi__NAME__operation`. A name that another operation has ends in a hash of method and path.
fn tool_name(document: &str, operation: &Operation<'_>, names: &mut BTreeSet<String>) -> String {
    let id = operation
        .operation
        .get("operationId")
        .and_then(Value::as_str);
    let fallback = || {
        let method = operation.method.as_str().to_ascii_lowercase();
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let words = operation.path.split(|c: char| !usable(c));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        format!("{method}_{}", words.join("_"))
    };
    let prefix = format!("openapi__{document}");
    let word = id.map_or_else(fallback, str::to_owned);
    let mut name = shown_name(&prefix, &word);
    if !names.insert(name.clone()) {
        let hash = Hash::of(operation.to_string().as_bytes()).to_string();
        name = shown_name(&prefix, &format!("{word}_{}", &hash[..8]));
        names.insert(name.clone());
    }
    name
}
