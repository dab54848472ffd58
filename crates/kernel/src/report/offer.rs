//! The tool by which a report is given.

use serde_json::{Value, json};

use super::SLACK_SHAPE;
use crate::config::{ReportFormat, ReportSpec};
use crate::tool::{FINAL_REPORT, ToolEffect, ToolSpec};

/// The tool by which a model gives its report. It is sent with each request, so it is short.
pub fn report_tool_spec(spec: &ReportSpec) -> ToolSpec {
    let format = spec.format;
    let mut properties = json!({
        "report_format": { "type": "string", "const": format.as_str() },
        "metadata": { "type": "object" }
    });
    let (field, value) = match format {
        ReportFormat::Json => ("content_json", embedded(spec.schema.as_ref())),
        ReportFormat::SlackBlockKit => ("messages", slack_schema()),
        ReportFormat::Markdown
        | ReportFormat::MarkdownMermaid
        | ReportFormat::Tty
        | ReportFormat::Pipe
        | ReportFormat::SubAgent => {
            properties["encoding"] = json!({ "type": "string", "enum": ["raw", "base64"] });
            (
                "report_content",
                json!({ "type": "string", "minLength": 1 }),
            )
        }
    };
    properties[field] = value;
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "required": ["report_format", field],
        "additionalProperties": false
    });
    // References such as `#/$defs/x` start at the root, which the report's schema no longer is.
    for key in ["$defs", "definitions"] {
        if let Some(shared) = spec.schema.as_ref().and_then(|schema| schema.get(key))
            && format == ReportFormat::Json
        {
            schema[key] = shared.clone();
        }
    }
    ToolSpec {
        name: FINAL_REPORT.into(),
        description: format!(
            "Ends the run with your report. `{field}`: {}.",
            format.description()
        ),
        schema,
        effect: ToolEffect::Read,
        sandbox: None,
        resource: None,
        deferred: false,
    }
}

fn embedded(schema: Option<&Value>) -> Value {
    let Some(mut schema) = schema.cloned() else {
        return json!({ "type": "object" });
    };
    if let Some(members) = schema.as_object_mut() {
        for key in ["$schema", "$defs", "definitions"] {
            members.remove(key);
        }
    }
    schema
}

fn slack_schema() -> Value {
    let block = json!({
        "type": "object",
        "properties": {
            "type": { "enum": ["section", "header", "divider", "context"] },
            "text": { "type": "object" },
            "fields": { "type": "array", "maxItems": 10 },
            "elements": { "type": "array", "minItems": 1, "maxItems": 10 }
        },
        "required": ["type"]
    });
    json!({
        "type": "array", "minItems": 1, "maxItems": 20, "description": SLACK_SHAPE,
        "items": {
            "type": "object",
            "properties": { "blocks": { "type": "array", "minItems": 1, "maxItems": 50, "items": block } },
            "required": ["blocks"]
        }
    })
}
