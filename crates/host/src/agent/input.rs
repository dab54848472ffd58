//! The input of an agent, checked before anything runs.
//!
//! The input comes from a person or from another agent's model. What does not fit is refused here,
//! before a run begins and before a model is paid for reading it.

use bonded_kernel::Schema;
use serde_json::Value;

use super::{Agent, AgentError};
use crate::agent_file::InputFormat;

/// Text goes through as it is. JSON must be JSON, and fit the schema where there is one.
///
/// A schema that cannot be used is reported as a fault of the input's schema and not of the input.
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
    let schema = Schema::new(schema).map_err(|why| invalid("its schema".into(), why))?;
    schema.check(&value).map_err(|misfit| {
        let place = match misfit.place.is_empty() {
            true => "input".into(),
            false => misfit.place,
        };
        invalid(place, misfit.why)
    })
}
