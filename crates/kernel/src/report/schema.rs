//! A JSON report against its schema, with a few rounds of repair.

use serde_json::Value;

use super::{ReportFault, ReportWarning};
use crate::config::ReportSpec;
use crate::repair;
use crate::schema::{Misfit, Schema};

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
    let checking = recorded(schema.unwrap_or(&any_document))?;
    for _ in 0..ROUNDS_MAX {
        let Err(misfit) = checking.check(&value) else {
            return Ok(value);
        };
        let place = misfit.place.clone();
        let Some(parsed) = value.pointer(&place).and_then(parsed_text) else {
            return Err(invalid(misfit));
        };
        if let Some(slot) = value.pointer_mut(&place) {
            *slot = parsed;
        }
        warnings.push(ReportWarning::ParsedText {
            place: shown(&place),
        });
    }
    match checking.check(&value) {
        Ok(()) => Ok(value),
        Err(misfit) => Err(invalid(misfit)),
    }
}

impl ReportSpec {
    /// Checks the schema, so that a run does not learn at its end that no report can fit.
    pub fn check(&self) -> Result<(), ReportFault> {
        let Some(schema) = &self.schema else {
            return Ok(());
        };
        let usable = Schema::new(schema).map(|_| ());
        usable.map_err(|why| ReportFault::BadSchema { why })
    }
}

/// The schema of a run, which was checked before the run began.
fn recorded(schema: &Value) -> Result<Schema, ReportFault> {
    Schema::compile(schema).map_err(|why| ReportFault::BadSchema { why })
}

/// Whether a value fits as it stands.
pub(super) fn fits(schema: &Value, value: &Value) -> bool {
    recorded(schema).is_ok_and(|schema| schema.fits(value))
}

fn parsed_text(value: &Value) -> Option<Value> {
    let text = value.as_str()?;
    if let Ok(parsed) = serde_json::from_str(text) {
        return Some(parsed);
    }
    let parsed = repair::parse_document(text).ok()?;
    (!parsed.is_cut()).then_some(parsed.value)
}

fn invalid(misfit: Misfit) -> ReportFault {
    ReportFault::Invalid {
        place: shown(&misfit.place),
        why: misfit.why,
    }
}

fn shown(place: &str) -> String {
    match place {
        "" => "content_json".into(),
        path => path.into(),
    }
}
