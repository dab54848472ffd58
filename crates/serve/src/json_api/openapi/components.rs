//! The schemas of bodies, as the document has them.
//!
//! Two generators, one for each direction. A name that both would use for different things is found by a panic in the
//! test.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// A status, and the schema of its body where it has one.
pub(crate) type ResponseRow = (u16, Option<Value>);

/// Whether a body must be there, and its schema.
pub(crate) type RequestRow = (bool, Value);

/// Everything that the document's bodies refer to. What is read and what is written differ: a field that may be left out
/// of a request is always there in an answer.
pub(crate) struct Components {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Components {
    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
        });
        Self {
            requests: settings.clone().for_deserialize().into_generator(),
            answers: settings.for_serialize().into_generator(),
        }
    }

    pub(crate) fn request<T: JsonSchema>(&mut self) -> Value {
        self.requests.subschema_for::<T>().to_value()
    }

    pub(crate) fn answer<T: JsonSchema>(&mut self) -> Value {
        self.answers.subschema_for::<T>().to_value()
    }

    pub(crate) fn into_schemas(mut self) -> Map<String, Value> {
        let mut schemas = Map::new();
        let requests = self.requests.take_definitions(false);
        let answers = self.answers.take_definitions(false);
        let requests = requests.into_iter().map(|row| (row, false));
        for ((name, mut schema), is_answer) in
            requests.chain(answers.into_iter().map(|row| (row, true)))
        {
            tidy(&mut schema, is_answer);
            let other = schemas.insert(name.clone(), schema);
            assert!(other.is_none(), "two schemas are called {name}");
        }
        schemas
    }
}

/// Leaves out what only Rust means, and says that an answer has no fields but those of its type.
fn tidy(schema: &mut Value, is_answer: bool) {
    let Value::Object(fields) = schema else {
        return;
    };
    // The width of a number is ours to change.
    let is_width = |format: &str| format.contains("int") || ["double", "float"].contains(&format);
    if fields
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(is_width)
    {
        fields.remove("format");
    }
    if fields.get("additionalProperties") == Some(&Value::Bool(true)) {
        fields.remove("additionalProperties");
    }
    if let Some(Value::String(text)) = fields.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for property in properties.values_mut() {
            if *property == Value::Bool(true) {
                *property = json!({});
            }
            tidy(property, is_answer);
        }
        if is_answer {
            fields.insert("additionalProperties".to_owned(), false.into());
        }
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(inner) {
            tidy(inner, is_answer);
        }
    }
    for choices in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(choices)) = fields.get_mut(choices) {
            choices.iter_mut().for_each(|it| tidy(it, is_answer));
        }
    }
}
