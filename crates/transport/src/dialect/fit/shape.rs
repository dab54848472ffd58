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
use super::steps::{Steps, TooMany};

/// How many schemas are looked at: references may multiply. What lies beyond counts as open.
const LOOKS_MAX: u32 = 1_000;

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
    pub(super) properties: BTreeMap<String, PropertyChoice>,
    pub(super) required: BTreeSet<String>,
    pub(super) closed: bool,
}

/// The schemas that a property has in the alternatives.
#[derive(Clone, Debug)]
pub(super) struct PropertyChoice {
    schemas: Vec<Value>,
    /// Whether no alternative leaves it open.
    everywhere: bool,
}

/// Looks through a schema whose references are gathered.
pub(super) fn shape_of(top: &Value, steps: &mut Steps) -> Result<Shape, TooMany> {
    let mut look = SchemaWalk {
        top,
        trail: vec![],
        looks_left: LOOKS_MAX,
        steps,
    };
    Ok(look.shape(top)?.unwrap_or_default())
}

/// One look through a schema.
struct SchemaWalk<'s, 'c> {
    top: &'s Value,
    /// The references that are being followed.
    trail: Vec<&'s str>,
    looks_left: u32,
    steps: &'c mut Steps,
}

impl<'s> SchemaWalk<'s, '_> {
    /// `None` where nothing fits.
    fn shape(&mut self, schema: &'s Value) -> Result<Option<Shape>, TooMany> {
        let keywords = match schema {
            Value::Object(keywords) if self.looks_left > 0 => keywords,
            Value::Bool(false) => return Ok(None),
            _ => return Ok(Some(Shape::default())),
        };
        self.looks_left -= 1;
        let mut shape = Shape::own(keywords, self.steps)?;
        if let Some(meant) = self.referenced(keywords)? {
            let Some(meant) = meant else {
                return Ok(None);
            };
            shape = shape.and(meant, self.steps)?;
        }
        for part in list(keywords, "allOf") {
            let Some(part) = self.shape(part)? else {
                return Ok(None);
            };
            shape = shape.and(part, self.steps)?;
        }
        for keyword in ["anyOf", "oneOf"] {
            let mut shapes = vec![];
            for alternative in list(keywords, keyword) {
                shapes.extend(self.shape(alternative)?);
            }
            if !shapes.is_empty() {
                shape = shape.and(Shape::any(shapes, self.steps)?, self.steps)?;
            }
        }
        Ok(Some(shape))
    }

    /// What the reference of a schema means, if it has one that does not lead back.
    fn referenced(
        &mut self,
        keywords: &'s Map<String, Value>,
    ) -> Result<Option<Option<Shape>>, TooMany> {
        let reference = keywords.get("$ref").and_then(Value::as_str);
        let reference = reference.filter(|it| !self.trail.contains(it));
        let Some((reference, meant)) =
            reference.and_then(|it| Some((it, definition(self.top, it)?)))
        else {
            return Ok(None);
        };
        self.trail.push(reference);
        let shape = self.shape(meant)?;
        self.trail.pop();
        Ok(Some(shape))
    }
}

fn list<'s>(keywords: &'s Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'s Value> {
    let found = keywords.get(keyword).and_then(Value::as_array);
    found.into_iter().flatten()
}

impl Shape {
    /// What a schema says without its unions.
    fn own(keywords: &Map<String, Value>, steps: &mut Steps) -> Result<Self, TooMany> {
        let properties = keywords.get("properties");
        steps.take_all(properties.into_iter().chain(list(keywords, "required")))?;
        let properties = properties.and_then(Value::as_object);
        let properties = properties.into_iter().flatten().map(|(key, schema)| {
            let choice = PropertyChoice {
                schemas: vec![schema.clone()],
                everywhere: true,
            };
            (key.clone(), choice)
        });
        let required = list(keywords, "required").filter_map(Value::as_str);
        let has_patterns = keywords.contains_key("patternProperties");
        Ok(Self {
            properties: properties.collect(),
            required: required.map(Into::into).collect(),
            closed: !has_patterns && keywords.get("additionalProperties") == Some(&false.into()),
        })
    }

    /// What fits both.
    fn and(mut self, other: Self, steps: &mut Steps) -> Result<Self, TooMany> {
        for (key, choice) in other.properties {
            let both = match self.properties.remove(&key) {
                Some(own) => own.and(choice, steps)?,
                None => choice,
            };
            self.properties.insert(key, both);
        }
        self.required.extend(other.required);
        self.closed |= other.closed;
        Ok(self)
    }

    /// What fits any of several.
    fn any(shapes: Vec<Self>, steps: &mut Steps) -> Result<Self, TooMany> {
        let count = shapes.len();
        let closed_count = shapes.iter().filter(|shape| shape.closed).count();
        let mut required: Option<BTreeSet<String>> = None;
        let mut named: BTreeMap<String, NamedProperty> = BTreeMap::new();
        for shape in shapes {
            match &mut required {
                Some(common) => common.retain(|key| shape.required.contains(key)),
                None => required = Some(shape.required),
            }
            for (key, choice) in shape.properties {
                let known = named.entry(key).or_default();
                known.settled += usize::from(choice.everywhere);
                known.closed += usize::from(shape.closed);
                known.schemas.extend(choice.schemas);
            }
        }
        let mut properties = BTreeMap::new();
        for (key, known) in named {
            // One that does not name it leaves it open, unless it is closed.
            let settled = known.settled + (closed_count - known.closed);
            let choice = PropertyChoice {
                schemas: distinct(known.schemas, steps)?,
                everywhere: settled == count,
            };
            properties.insert(key, choice);
        }
        Ok(Self {
            properties,
            required: required.unwrap_or_default(),
            closed: closed_count == count,
        })
    }
}

/// What several alternatives say of a property.
#[derive(Default)]
struct NamedProperty {
    schemas: Vec<Value>,
    /// How many say all of it.
    settled: usize,
    /// How many of those that name it allow no others.
    closed: usize,
}

/// Each once, in their order.
fn distinct(mut values: Vec<Value>, steps: &mut Steps) -> Result<Vec<Value>, TooMany> {
    if values.len() > 1 {
        steps.take_all(&values)?;
        let mut met = BTreeSet::new();
        values.retain(|value| met.insert(value.to_string()));
    }
    Ok(values)
}

impl PropertyChoice {
    fn and(mut self, other: Self, steps: &mut Steps) -> Result<Self, TooMany> {
        let schemas = match (self.everywhere, other.everywhere) {
            (true, false) => return Ok(self),
            (false, true) => return Ok(other),
            (false, false) => {
                self.schemas.extend(other.schemas);
                distinct(self.schemas, steps)?
            }
            (true, true) => {
                steps.take_all(self.schemas.iter().chain(&other.schemas))?;
                both(self.schemas, &other.schemas)
            }
        };
        Ok(Self { schemas, ..self })
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

/// Two schemas with such keywords could not be put together without changing what they mean.
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

/// Both hold: the one, and any of the alternatives. Where the one has alternatives of its own already, the
/// others are left out, which says less and refuses nothing that fits.
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
    let (mut values, mut met) = (vec![], BTreeSet::new());
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
        let new = |value: &Value| met.insert(value.to_string());
        values.extend(listed.into_iter().filter(new));
    }
    Some(values)
}
