//! What a server is told of us, and what we answer it.
//!
//! No capability is announced that needs a person: a run may be alone. A server that asks
//! for anything else gets the library's own answer.

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ElicitationSchema, FormElicitationCapability, Implementation,
    ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Map, Value};

/// The client, as servers see it.
#[derive(Debug)]
pub(super) struct Ourselves {
    takes_defaults: bool,
}

impl Ourselves {
    /// Nobody is there to fill in a form. It is declined, unless its own defaults are to be taken.
    pub(super) fn new(takes_defaults: bool) -> Self {
        Self { takes_defaults }
    }
}

impl ClientHandler for Ourselves {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("bonded", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        if self.takes_defaults {
            let form = FormElicitationCapability::default();
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        }
        ClientConfig::new(capabilities, name)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let defaults = match request {
            ElicitRequestParams::FormElicitationParams {
                requested_schema, ..
            } if self.takes_defaults => defaults(&requested_schema),
            _ => None,
        };
        Ok(match defaults {
            Some(content) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
            None => ElicitResult::new(ElicitationAction::Decline),
        })
    }
}

/// The form as it is if nobody changes anything; `None` if something that is required would be missing.
fn defaults(schema: &ElicitationSchema) -> Option<Value> {
    let schema = serde_json::to_value(schema).ok()?;
    let fields = schema.get("properties")?.as_object()?;
    let filled: Map<String, Value> = fields
        .iter()
        .filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())))
        .collect();
    let required = schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    required
        .all(|name| filled.contains_key(name))
        .then_some(Value::Object(filled))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_is_filled_with_its_defaults_unless_one_is_missing() {
        let text = json!({ "type": "string", "default": "x" });
        let number = json!({ "type": "integer" });
        for (required, expected) in [
            (json!(["a"]), Some(json!({ "a": "x" }))),
            (json!([]), Some(json!({ "a": "x" }))),
            (json!(["a", "b"]), None),
        ] {
            let schema = json!({ "type": "object", "properties": { "a": text, "b": number },
                "required": required });
            let schema = serde_json::from_value(schema).expect("it is a form");
            assert_eq!(defaults(&schema), expected, "{required}");
        }
    }
}
