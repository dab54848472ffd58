//! What all alternatives of a schema have in common, as one object.
//!
//! The arguments of a tool are always an object, so that a union at the top is one of objects. A model does best with
//! one object that names every property that any alternative has, and demands those that all of them demand; which
//! go together stands in the tool's description. Wrapping the union in a property of its own would keep it whole, but
//! hide every argument one level deeper than the tool's own words speak of.
//!
//! Whatever fits an alternative with the properties that it names fits the object. A property that one alternative
//! names and another one leaves open is shown as named: the kernel judges by the tool's own schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::refs::definition;

/// How many schemas are looked at: references may multiply. What lies beyond counts as open.
const STEPS_MAX: u32 = 1_000;

/// Keywords whose meaning depends on others beside them, so that they are not put together with any.
const ENTANGLED: [&str; 7] = [
    "$ref",
    "contains",
    "else",
    "if",
    "maxContains",
    "minContains",
    "then",
];

/// Keywords for the reader: it does no harm if one is left out.
const WORDS: [&str; 4] = ["default", "description", "examples", "title"];

/// An object: its properties, those that must be there, and whether there may be others.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub(super) properties: BTreeMap<String, Choice>,
    pub(super) required: BTreeSet<String>,
    pub(super) closed: bool,
}

/// The schemas that a property has in the alternatives.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    schemas: Vec<Value>,
    /// Whether no alternative leaves it open.
    everywhere: bool,
}

/// Looks through a schema whose references are gathered.
pub(super) fn shape_of(top: &Value) -> Shape {
    let mut look = Look {
        top,
        trail: vec![],
        steps_left: STEPS_MAX,
    };
    look.shape(top).unwrap_or_default()
}

struct Look<'s> {
    top: &'s Value,
    /// The references that are being followed.
    trail: Vec<&'s str>,
    steps_left: u32,
}

impl<'s> Look<'s> {
    /// `None` where nothing fits.
    fn shape(&mut self, schema: &'s Value) -> Option<Shape> {
        let keywords = match schema {
            Value::Object(keywords) if self.steps_left > 0 => keywords,
            Value::Bool(false) => return None,
            _ => return Some(Shape::default()),
        };
        self.steps_left -= 1;
        let mut shape = Shape::own(keywords);
        if let Some(meant) = self.referenced(keywords) {
            shape = shape.and(meant?);
        }
        for part in list(keywords, "allOf") {
            shape = shape.and(self.shape(part)?);
        }
        for keyword in ["anyOf", "oneOf"] {
            let alternatives = list(keywords, keyword);
            let shapes: Vec<Shape> = alternatives.filter_map(|it| self.shape(it)).collect();
            if !shapes.is_empty() {
                shape = shape.and(Shape::any(&shapes));
            }
        }
        Some(shape)
    }

    fn referenced(&mut self, keywords: &'s Map<String, Value>) -> Option<Option<Shape>> {
        let reference = keywords.get("$ref")?.as_str()?;
        let meant = definition(self.top, reference)?;
        if self.trail.contains(&reference) {
            return None;
        }
        self.trail.push(reference);
        let shape = self.shape(meant);
        self.trail.pop();
        Some(shape)
    }
}

fn list<'s>(keywords: &'s Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'s Value> {
    let found = keywords.get(keyword).and_then(Value::as_array);
    found.into_iter().flatten()
}

impl Shape {
    /// What a schema says without its unions.
    fn own(keywords: &Map<String, Value>) -> Self {
        let properties = keywords.get("properties").and_then(Value::as_object);
        let properties = properties.into_iter().flatten().map(|(key, schema)| {
            let choice = Choice {
                schemas: vec![schema.clone()],
                everywhere: true,
            };
            (key.clone(), choice)
        });
        let required = list(keywords, "required").filter_map(Value::as_str);
        let has_patterns = keywords.contains_key("patternProperties");
        Self {
            properties: properties.collect(),
            required: required.map(Into::into).collect(),
            closed: !has_patterns && keywords.get("additionalProperties") == Some(&false.into()),
        }
    }

    /// What fits both.
    fn and(mut self, other: Self) -> Self {
        for (key, choice) in other.properties {
            let both = match self.properties.remove(&key) {
                Some(own) => own.and(choice),
                None => choice,
            };
            self.properties.insert(key, both);
        }
        self.required.extend(other.required);
        self.closed |= other.closed;
        self
    }

    /// What fits any of several.
    fn any(shapes: &[Self]) -> Self {
        let closed = shapes.iter().all(|shape| shape.closed);
        let mut required: Option<BTreeSet<String>> = None;
        let mut properties: BTreeMap<String, Choice> = BTreeMap::new();
        for shape in shapes {
            required = Some(match required {
                Some(common) => &common & &shape.required,
                None => shape.required.clone(),
            });
            for (key, choice) in &shape.properties {
                let known = properties.entry(key.clone()).or_insert_with(|| Choice {
                    schemas: vec![],
                    everywhere: shapes.iter().all(|shape| shape.settles(key)),
                });
                known.add(&choice.schemas);
            }
        }
        Self {
            properties,
            required: required.unwrap_or_default(),
            closed,
        }
    }

    /// Whether it says what a property is, or that there is none.
    fn settles(&self, key: &str) -> bool {
        match self.properties.get(key) {
            Some(choice) => choice.everywhere,
            None => self.closed,
        }
    }
}

impl Choice {
    fn add(&mut self, schemas: &[Value]) {
        for schema in schemas {
            if !self.schemas.contains(schema) {
                self.schemas.push(schema.clone());
            }
        }
    }

    fn and(mut self, other: Self) -> Self {
        match (self.everywhere, other.everywhere) {
            (true, false) => self,
            (false, true) => other,
            (false, false) => {
                self.add(&other.schemas);
                self
            }
            (true, true) => Self {
                schemas: both(self.schemas, &other.schemas),
                everywhere: true,
            },
        }
    }

    /// One schema for the property.
    pub(super) fn into_schema(mut self) -> Value {
        if self.schemas.len() == 1 {
            return self.schemas.remove(0);
        }
        match values(&self.schemas) {
            Some(values) => json!({ "enum": values }),
            None => json!({ "anyOf": self.schemas }),
        }
    }
}

/// Schemas for what fits one of these and one of those: exact where that is simple, else looser.
fn both(these: Vec<Value>, those: &[Value]) -> Vec<Value> {
    match (&these[..], those) {
        (one, other) if one == other => these,
        ([one], [other]) if is_simple(one) && is_simple(other) => merged(one, other),
        ([one], alternatives) | (alternatives, [one]) => narrowed(one, alternatives),
        _ => these,
    }
}

fn is_simple(schema: &Value) -> bool {
    let entangled =
        |keywords: &Map<String, Value>| ENTANGLED.iter().any(|it| keywords.contains_key(*it));
    schema
        .as_object()
        .is_some_and(|keywords| !entangled(keywords))
}

/// One schema with the keywords of both, where they do not differ about any.
fn merged(one: &Value, other: &Value) -> Vec<Value> {
    let mut merged = one.clone();
    let others = other.as_object().into_iter().flatten();
    for (keyword, value) in others {
        match merged.get(keyword) {
            Some(own) if own != value && !WORDS.contains(&keyword.as_str()) => {
                return narrowed(one, std::slice::from_ref(other));
            }
            Some(_) => {}
            None => merged[keyword] = value.clone(),
        }
    }
    vec![merged]
}

fn narrowed(one: &Value, alternatives: &[Value]) -> Vec<Value> {
    let mut narrowed = one.clone();
    match narrowed.as_object_mut() {
        Some(keywords) if !keywords.contains_key("anyOf") => {
            keywords.insert("anyOf".into(), alternatives.into());
            vec![narrowed]
        }
        _ => vec![one.clone()],
    }
}

/// The values that schemas allow, where each lists them.
fn values(schemas: &[Value]) -> Option<Vec<Value>> {
    let mut values = vec![];
    for schema in schemas {
        let keywords = schema.as_object()?;
        let known = ["const", "description", "enum", "title", "type"];
        if !keywords
            .keys()
            .all(|keyword| known.contains(&keyword.as_str()))
        {
            return None;
        }
        let listed = match (keywords.get("const"), keywords.get("enum")) {
            (Some(one), None) => vec![one.clone()],
            (None, Some(Value::Array(several))) => several.clone(),
            _ => return None,
        };
        for value in listed {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    Some(values)
}
