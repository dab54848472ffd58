//! REST tools and OpenAPI specifications, as far as is needed to name them and to bind their queues.

use serde_json::{Map, Value};

use super::{Config, Problems};

#[derive(Clone, Debug, PartialEq)]
pub struct RestTool {
    pub name: String,
    pub queue: String,
    pub description: Option<String>,
    pub method: Option<String>,
    pub url: Option<String>,
    /// May hold `${parameters.NAME}`, which is put in when the tool is called.
    pub body_template: Option<Value>,
    pub parameters_schema: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OpenapiSpec {
    pub name: String,
    pub queue: String,
    pub spec: Option<String>,
    pub base_url: Option<String>,
}

impl Config {
    pub fn rest_tool(&self, name: &str) -> Result<Option<RestTool>, Problems> {
        let mut problems = Vec::new();
        let tool = self
            .entry(&["restTools", name], &mut problems)
            .map(|entry| RestTool {
                name: name.into(),
                queue: self.queue_of(&entry, &mut problems),
                description: entry.text("description"),
                method: entry.text("method"),
                url: entry.text("url"),
                body_template: entry.value("bodyTemplate").cloned(),
                parameters_schema: entry.object("parametersSchema"),
            });
        Problems::none_of(problems)?;
        Ok(tool)
    }

    pub fn openapi_spec(&self, name: &str) -> Result<Option<OpenapiSpec>, Problems> {
        let mut problems = Vec::new();
        let spec = self
            .entry(&["openapiSpecs", name], &mut problems)
            .map(|entry| OpenapiSpec {
                name: name.into(),
                queue: self.queue_of(&entry, &mut problems),
                spec: entry.text("spec"),
                base_url: entry.text("baseUrl"),
            });
        Problems::none_of(problems)?;
        Ok(spec)
    }
}
