//! The operations of an OpenAPI document as tools, one for each.
//!
//! Of what a document may say, cookies, bodies that are not JSON and references to other documents are not
//! supported; the operations that need them are left out and named in a warning. However large or crooked a
//! document is, the work for it is bounded.

mod definitions;
mod operation;
mod parameter;
mod reference;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use reqwest::Method;
use serde_json::Value;

use super::error::RestError;
use super::header::{self, HeaderTemplate};
use super::settings::{Reach, Redirects};
use super::tool::{Shape, check_name, method};
use super::url::UrlTemplate;
use crate::tool::Tool;
use operation::{Compiler, NODES_OF_DOCUMENT_MAX, Operation};
use reference::Document;

/// More tools than that are of no use to a model, and each costs a schema.
const OPERATIONS_MAX: usize = 2_000;
/// A document that is not understood at all would otherwise fill a screen.
const WARNINGS_MAX: usize = 20;
/// What a path may offer; the order is that of the tools.
const METHODS: [&str; 7] = ["get", "head", "options", "put", "delete", "post", "patch"];

/// A document and which of its operations are wanted.
#[derive(Clone, PartialEq)]
pub struct OpenapiDocument {
    /// Letters, digits, `_` and `-`. The model sees `openapi__NAME__operation`.
    pub name: String,
    /// OpenAPI 3.0 or 3.1, as JSON.
    pub document: Value,
    /// Where the operations are; without it, the first server of the document.
    pub base_url: Option<String>,
    /// Sent with every request. No argument can change them.
    pub headers: BTreeMap<String, String>,
    /// The queue that all calls of its operations wait in; without one, the default queue.
    pub queue: Option<String>,
    /// The methods whose operations are wanted; none means all.
    pub include_methods: Vec<String>,
    /// The tags of which an operation must have one; none means that no tag is needed.
    pub tag_filter: Vec<String>,
    /// For all of its operations.
    pub redirects: Redirects,
    /// Where the names of its hosts may lead.
    pub reach: Reach,
}

/// The tools of a document, and what a person should know about operations that are not among them.
#[derive(Clone)]
pub struct OpenapiTools {
    /// In the order of the document.
    pub tools: Vec<Arc<dyn Tool>>,
    /// One for each operation that is left out or loses something, and a last one where there are more.
    pub warnings: Vec<String>,
}

pub(super) struct ReadDocument {
    pub(super) shapes: Vec<Shape>,
    pub(super) warnings: Vec<String>,
}

impl OpenapiDocument {
    /// A document with all of its operations and the usual policy.
    pub fn new(name: &str, document: Value) -> Self {
        Self {
            name: name.into(),
            document,
            base_url: None,
            headers: BTreeMap::new(),
            queue: None,
            include_methods: vec![],
            tag_filter: vec![],
            redirects: Redirects::default(),
            reach: Reach::default(),
        }
    }

    /// Finds every mistake that can be found without a call.
    pub fn check(&self) -> Result<(), RestError> {
        self.read().map(drop)
    }

    /// An operation that cannot be offered is a warning; only what concerns the whole document is an error.
    pub(super) fn read(&self) -> Result<ReadDocument, RestError> {
        check_name(&self.name, "an OpenAPI document")?;
        check_version(&self.document)?;
        let operations = self.operations(&self.methods()?)?;
        let mut compiler = Compiler {
            name: &self.name,
            document: Document::new(&self.document),
            base: self.base()?,
            headers: self.fixed_headers()?,
            redirects: self.redirects,
            reach: self.reach,
            nodes_left: NODES_OF_DOCUMENT_MAX,
        };
        let mut read = ReadDocument {
            shapes: vec![],
            warnings: vec![],
        };
        let mut names = BTreeSet::new();
        for operation in &operations {
            match compiler.shape(operation, &mut names) {
                Ok((shape, left_out)) => {
                    read.shapes.push(shape);
                    let warnings = left_out.iter().map(|what| format!("{operation}: {what}"));
                    read.warnings.extend(warnings);
                }
                Err(why) => read
                    .warnings
                    .push(format!("{operation} is left out: {why}")),
            }
        }
        self.shorten(&mut read.warnings);
        Ok(read)
    }

    fn shorten(&self, warnings: &mut Vec<String>) {
        let more = warnings.len().saturating_sub(WARNINGS_MAX);
        warnings.truncate(WARNINGS_MAX);
        for warning in warnings.iter_mut() {
            *warning = format!("openapi:{}: {warning}", self.name);
        }
        if more > 0 {
            warnings.push(format!("openapi:{}: and {more} more", self.name));
        }
    }

    /// Operations bring their own path and query; a query here would have no place.
    fn base(&self) -> Result<UrlTemplate, RestError> {
        let written = match &self.base_url {
            Some(url) => url.clone(),
            None => first_server(&self.document)?,
        };
        let base = UrlTemplate::parse(&written, "baseUrl")?;
        if base.places().next().is_some() || base.has_query() {
            return Err(RestError::at(
                "baseUrl",
                "it may hold neither parameters nor a query",
            ));
        }
        Ok(base)
    }

    /// They are the person's, often a key: a place in one would hand it to the model.
    fn fixed_headers(&self) -> Result<Vec<HeaderTemplate>, RestError> {
        let headers = header::read(&self.headers)?;
        match headers
            .iter()
            .find(|header| header.places().next().is_some())
        {
            None => Ok(headers),
            Some(header) => {
                let key = format!("headers.{}", header.name());
                Err(RestError::at(
                    key,
                    "the headers of a document hold no parameters",
                ))
            }
        }
    }

    /// The methods that are wanted; all where none is named.
    fn methods(&self) -> Result<Vec<Method>, RestError> {
        let wanted = self.include_methods.iter().map(|name| {
            let known = method(name).map(|(method, _)| method);
            let why = || format!("{name:?} is not a method that a tool may use");
            known.ok_or_else(|| RestError::at("includeMethods", why()))
        });
        wanted.collect()
    }

    fn operations(&self, methods: &[Method]) -> Result<Vec<Operation<'_>>, RestError> {
        let document = Document::new(&self.document);
        let paths = self.document.get("paths").and_then(Value::as_object);
        let mut found = vec![];
        for (path, item) in paths.into_iter().flatten() {
            let item = document.followed(item).unwrap_or(item);
            for (word, (method, effect)) in METHODS
                .iter()
                .filter_map(|word| Some((word, method(word)?)))
            {
                let Some(operation) = item.get(word).filter(|it| it.is_object()) else {
                    continue;
                };
                let is_wanted = methods.is_empty() || methods.contains(&method);
                if is_wanted && self.has_wanted_tag(operation) {
                    found.push(Operation {
                        path,
                        method,
                        effect,
                        item,
                        operation,
                    });
                }
            }
        }
        match found.len() {
            0 => Err(RestError::at(
                "spec",
                "it has none of the operations that were asked for; check includeMethods and tagFilter",
            )),
            1..=OPERATIONS_MAX => Ok(found),
            many => {
                let why = format!(
                    "it holds {many} operations, and the limit is {OPERATIONS_MAX}; choose some with tagFilter or includeMethods"
                );
                Err(RestError::at("spec", why))
            }
        }
    }

    fn has_wanted_tag(&self, operation: &Value) -> bool {
        let mut tags = operation
            .get("tags")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let is_wanted = |tag: &Value| self.tag_filter.iter().any(|wanted| tag == wanted);
        self.tag_filter.is_empty() || tags.any(is_wanted)
    }
}

fn check_version(document: &Value) -> Result<(), RestError> {
    let version = document.get("openapi").and_then(Value::as_str);
    match version {
        Some(version) if version.starts_with("3.") => Ok(()),
        Some(version) => {
            let why = format!("it is OpenAPI {version:?}; 3.0 and 3.1 are supported");
            Err(RestError::at("spec", why))
        }
        None if document.get("swagger").is_some() => Err(RestError::at(
            "spec",
            "it is a Swagger document; convert it to OpenAPI 3",
        )),
        None => Err(RestError::at(
            "spec",
            "it is not an OpenAPI document: `openapi` is missing",
        )),
    }
}

/// The first server's URL, with the usual values of its variables.
fn first_server(document: &Value) -> Result<String, RestError> {
    let server = document.get("servers").and_then(|servers| servers.get(0));
    let url = server
        .and_then(|server| server.get("url"))
        .and_then(Value::as_str);
    let absolute = url.filter(|url| url.contains("://"));
    let Some(mut url) = absolute.map(str::to_owned) else {
        let why = "the document names no server with a complete URL; set it here";
        return Err(RestError::at("baseUrl", why));
    };
    let variables = server.and_then(|server| server.get("variables"));
    for (name, variable) in variables.and_then(Value::as_object).into_iter().flatten() {
        let default = variable.get("default").and_then(Value::as_str);
        url = url.replace(&format!("{{{name}}}"), default.unwrap_or_default());
    }
    Ok(url)
}

/// Headers may hold secrets, and documents are long.
impl fmt::Debug for OpenapiDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenapiDocument")
            .field("name", &self.name)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OpenapiTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.tools.iter().map(|tool| &tool.spec().name);
        f.debug_struct("OpenapiTools")
            .field("tools", &names.collect::<Vec<_>>())
            .field("warnings", &self.warnings)
            .finish()
    }
}
