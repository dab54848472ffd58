//! A JSON report against its schema, with a few rounds of repair.

use serde_json::Value;

use super::{ReportFault, ReportSpec, ReportWarning};
use crate::decode::repair;

/// So many texts inside a report are parsed before it is refused.
const ROUNDS_MAX: usize = 4;

/// Gives the report as the schema wants it. Models write nested JSON as text: where the schema refuses a
/// text that holds JSON, the JSON takes its place.
pub(super) fn fit(
    schema: Option<&Value>,
    mut value: Value,
    warnings: &mut Vec<ReportWarning>,
) -> Result<Value, ReportFault> {
    let any_document = serde_json::json!({ "type": ["object", "array"] });
    let validator = validator(schema.unwrap_or(&any_document))?;
    for _ in 0..ROUNDS_MAX {
        let Err(error) = validator.validate(&value) else {
            return Ok(value);
        };
        let place = error.instance_path().to_string();
        let Some(parsed) = value.pointer(&place).and_then(parsed_text) else {
            return Err(invalid(&error));
        };
        if let Some(slot) = value.pointer_mut(&place) {
            *slot = parsed;
        }
        warnings.push(ReportWarning::ParsedText {
            place: shown(&place),
        });
    }
    match validator.validate(&value) {
        Ok(()) => Ok(value),
        Err(error) => Err(invalid(&error)),
    }
}

impl ReportSpec {
    /// Checks the schema, so that a run does not learn at its end that no report can fit.
    pub fn check(&self) -> Result<(), ReportFault> {
        let Some(schema) = &self.schema else {
            return Ok(());
        };
        validator(schema).map(|_| ())
    }
}

fn validator(schema: &Value) -> Result<jsonschema::Validator, ReportFault> {
    jsonschema::validator_for(schema).map_err(|error| ReportFault::BadSchema {
        why: error.to_string(),
    })
}

/// Whether a value fits as it stands.
pub(super) fn fits(schema: &Value, value: &Value) -> bool {
    validator(schema).is_ok_and(|validator| validator.is_valid(value))
}

fn parsed_text(value: &Value) -> Option<Value> {
    let text = value.as_str()?;
    if let Ok(parsed) = serde_json::from_str(text) {
        return Some(parsed);
    }
    let parsed = repair::parse_document(text).ok()?;
    (!parsed.is_cut()).then_some(parsed.value)
}

/// The reason does not repeat the value: it may be long, and the model has it.
fn invalid(error: &jsonschema::ValidationError<'_>) -> ReportFault {
    ReportFault::Invalid {
        place: shown(&error.instance_path().to_string()),
        why: error.masked().to_string(),
    }
}

fn shown(place: &str) -> String {
    match place {
        "" => "content_json".into(),
        path => path.into(),
    }
}
