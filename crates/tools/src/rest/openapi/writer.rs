//! Writes a schema of a document as a schema that stands alone.
//!
//! What a reference names is written in its place, because many models read that best. A reference that leads
//! back to itself becomes a definition; where writing out would take too much room, every reference does.

use serde_json::{Map, Value};

use super::definitions::Definitions;
use super::reference::{Document, reference_of};

const DEPTH_MAX: usize = 64;

/// Why a schema was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    TooLarge,
    Bad(String),
}

/// How references are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum References {
    WrittenOut,
    Defined,
}

/// Writes the schemas of one tool.
pub(super) struct SchemaWriter<'w, 'd> {
    pub(super) document: &'w mut Document<'d>,
    pub(super) references: References,
    pub(super) nodes_left: usize,
    pub(super) definitions: Definitions<'d>,
}

impl<'d> SchemaWriter<'_, 'd> {
    pub(super) fn schema(&mut self, schema: &'d Value, depth: usize) -> Result<Value, Stop> {
        self.pay(1)?;
        if depth > DEPTH_MAX {
            return Err(Stop::TooLarge);
        }
        match schema {
            Value::Bool(_) => Ok(schema.clone()),
            Value::Object(fields) => match reference_of(schema) {
                Some(reference) => self.reference(reference, depth),
                None => self.object(fields, depth),
            },
            _ => Err(Stop::Bad(
                "a schema is neither an object nor true or false".into(),
            )),
        }
    }

    /// The definitions that the schemas refer to; they may refer to more.
    pub(super) fn finish(&mut self) -> Result<Option<Value>, Stop> {
        while let Some((name, reference)) = self.definitions.next_open() {
            let target = self.document.at(reference).map_err(Stop::Bad)?;
            let written = self.schema(target, 0)?;
            self.definitions.close(name, written);
        }
        Ok(self.definitions.take())
    }

    fn reference(&mut self, reference: &'d str, depth: usize) -> Result<Value, Stop> {
        let target = self.document.at(reference).map_err(Stop::Bad)?;
        let is_defined =
            self.references == References::Defined || self.document.is_recursive(reference);
        match is_defined {
            true => Ok(self.definitions.refer_to(reference)),
            false => self.schema(target, depth + 1),
        }
    }

    fn object(&mut self, fields: &'d Map<String, Value>, depth: usize) -> Result<Value, Stop> {
        let mut written = Map::new();
        for (key, value) in fields {
            if let Some(value) = self.keyword(key, value, depth)? {
                written.insert(key.clone(), value);
            }
        }
        forget_read_only(fields, &mut written);
        modernise(fields, &mut written);
        Ok(Value::Object(written))
    }

    /// The value of a keyword; `None` for one that says nothing about arguments.
    fn keyword(
        &mut self,
        key: &str,
        value: &'d Value,
        depth: usize,
    ) -> Result<Option<Value>, Stop> {
        let written = match (key, value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(fields)) => {
                let mut written = Map::new();
                for (name, schema) in fields.iter().filter(|(_, schema)| !is_read_only(schema)) {
                    written.insert(name.clone(), self.schema(schema, depth + 1)?);
                }
                Value::Object(written)
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                let schemas = schemas.iter().map(|schema| self.schema(schema, depth + 1));
                Value::Array(schemas.collect::<Result<_, _>>()?)
            }
            ("items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains", _)
            | ("propertyNames" | "unevaluatedProperties" | "unevaluatedItems", _) => {
                self.schema(value, depth + 1)?
            }
            ("example" | "examples" | "xml" | "externalDocs" | "discriminator" | "nullable", _)
            | ("readOnly" | "writeOnly" | "deprecated" | "$comment" | "$schema" | "$id", _)
            | ("$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$defs" | "definitions", _) => {
                return Ok(None);
            }
            _ if key.starts_with("x-") => return Ok(None),
            _ => {
                self.pay(size(value))?;
                value.clone()
            }
        };
        Ok(Some(written))
    }

    /// Paid before anything is written, so that no more is ever in memory than was allowed.
    fn pay(&mut self, nodes: usize) -> Result<(), Stop> {
        self.nodes_left = self.nodes_left.checked_sub(nodes).ok_or(Stop::TooLarge)?;
        Ok(())
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        Value::String(text) => 1 + text.len() / 64,
        _ => 1,
    }
}

/// What only answers hold is not asked of a model.
fn is_read_only(schema: &Value) -> bool {
    schema.get("readOnly") == Some(&Value::Bool(true))
}

fn forget_read_only(fields: &Map<String, Value>, written: &mut Map<String, Value>) {
    let properties = fields.get("properties").and_then(Value::as_object);
    let is_forgotten = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        properties
            .and_then(|it| it.get(name))
            .is_some_and(is_read_only)
    };
    if let Some(Value::Array(required)) = written.get_mut("required") {
        required.retain(|name| !is_forgotten(name));
    }
}

/// OpenAPI 3.0 writes a few things otherwise than JSON Schema does today.
fn modernise(fields: &Map<String, Value>, written: &mut Map<String, Value>) {
    if fields.get("nullable") == Some(&Value::Bool(true)) {
        if let Some(Value::String(kind)) = written.get("type") {
            let kinds: Value = [kind.as_str(), "null"].into_iter().collect();
            written.insert("type".into(), kinds);
        }
        if let Some(Value::Array(values)) = written.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
    }
    for (bound, exclusive) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        match written.get(exclusive) {
            Some(Value::Bool(true)) => {
                let limit = written.remove(bound);
                written.remove(exclusive);
                written.extend(limit.map(|limit| (exclusive.to_owned(), limit)));
            }
            Some(Value::Bool(false)) => drop(written.remove(exclusive)),
            _ => {}
        }
    }
}
