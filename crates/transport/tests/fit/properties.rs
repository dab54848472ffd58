//! Schemas and arguments that nobody thought of.

use bonded_kernel::{Catalog, Dialect, Schema};
use bonded_transport::dialect::{Fitted, fit};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{check_request, checker, dialects, spec};

const KEYS: [&str; 8] = ["a", "b", "kind", "a b", "$top", "a_b", "_top", "x[0]"];

/// How deep a sample goes before it has had enough.
const DEPTH_MAX: u32 = 6;

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(KEYS.to_vec())
}

/// Values, and parts of schemas without parts.
fn leaf() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!(true),
        json!({ "type": "string" }),
        json!({ "type": "string", "minLength": 2, "description": "A word." }),
        json!({ "type": "string", "pattern": "^\\p{L}+$" }),
        json!({ "type": "integer", "exclusiveMinimum": 0 }),
        json!({ "type": ["integer", "null"], "default": null }),
        json!({ "const": "one" }),
        json!({ "enum": ["one", "two", 3] }),
        json!({ "type": "array" }),
        json!({ "type": ["array", "string"], "title": "T" }),
        json!({ "type": "array", "prefixItems": [{ "type": "string" }] }),
        json!({ "type": "object" }),
        json!({ "type": "object", "patternProperties": { "^\\p{L}": { "type": "string" } }, "additionalProperties": false }),
        json!({ "$ref": "#/$defs/A" }),
        json!({ "$ref": "#/$defs/A", "title": "T", "description": "An A." }),
        json!({ "$ref": "#/$defs/A", "maxProperties": 3 }),
        json!({ "$ref": "#/definitions/B" }),
        json!({ "$ref": "#/definitions/B/properties/a%20b" }),
        json!({ "$ref": "#" }),
    ])
}

/// An object of parts, perhaps with alternatives of its own.
fn object(part: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let properties = prop::collection::btree_map(key(), part.clone(), 0..4);
    let required = prop::collection::btree_set(key(), 0..3);
    let closed = prop::option::weighted(0.3, prop_oneof![Just(json!(false)), part.clone()]);
    let unions = prop::collection::btree_map(
        prop::sample::select(vec!["anyOf", "oneOf", "allOf"]),
        prop::collection::vec(part, 1..3),
        0..2,
    );
    (properties, required, closed, unions).prop_map(|(properties, required, closed, unions)| {
        let required: Vec<&str> = required
            .into_iter()
            .filter(|key| properties.contains_key(key) || key.len() == 1)
            .collect();
        let mut object =
            json!({ "type": "object", "properties": properties, "required": required });
        if let Some(closed) = closed {
            object["additionalProperties"] = closed;
        }
        for (keyword, parts) in unions {
            object[keyword] = parts.into();
        }
        object
    })
}

fn part() -> BoxedStrategy<Value> {
    leaf()
        .boxed()
        .prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                3 => object(inner.clone().boxed()),
                1 => inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
                1 => prop::collection::vec(inner, 1..3).prop_map(|parts| json!({ "anyOf": parts })),
            ]
            .boxed()
        })
        .boxed()
}

/// The schema of a tool.
fn tool_schema() -> impl Strategy<Value = Value> {
    let extra = prop::sample::select(vec![
        json!({}),
        json!({ "not": { "required": ["zzz"] } }),
        json!({ "dependentRequired": { "a b": ["a"] } }),
        json!({ "if": { "required": ["a b"] }, "then": { "required": ["b"] } }),
        json!({ "patternProperties": { "^a_": { "type": "integer" } } }),
        json!({ "propertyNames": { "maxLength": 4 } }),
        json!({ "unevaluatedProperties": false }),
        json!({ "minProperties": 1 }),
        json!({ "$ref": "#/definitions/B" }),
    ]);
    (object(part()), part(), object(part()), extra, any::<bool>()).prop_map(
        |(top, a, b, extra, bare)| {
            let mut schema = if bare {
                json!({ "type": "object" })
            } else {
                top
            };
            schema["$defs"] = json!({ "A": a });
            schema["definitions"] = json!({ "B": b });
            schema["definitions"]["B"]["properties"]["a b"] = json!({ "type": "string" });
            for (keyword, value) in extra.as_object().into_iter().flatten() {
                schema[keyword] = value.clone();
            }
            schema
        },
    )
}

/// A tool that the kernel takes.
fn usable(schema: &Value) -> Option<(Catalog, Schema)> {
    let compiled = Schema::new(schema).ok()?;
    Some((Catalog::new([spec("t", schema)]).ok()?, compiled))
}

/// A little randomness that proptest draws once.
struct Luck(u64);

impl Luck {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// Arguments that fit a tool by the very alternatives that they were made for: what another alternative leaves open is
/// not promised to fit what is sent.
fn arguments_of(schema: &Value, compiled: &Schema, luck: &mut Luck) -> Option<Value> {
    let mut named = Map::new();
    let mut taken = vec![];
    gather(schema, schema, &mut named, luck, 0, &mut taken);
    let arguments = sample_object(schema, &named, luck, 0);
    let is_named = |key: &String| {
        named
            .get("properties")
            .is_some_and(|it| it.get(key).is_some())
    };
    if !compiled.fits(&arguments) || !arguments.as_object()?.keys().all(is_named) {
        return None;
    }
    let mut narrowed = schema.clone();
    if taken.is_empty() {
        return Some(arguments);
    }
    let parts = schema["allOf"].as_array().into_iter().flatten();
    narrowed["allOf"] = parts.chain(&taken).cloned().collect();
    Schema::new(&narrowed)
        .ok()?
        .fits(&arguments)
        .then_some(arguments)
}

/// A value that perhaps fits a schema. An object has no keys but those that its schema, or the alternative that was
/// taken, names.
fn sample(top: &Value, schema: &Value, luck: &mut Luck, depth: u32) -> Value {
    let mut named = Map::new();
    gather(top, schema, &mut named, luck, depth, &mut vec![]);
    let values = ["const", "enum"].iter().find_map(|it| named.get(*it));
    match values {
        Some(Value::Array(values)) => return values[luck.below(values.len())].clone(),
        Some(value) => return value.clone(),
        None => {}
    }
    let kinds = match named.get("type") {
        Some(Value::Array(kinds)) => kinds.clone(),
        Some(kind) => vec![kind.clone()],
        None => vec![json!("string"), json!("integer"), json!("object")],
    };
    match kinds[luck.below(kinds.len())].as_str().unwrap_or_default() {
        "string" => json!(["one", "ab", "", "été"][luck.below(4)]),
        "integer" => json!(luck.below(5)),
        "array" => {
            let items = named
                .get("items")
                .cloned()
                .unwrap_or(json!({ "type": "string" }));
            let count = if depth > DEPTH_MAX { 0 } else { luck.below(3) };
            (0..count)
                .map(|_| sample(top, &items, luck, depth + 1))
                .collect::<Vec<_>>()
                .into()
        }
        "object" => sample_object(top, &named, luck, depth),
        _ => Value::Null,
    }
}

fn sample_object(top: &Value, named: &Map<String, Value>, luck: &mut Luck, depth: u32) -> Value {
    let required = named
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let properties = named
        .get("properties")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let mut object = Map::new();
    for (key, part) in &properties {
        if required.contains(&json!(key)) || (depth < DEPTH_MAX && luck.below(2) == 0) {
            object.insert(key.clone(), sample(top, part, luck, depth + 1));
        }
    }
    for key in required.iter().filter_map(Value::as_str) {
        if !object.contains_key(key) {
            object.insert(key.into(), json!("one"));
        }
    }
    object.into()
}

/// What a schema says with its references followed and one of its alternatives taken.
fn gather(
    top: &Value,
    schema: &Value,
    named: &mut Map<String, Value>,
    luck: &mut Luck,
    depth: u32,
    taken: &mut Vec<Value>,
) {
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(more)) => {
                let known = named.entry("properties").or_insert_with(|| json!({}));
                more.iter()
                    .for_each(|(key, part)| known[key] = part.clone());
            }
            ("required", Value::Array(more)) => {
                let known = named.entry("required").or_insert_with(|| json!([]));
                known
                    .as_array_mut()
                    .expect("a list")
                    .extend(more.iter().cloned());
            }
            ("const" | "enum" | "type" | "items", value) => {
                named.insert(keyword.clone(), value.clone());
            }
            _ => {}
        }
    }
    if depth > 2 * DEPTH_MAX {
        return;
    }
    let reference = schema.get("$ref").and_then(Value::as_str).unwrap_or("none");
    if let Some(meant) = top.pointer(&reference[1..].replace("%20", " ")) {
        gather(top, meant, named, luck, depth + 1, taken);
    }
    let list = |keyword: &str| {
        schema
            .get(keyword)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    for part in list("allOf") {
        gather(top, &part, named, luck, depth + 1, taken);
    }
    for alternatives in [list("anyOf"), list("oneOf")] {
        if !alternatives.is_empty() {
            let one = &alternatives[luck.below(alternatives.len())];
            taken.push(one.clone());
            gather(top, one, named, luck, depth + 1, taken);
        }
    }
}

fn swapped(fitted: &Fitted<'_>, arguments: &Value) -> Value {
    let text = arguments.to_string();
    let text = fitted.swap_keys(&text).unwrap_or(text);
    serde_json::from_str(&text).expect("JSON")
}

/// Whether the top says nothing but which keys there are: then what is sent says exactly as much.
fn says_only_keys(schema: &Value) -> bool {
    let plain = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "$defs",
        "definitions",
        "minProperties",
    ];
    let mut keywords = schema.as_object().into_iter().flatten();
    keywords.all(|(keyword, _)| plain.contains(&keyword.as_str()))
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_sent_is_taken(schema in tool_schema()) {
        prop_assume!(usable(&schema).is_some());
        let spec = spec("t", &schema);
        for dialect in dialects() {
            let fitted = fit(&spec, dialect);
            let fitted = fitted.map_err(|error| TestCaseError::fail(format!("{error}: {schema}")))?;
            checker::check(dialect, &fitted.name, &fitted.schema);
            check_request(dialect, &spec);
        }
    }

    #[test]
    fn arguments_of_a_tool_fit_what_is_sent_and_come_back(schema in tool_schema(), seed in any::<u64>()) {
        let Some((_, compiled)) = usable(&schema) else {
            return Err(TestCaseError::reject("no tool"));
        };
        let mut luck = Luck(seed);
        let arguments = (0..20).find_map(|_| arguments_of(&schema, &compiled, &mut luck));
        let Some(arguments) = arguments else {
            return Err(TestCaseError::reject("no arguments"));
        };
        let spec = spec("t", &schema);
        for dialect in dialects() {
            let fitted = fit(&spec, dialect).expect("it fits");
            let sent = swapped(&fitted, &arguments);
            let taken = Schema::new(&fitted.schema).expect("a schema");
            prop_assert!(taken.fits(&sent), "{dialect:?}: {sent} is not taken by {}", fitted.schema);
            prop_assert_eq!(&swapped(&fitted, &sent), &arguments);
        }
    }

    #[test]
    fn arguments_for_what_is_sent_are_judged_by_the_tool(schema in tool_schema(), seed in any::<u64>()) {
        let Some((catalog, compiled)) = usable(&schema) else {
            return Err(TestCaseError::reject("no tool"));
        };
        let spec = spec("t", &schema);
        for dialect in dialects() {
            let fitted = fit(&spec, dialect).expect("it fits");
            let sent = sample(&fitted.schema, &fitted.schema, &mut Luck(seed), 0);
            let own = swapped(&fitted, &sent);
            prop_assert_eq!(&swapped(&fitted, &own), &sent);
            prop_assert_eq!(catalog.check_arguments("t", &own).is_ok(), compiled.fits(&own));
            if dialect == Dialect::Messages && says_only_keys(&schema) {
                let taken = Schema::new(&fitted.schema).expect("a schema");
                prop_assert_eq!(taken.fits(&sent), compiled.fits(&own), "{} {}", sent, fitted.schema);
            }
        }
    }

    #[test]
    fn any_keys_come_back(schema in tool_schema(), keys in prop::collection::btree_map("[a-z_$\\[\\] .0-9]{0,6}", 0..9u8, 0..6)) {
        prop_assume!(usable(&schema).is_some());
        let spec = spec("t", &schema);
        let mut own = json!(keys);
        for key in KEYS {
            own[key] = json!(key.len());
        }
        for dialect in dialects() {
            let fitted = fit(&spec, dialect).expect("it fits");
            prop_assert_eq!(&swapped(&fitted, &swapped(&fitted, &own)), &own);
        }
    }
}
