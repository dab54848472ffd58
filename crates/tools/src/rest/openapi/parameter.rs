//! The parameters of an operation, each an argument of its tool.

use std::collections::BTreeSet;

use reqwest::header::HeaderName;
use serde_json::Value;

use super::operation::Operation;
use super::reference::Document;
use crate::rest::url::ListStyle;

/// The argument that is the body.
pub(super) const BODY: &str = "body";

/// Where a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterLocation {
    Path,
    Query,
    Header,
}

pub(super) struct Parameter<'d> {
    /// As the document names it.
    pub(super) name: &'d str,
    /// As the model names it.
    pub(super) property: String,
    pub(super) place: ParameterLocation,
    pub(super) is_required: bool,
    pub(super) schema: &'d Value,
    pub(super) description: Option<&'d str>,
    pub(super) list: ListStyle,
}

/// The parameters that can be sent, and what is said of the others. A parameter that is needed and cannot be
/// sent is an error.
pub(super) struct Parameters<'d> {
    pub(super) sent: Vec<Parameter<'d>>,
    pub(super) left_out: Vec<String>,
}

impl<'d> Parameters<'d> {
    /// `fixed` are the headers that the person set; no argument may change them.
    pub(super) fn read(
        document: &Document<'d>,
        operation: &Operation<'d>,
        fixed: &[HeaderName],
    ) -> Result<Self, String> {
        let mut all = Self {
            sent: vec![],
            left_out: vec![],
        };
        let mut taken = BTreeSet::from([BODY.to_owned()]);
        for written in written(document, operation)? {
            let is_required = written.get("required") == Some(&Value::Bool(true));
            match parameter(written, fixed, &mut taken) {
                Ok(parameter) => all.sent.extend(parameter),
                Err(why) if is_required => return Err(why),
                Err(why) => all.left_out.push(why),
            }
        }
        Ok(all)
    }
}

/// Those of the operation, then those of its path that it does not replace.
fn written<'d>(
    document: &Document<'d>,
    operation: &Operation<'d>,
) -> Result<Vec<&'d Value>, String> {
    let mut all: Vec<&Value> = vec![];
    for holder in [operation.operation, operation.item] {
        let list = holder.get("parameters").and_then(Value::as_array);
        for parameter in list.into_iter().flatten() {
            let parameter = document.followed(parameter)?;
            let is_same = |other: &&Value| {
                ["name", "in"]
                    .iter()
                    .all(|key| other.get(key) == parameter.get(key))
            };
            if !all.iter().any(is_same) {
                all.push(parameter);
            }
        }
    }
    Ok(all)
}

/// A parameter; `None` for a header that is not the model's to set.
fn parameter<'d>(
    written: &'d Value,
    fixed: &[HeaderName],
    taken: &mut BTreeSet<String>,
) -> Result<Option<Parameter<'d>>, String> {
    let text = |key: &str| written.get(key).and_then(Value::as_str);
    let name = text("name").ok_or("a parameter has no name")?;
    let place = match text("in") {
        Some("path") => ParameterLocation::Path,
        Some("query") => ParameterLocation::Query,
        Some("header") if is_reserved(name, fixed) => return Ok(None),
        Some("header") => ParameterLocation::Header,
        other => {
            let other = other.unwrap_or("nowhere");
            return Err(format!(
                "the parameter {name:?} is sent by {other}, which is not supported"
            ));
        }
    };
    let style = text("style");
    if place != ParameterLocation::Query && style.is_some_and(|style| style != "simple") {
        return Err(format!(
            "the style of the parameter {name:?} is not supported"
        ));
    }
    const ANYTHING: &Value = &Value::Bool(true);
    let content = written.get("content").and_then(Value::as_object);
    let in_content = content.and_then(|kinds| kinds.values().next()?.get("schema"));
    let is_required =
        written.get("required") == Some(&Value::Bool(true)) || place == ParameterLocation::Path;
    Ok(Some(Parameter {
        name,
        property: property(name, text("in").unwrap_or_default(), taken),
        place,
        is_required,
        schema: written.get("schema").or(in_content).unwrap_or(ANYTHING),
        description: text("description"),
        list: match content {
            Some(_) => ListStyle::Json,
            None => list_style(place, style, written.get("explode")),
        },
    }))
}

/// What the person set, what the connection sets, and what other parts of a document decide.
fn is_reserved(name: &str, fixed: &[HeaderName]) -> bool {
    const DECIDED: [&str; 3] = ["accept", "authorization", "content-type"];
    let name = name.to_ascii_lowercase();
    DECIDED.contains(&name.as_str()) || fixed.iter().any(|header| header.as_str() == name)
}

fn list_style(place: ParameterLocation, style: Option<&str>, explode: Option<&Value>) -> ListStyle {
    let explode = explode.and_then(Value::as_bool);
    match place {
        ParameterLocation::Path | ParameterLocation::Header => ListStyle::Joined(","),
        ParameterLocation::Query => match style.unwrap_or("form") {
            "deepObject" => ListStyle::Fields,
            "spaceDelimited" if explode != Some(true) => ListStyle::Joined(" "),
            "pipeDelimited" if explode != Some(true) => ListStyle::Joined("|"),
            "form" if explode == Some(false) => ListStyle::Joined(","),
            _ => ListStyle::Repeated,
        },
    }
}

/// A name that every provider takes and that no other argument has.
fn property(name: &str, place: &str, taken: &mut BTreeSet<String>) -> String {
    let usable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain: String = name
        .chars()
        .map(|c| if usable(c) { c } else { '_' })
        .take(56)
        .collect();
    let mut property = plain.clone();
    let mut count = 1;
    while property.is_empty() || !taken.insert(property.clone()) {
        property = match count {
            1 => format!("{plain}_{place}"),
            more => format!("{plain}_{more}"),
        };
        count += 1;
    }
    property
}
