//! What services refuse, written down apart from what makes tools fit.

use bonded_kernel::Dialect;
use serde_json::Value;

/// Fails where a service would refuse a tool.
pub(crate) fn check(dialect: Dialect, name: &str, schema: &Value) {
    if let Err(why) = verdict(dialect, name, schema) {
        panic!("{dialect:?} refuses {name:?}: {why}: {schema}");
    }
}

fn verdict(dialect: Dialect, name: &str, schema: &Value) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let digit_first = name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
        return Err("a bad name".into());
    }
    if schema["type"] != "object" {
        return Err("no object".into());
    }
    let newest = jsonschema::draft202012::meta::validate(schema);
    newest.map_err(|error| format!("not of draft 2020-12: {error}"))?;
    match dialect {
        Dialect::Chat | Dialect::Responses => {
            at_the_top(schema, &["oneOf", "anyOf", "allOf", "enum", "const", "not"])?;
            if !schema["properties"].is_object() {
                return Err("object schema missing properties".into());
            }
            walk(schema, &openai_part)
        }
        Dialect::Messages => {
            at_the_top(schema, &["oneOf", "anyOf", "allOf"])?;
            let properties = schema["properties"].as_object().into_iter().flatten();
            let legal = |c: char| legal(c) || c == '.';
            for (key, _) in properties {
                if key.is_empty() || key.len() > 64 || !key.chars().all(legal) {
                    return Err(format!("the key {key:?}"));
                }
            }
            Ok(())
        }
        Dialect::Gemini if digit_first => Err("a name without a letter at its beginning".into()),
        Dialect::Gemini => {
            walk(schema, &gemini_part)?;
            let mut defs = schema["$defs"].as_object().into_iter().flatten();
            match defs.find(|(name, _)| unrolls(schema, name, &mut vec![])) {
                Some((name, _)) => Err(format!("{name:?} has no end when written out")),
                None => Ok(()),
            }
        }
    }
}

fn at_the_top(schema: &Value, banned: &[&str]) -> Result<(), String> {
    match banned
        .iter()
        .find(|keyword| schema.get(**keyword).is_some())
    {
        Some(keyword) => Err(format!("{keyword} at the top level")),
        None => Ok(()),
    }
}

fn openai_part(part: &Value) -> Result<(), String> {
    let is_array = match &part["type"] {
        Value::Array(types) => types.contains(&"array".into()),
        kind => kind == "array",
    };
    if is_array && part.get("items").is_none() {
        return Err("array schema missing items".into());
    }
    let patterns = part["pattern"].as_str().into_iter();
    let named = part["patternProperties"].as_object().into_iter().flatten();
    for pattern in patterns.chain(named.map(|(pattern, _)| pattern.as_str())) {
        if pattern.contains("\\p") || pattern.contains("(?<") || pattern.contains("\\z") {
            return Err(format!("{pattern:?} is not a 'regex'"));
        }
    }
    reference(part)
}

fn gemini_part(part: &Value) -> Result<(), String> {
    if part.is_boolean() {
        return Err("a boolean schema".into());
    }
    let allowed = |keyword: &String| {
        keyword.starts_with('$') || keyword == "description" || keyword == "default"
    };
    if part.get("$ref").is_some() && !part.as_object().is_some_and(|it| it.keys().all(allowed)) {
        return Err("$ref was set alongside unsupported fields".into());
    }
    reference(part)
}

fn reference(part: &Value) -> Result<(), String> {
    match part.get("$ref").and_then(Value::as_str) {
        Some(reference) if !reference.starts_with("#/$defs/") => {
            Err("references must start with #/$defs/".into())
        }
        _ => Ok(()),
    }
}

/// Looks at each part of a schema, except at the booleans that only open or close it.
fn walk(part: &Value, look: &dyn Fn(&Value) -> Result<(), String>) -> Result<(), String> {
    look(part)?;
    for (keyword, value) in part.as_object().into_iter().flatten() {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "dependentSchemas",
                Value::Object(named),
            ) => {
                named.values().try_for_each(|part| walk(part, look))?;
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter().try_for_each(|part| walk(part, look))?;
            }
            ("items" | "not" | "if" | "then" | "else" | "contains" | "propertyNames", part) => {
                walk(part, look)?;
            }
            ("additionalProperties", Value::Object(_)) => walk(value, look)?,
            _ => {}
        }
    }
    Ok(())
}

/// Whether a definition needs itself, whatever is left out.
fn unrolls<'s>(top: &'s Value, name: &'s str, trail: &mut Vec<&'s str>) -> bool {
    if trail.contains(&name) {
        return true;
    }
    trail.push(name);
    let found = needs(&top["$defs"][name]);
    let found = found.into_iter().any(|other| unrolls(top, other, trail));
    trail.pop();
    found
}

fn needs(part: &Value) -> Vec<&str> {
    let reference = part.get("$ref").and_then(Value::as_str);
    let mut found: Vec<&str> = reference
        .and_then(|it| it.strip_prefix("#/$defs/"))
        .into_iter()
        .collect();
    let required = part["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        found.extend(part["properties"].get(name).map(needs).unwrap_or_default());
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        found.extend(
            part[keyword]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(needs),
        );
    }
    found.extend(needs_of_items(part));
    found
}

fn needs_of_items(part: &Value) -> Vec<&str> {
    part.get("items")
        .filter(|items| items.is_object())
        .map(needs)
        .unwrap_or_default()
}
