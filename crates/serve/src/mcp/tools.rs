//! The agents as tools.
//!
//! The description that a model at the client reads is the agent's own. A schema of the agent's is shown as it is; an
//! agent without one takes a prompt.

use bonded_kernel::ReportFormat;
use serde_json::{Map, Value, json};

use crate::agents::{Model, Models};
use bonded_mcp::{ClientRequest, RpcFault};

/// How many tools are listed at a time.
const PAGE: usize = 100;

/// By pages, as the protocol has it.
pub(super) fn list(models: &Models, asked: &ClientRequest) -> Result<Value, RpcFault> {
    let page = ListPage::of(asked, PAGE)?;
    let tools = models.all().iter().map(tool);
    Ok(page.list("tools", tools.skip(page.skip)))
}

/// A part of a list. A cursor is how many came before.
pub(super) struct ListPage {
    /// How many came before.
    pub(super) skip: usize,
    /// How many there are on a page.
    pub(super) take: usize,
}

impl ListPage {
    /// A cursor that is no number is the client's fault.
    pub(super) fn of(asked: &ClientRequest, take: usize) -> Result<Self, RpcFault> {
        let skip = match asked.params.get("cursor") {
            None | Some(Value::Null) => Some(0),
            Some(cursor) => cursor.as_str().and_then(|text| text.parse().ok()),
        };
        let skip = skip.ok_or_else(|| {
            RpcFault::invalid_params("this cursor is not one of ours; begin without one")
        })?;
        Ok(Self { skip, take })
    }

    /// The page of what comes after those that are skipped.
    pub(super) fn list(&self, name: &str, mut rest: impl Iterator<Item = Value>) -> Value {
        let items: Vec<Value> = rest.by_ref().take(self.take).collect();
        let mut page = json!({ name: items });
        if rest.next().is_some() {
            page["nextCursor"] = self.skip.saturating_add(self.take).to_string().into();
        }
        page
    }
}

/// The description of the file, with its usage behind it.
fn tool(model: &Model) -> Value {
    let file = &model.agent.file;
    let description = file.description.as_deref().map(str::trim);
    let description = description.filter(|text| !text.is_empty()).map_or_else(
        || format!("Asks the agent {}.", model.id),
        |text| match file.usage.as_deref().map(str::trim) {
            Some(usage) if !usage.is_empty() => format!("{text}\n\n{usage}"),
            _ => text.to_owned(),
        },
    );
    let mut tool = json!({
        "name": model.id,
        "description": description,
        "inputSchema": input_schema(model),
    });
    if let Some(schema) = output_schema(model) {
        tool["outputSchema"] = schema.clone();
    }
    tool
}

/// The agent's own schema, or a prompt. What a calling agent says beside that, the title of the task and that it is
/// an agent, has no meaning here.
fn input_schema(model: &Model) -> Value {
    if let Some(schema) = own_schema(model) {
        let mut schema = schema.clone();
        schema.insert("type".into(), "object".into());
        return Value::Object(schema);
    }
    let prompt = json!({
        "type": "string", "minLength": 1, "description": "What the agent is asked.",
    });
    let mut properties = json!({ "prompt": prompt });
    if fixed_format(model).is_none() {
        let formats: Vec<&str> = ReportFormat::ALL
            .iter()
            .map(|format| format.as_str())
            .collect();
        properties["format"] = json!({
            "type": "string", "enum": formats, "description": "How it is to report; markdown if left out.",
        });
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["prompt"],
        "additionalProperties": false,
    })
}

/// The schema of an agent's input, where it has one.
pub(super) fn own_schema(model: &Model) -> Option<&Map<String, Value>> {
    let input = model.agent.file.input.as_ref()?;
    input.schema.as_ref()?.as_object()
}

/// The schema of its report; the protocol knows those of objects only.
pub(super) fn output_schema(model: &Model) -> Option<&Value> {
    let output = model.agent.file.output.as_ref()?;
    let schema = output.schema.as_ref()?;
    (schema.get("type")? == "object").then_some(schema)
}

/// The format of its report, where the agent decides it.
fn fixed_format(model: &Model) -> Option<ReportFormat> {
    let formats = [ReportFormat::Markdown, ReportFormat::Tty];
    let chosen = formats.map(|format| model.agent.format(format));
    (chosen[0] == chosen[1]).then_some(chosen[0])
}
