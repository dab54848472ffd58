//! The schema of a tool's arguments.
//!
//! People write it in three ways: whole, as bare properties, or not at all. All of them become the schema of an
//! object, and it is checked against the places of the request, so that a slip in a name is found when the
//! settings are read and not by a model.

use serde_json::{Map, Value, json};

use super::error::RestError;

const KEY: &str = "parametersSchema";

/// The schema that a person wrote, as the schema of an object. Bare properties are wrapped; without any, each
/// place is a text that must be given.
pub(super) fn of_parameters(written: Option<&Value>, places: &[&str]) -> Result<Value, RestError> {
    let schema = match written {
        None => of_places(places),
        Some(Value::Object(fields)) if fields.is_empty() => of_places(places),
        Some(Value::Object(fields)) => as_object(fields)?,
        Some(_) => return Err(RestError::at(KEY, "it must be a JSON Schema of an object")),
    };
    check(&schema)
        .map_err(|why| RestError::at(KEY, format!("it is not a usable JSON Schema: {why}")))?;
    check_places(&schema, places)?;
    Ok(schema)
}

/// Nothing else may be given: an argument without a place would vanish without a word.
fn of_places(places: &[&str]) -> Value {
    let properties: Map<String, Value> = places
        .iter()
        .map(|place| ((*place).to_owned(), json!({ "type": "string" })))
        .collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn as_object(fields: &Map<String, Value>) -> Result<Value, RestError> {
    const OF_OBJECTS: [&str; 6] = [
        "properties",
        "required",
        "additionalProperties",
        "allOf",
        "anyOf",
        "oneOf",
    ];
    let mut schema = fields.clone();
    match fields.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None if OF_OBJECTS.iter().any(|key| fields.contains_key(*key)) => {
            schema.insert("type".into(), "object".into());
        }
        // Properties alone: every value is a schema.
        _ if fields.values().all(Value::is_object) => {
            return Ok(json!({ "type": "object", "properties": fields }));
        }
        _ => {
            let why = "it must be a JSON Schema whose type is \"object\", or the properties of one";
            return Err(RestError::at(KEY, why));
        }
    }
    Ok(Value::Object(schema))
}

/// Whether a schema can check arguments.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    bonded_kernel::Schema::checked(schema).map(drop)
}

/// A place that no argument can fill is a slip of the pen.
fn check_places(schema: &Value, places: &[&str]) -> Result<(), RestError> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    let has = |place: &str| properties.contains_key(place) || properties.contains_key(top(place));
    match places.iter().find(|place| !has(place)) {
        None => Ok(()),
        Some(place) => {
            let why = format!(
                "it has no property {:?}, which the request holds as ${{parameters.{place}}}",
                top(place)
            );
            Err(RestError::at(KEY, why))
        }
    }
}

/// The argument that a way into it begins with.
fn top(place: &str) -> &str {
    place.split('.').next().unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_alone_are_wrapped_and_places_alone_are_texts() {
        let number = json!({ "type": "number" });
        let wrapped = json!({ "type": "object", "properties": { "x": number } });
        for (written, places, expected) in [
            (Some(wrapped.clone()), &["x"][..], wrapped.clone()),
            (
                Some(json!({ "properties": { "x": number } })),
                &["x"],
                wrapped.clone(),
            ),
            (Some(json!({ "x": number })), &["x"], wrapped),
            (
                Some(json!({ "type": number })),
                &["type"],
                json!({ "type": "object", "properties": { "type": number } }),
            ),
            (
                None,
                &["a", "b.c", "a"],
                json!({ "type": "object", "required": ["a", "b.c"], "additionalProperties": false,
                        "properties": { "a": { "type": "string" }, "b.c": { "type": "string" } } }),
            ),
        ] {
            let found = of_parameters(written.as_ref(), places);
            assert_eq!(found, Ok(expected), "{written:?}");
        }
    }

    #[test]
    fn what_is_no_schema_of_an_object_is_refused() {
        for written in [
            json!("text"),
            json!([]),
            json!({ "type": "string" }),
            json!({ "type": ["object"] }),
            json!({ "x": 1 }),
            json!({ "type": "object", "properties": { "x": { "type": "strange" } } }),
            json!({ "type": "object", "properties": { "x": { "pattern": "(" } } }),
            json!({ "type": "object", "properties": { "y": {} } }),
        ] {
            let error = of_parameters(Some(&written), &["x"]).expect_err("it is bad");
            assert_eq!(error.key(), "parametersSchema", "{written}");
        }
    }
}
