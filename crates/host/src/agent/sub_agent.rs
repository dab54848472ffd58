//! Agents that other agents call: each is a tool to its caller and a run of its own.
//!
//! The files of called agents are checked when the goal of the first one is made, down to the last: a
//! circle, a missing description or a name that is taken is found before anything is paid for. They are
//! loaded again when they are called.
//!
//! Paths in `agents` are relative to the agent file that writes them, and to the working directory
//! where a flag or an override does.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bonded_kernel::{SubAgent, ToolEffect, ToolSpec};
use serde_json::{Value, json};

use super::{Agent, AgentError, Workplace, absolute, agent_name};
use crate::agent_file::AgentFile;
use crate::config::options::Source;

/// How deep agents may call each other.
pub const AGENT_DEPTH_MAX: usize = 8;

/// Names of the program's own tools, which a called agent must not take.
const RESERVED: [&str; 3] = ["batch", "final_report", "progress_report"];

impl Agent {
    /// The files of the agents that it may call, in their order.
    pub(super) fn called_files(&self) -> Vec<PathBuf> {
        let base = match self.sources.get("agents") {
            Some(Source::FrontMatter) => &self.file.dir,
            Some(
                Source::Override
                | Source::CommandLine
                | Source::Inherited
                | Source::Config
                | Source::Variable
                | Source::BuiltIn,
            )
            | None => &self.workplace.dir,
        };
        let written = self.options.agents.iter();
        written.map(|written| base.join(written)).collect()
    }
}

/// The agents that an agent may call, every one of them checked down to the last.
pub(super) fn listed(agent: &Agent, workplace: &Workplace) -> Result<Vec<SubAgent>, AgentError> {
    let mut names = BTreeSet::new();
    let mut listed = vec![];
    for path in agent.called_files() {
        let mut chain = vec![canonical(&agent.file.path)];
        let child = check(&path, workplace, &mut chain)?;
        let name = called_name(&child, &mut names)?;
        listed.push(SubAgent {
            tool: format!("agent__{name}"),
            file: absolute(&path),
        });
    }
    Ok(listed)
}

/// The name that an agent is called by, unless it is another one's of its caller or the program's own.
///
/// It is unique among the agents of one caller only.
pub(super) fn called_name(
    child: &AgentFile,
    taken: &mut BTreeSet<String>,
) -> Result<String, AgentError> {
    let name = agent_name(child);
    if RESERVED.contains(&name.as_str()) {
        let file = child.path.clone();
        return Err(AgentError::ReservedName { file, name });
    }
    match taken.insert(name.clone()) {
        true => Ok(name),
        false => Err(AgentError::DuplicateAgent { name }),
    }
}

/// Loads an agent file and all that it may call, and makes sure that none of them calls itself.
///
/// The real paths of all callers are in `chain`, so that a circle is found through links as well. The
/// chain is cut back when an agent is done, so that two callers may share one.
fn check(
    path: &Path,
    workplace: &Workplace,
    chain: &mut Vec<PathBuf>,
) -> Result<AgentFile, AgentError> {
    let file = workplace.agent_file(path)?;
    let real = canonical(path);
    if chain.contains(&real) {
        let names: Vec<String> = chain.iter().map(|it| it.display().to_string()).collect();
        return Err(AgentError::Cycle {
            file: path.to_owned(),
            chain: names.join(" -> "),
        });
    }
    if chain.len() > AGENT_DEPTH_MAX {
        return Err(AgentError::TooDeep {
            file: path.to_owned(),
            max: AGENT_DEPTH_MAX,
        });
    }
    if !file.is_described() {
        let file = path.to_owned();
        return Err(AgentError::NoDescription { file });
    }
    chain.push(real);
    let agent = Agent::load(path, &workplace.for_children(), BTreeMap::new())?;
    for written in &agent.options.agents {
        check(&file.dir.join(written), workplace, chain)?;
    }
    chain.pop();
    Ok(file)
}

/// A path that is not there stays as it is written: reading it fails with a better message.
pub(super) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// What a caller is shown of an agent. To call it twice with one key is to call it once: the second call
/// finds the run of the first.
pub fn child_spec(path: &Path, workplace: &Workplace) -> Result<ToolSpec, AgentError> {
    let file = workplace.agent_file(path)?;
    Ok(ToolSpec {
        name: format!("agent__{}", agent_name(&file)),
        description: file.description.clone().unwrap_or_default(),
        schema: schema(&file),
        effect: ToolEffect::Idempotent,
        sandbox: None,
        resource: None,
        deferred: false,
    })
}

/// An agent with a schema of its own gets `reason` added to it; one without takes a prompt. Either way
/// a caller must say in short what the task is, which becomes the title of the run.
fn schema(file: &AgentFile) -> Value {
    let reason =
        json!({ "type": "string", "minLength": 1, "description": "A short title of the task." });
    let own = file.input.as_ref().and_then(|input| input.schema.clone());
    let Some(Value::Object(mut schema)) = own else {
        return json!({
            "type": "object",
            "properties": {
                "prompt": { "type": "string", "minLength": 1 },
                "reason": reason,
                "format": { "type": "string", "const": "sub-agent" }
            },
            "required": ["prompt", "reason", "format"],
            "additionalProperties": false
        });
    };
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert("reason".into(), reason);
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        required.push("reason".into());
    }
    schema.insert("type".into(), "object".into());
    Value::Object(schema)
}

/// What a caller passes to an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildArguments {
    /// The prompt, or the arguments as JSON where the agent has a schema of its own.
    pub input: String,
    /// What the caller says that the task is; empty where it says nothing.
    pub title: String,
}

impl ChildArguments {
    /// Takes the reason out: it names the run and is not the agent's business.
    pub fn of(arguments: &Value, file: &AgentFile) -> Self {
        let text = |name: &str| {
            let value = arguments.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let has_schema = file.input.as_ref().is_some_and(|it| it.schema.is_some());
        let input = if has_schema {
            let mut own = arguments.clone();
            if let Some(fields) = own.as_object_mut() {
                fields.remove("reason");
            }
            own.to_string()
        } else {
            text("prompt")
        };
        Self {
            input,
            title: text("reason"),
        }
    }
}
