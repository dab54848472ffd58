//! The input of an agent, checked before anything runs.

use serde_json::Value;

use super::{Agent, AgentError};
use crate::agent_file::InputFormat;

/// Text goes through as it is. JSON must be JSON, and fit the schema where there is one.
pub(super) fn check(agent: &Agent, input: &str) -> Result<(), AgentError> {
    let Some(spec) = &agent.file.input else {
        return Ok(());
    };
    if spec.format != InputFormat::Json {
        return Ok(());
    }
    let name = || agent.name.clone();
    let value: Value = serde_json::from_str(input).map_err(|error| AgentError::InputNotJson {
        agent: name(),
        why: error.to_string(),
    })?;
    let Some(schema) = &spec.schema else {
        return Ok(());
    };
    let invalid = |place: String, why: String| AgentError::InputInvalid {
        agent: name(),
        place,
        why,
    };
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| invalid("its schema".into(), error.to_string()))?;
    validator.validate(&value).map_err(|error| {
        let path = error.instance_path().to_string();
        let place = if path.is_empty() {
            "input".into()
        } else {
            path
        };
        invalid(place, error.masked().to_string())
    })
}
