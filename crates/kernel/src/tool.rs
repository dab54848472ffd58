//! What a tool declares about itself, and the catalogue of the tools that a run may call.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::hash::Hash;
use crate::plain_schema::is_plain;
use crate::sandbox::SandboxLevel;
use crate::schema::{Misfit, Schema, check_size};
use crate::text::Text;

/// What some models write before the name of a tool, as their prompts name the place where tools are.
const NAMESPACES: [&str; 3] = ["functions.", "default_api:", "default_api."];

/// What a tool may do to the world. It decides whether an interrupted call is run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// Changes nothing.
    #[default]
    Read,
    /// Changes something, and doing it twice is the same as doing it once.
    Idempotent,
    /// Changes something; doing it twice may differ from doing it once.
    Write,
}

impl ToolEffect {
    pub(crate) fn is_read(&self) -> bool {
        *self == Self::Read
    }

    /// Whether a call that was interrupted is made again.
    pub fn may_repeat(self) -> bool {
        matches!(self, Self::Read | Self::Idempotent)
    }

    /// The word for it in logs and in what people are shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Idempotent => "idempotent",
            Self::Write => "write",
        }
    }
}

/// A tool as the model and the kernel see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// 1 to 64 letters, digits, `_` or `-`; unique in the catalogue.
    pub name: String,
    /// What the model is told of it.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub schema: Value,
    /// As the tool declares it; one that nobody vouches for is a write.
    pub effect: ToolEffect,
    /// What is demanded for the processes that a call starts, where it starts any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
    /// What calls look at or change, by a name that tools share. Of calls of one reply that share it, one that changes
    /// something is executed alone, in the model's order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Arc<str>>,
    /// Whether the tool is not sent with each request: the model finds it by a search.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
}

impl ToolSpec {
    /// The spec of a tool that takes the given properties and no others.
    pub fn closed(
        name: &str,
        effect: ToolEffect,
        description: &str,
        properties: &Value,
        required: &[&str],
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            schema: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false
            }),
            effect,
            sandbox: None,
            resource: None,
            deferred: false,
        }
    }

    /// The same for a tool whose calls look at or change what others do too.
    #[must_use]
    pub fn of_resource(self, resource: &str) -> Self {
        Self {
            resource: Some(resource.into()),
            ..self
        }
    }
}

/// The name of the tool that ends a run. The kernel itself answers it.
pub const DONE: &str = "done";

/// The name of the tool that ends a run with a report.
pub const FINAL_REPORT: &str = "agent__final_report";

/// The name of the tool that tells what a model does.
pub const PROGRESS_REPORT: &str = "agent__progress_report";

pub(crate) fn is_terminal(tool: &str) -> bool {
    tool == DONE || tool == FINAL_REPORT
}

/// The tools of a run, frozen when it starts. Sorted by name; one terminal tool is among them, but for a run that works in
/// loops.
#[derive(Clone)]
pub struct Catalog(Arc<Inner>);

struct Inner {
    /// The specs as JSON: what the log keeps.
    text: Text,
    hash: Hash,
    tools: Vec<CatalogTool>,
    is_plain: OnceLock<bool>,
}

struct CatalogTool {
    spec: ToolSpec,
    /// Compiled at the first call: most runs use few of their tools.
    validator: OnceLock<Option<Schema>>,
}

/// Why a set of tools cannot be a catalogue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCatalog {
    /// A call could not say which of the two it means.
    #[error("two tools are named {name:?}")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// Providers would refuse the request.
    #[error("tool name {name:?} is not usable: 1 to 64 letters, digits, '_' or '-'")]
    BadName {
        /// The name.
        name: String,
    },
    /// Its calls could not be checked.
    #[error("the schema of tool {name:?} is not a usable JSON Schema: {why}")]
    BadSchema {
        /// The tool.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// What a log has is no list of tools.
    #[error("the recorded catalogue is not readable: {why}")]
    Unreadable {
        /// What the parser says.
        why: String,
    },
}

impl Catalog {
    /// Checks the tools of a run, the kernel's own included.
    pub(crate) fn of_specs(mut specs: Vec<ToolSpec>) -> Result<Self, BadCatalog> {
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = specs.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let name = pair[0].name.clone();
            return Err(BadCatalog::DuplicateName { name });
        }
        for spec in &specs {
            check_spec(spec)?;
        }
        let text = serde_json::to_string(&specs).map_err(|error| BadCatalog::Unreadable {
            why: error.to_string(),
        })?;
        Ok(Self::assemble(text.into(), specs))
    }

    /// The same tools, where those that are named change nothing but what is set back before an interrupted call is
    /// made again: doing it twice is the same as doing it once then.
    pub fn with_repeatable(&self, is_named: impl Fn(&str) -> bool) -> Result<Self, BadCatalog> {
        let specs = self.specs().cloned().map(|spec| match spec.effect {
            ToolEffect::Write if is_named(&spec.name) => ToolSpec {
                effect: ToolEffect::Idempotent,
                ..spec
            },
            ToolEffect::Read | ToolEffect::Idempotent | ToolEffect::Write => spec,
        });
        Self::of_specs(specs.collect())
    }

    /// Whether tools have to be found by a search.
    pub fn defers(&self) -> bool {
        self.specs().any(|spec| spec.deferred)
    }

    /// The specs as JSON of what is sent as long as nothing was found.
    pub fn sent_at_first(&self) -> Cow<'_, str> {
        if !self.defers() {
            return Cow::Borrowed(self.text());
        }
        let sent: Vec<&ToolSpec> = self.specs().filter(|spec| !spec.deferred).collect();
        Cow::Owned(serde_json::to_string(&sent).unwrap_or_default())
    }

    /// Takes back the catalogue that a log recorded.
    pub fn from_recorded(text: Text) -> Result<Self, BadCatalog> {
        let specs = serde_json::from_str(&text).map_err(|error| BadCatalog::Unreadable {
            why: error.to_string(),
        })?;
        Ok(Self::assemble(text, specs))
    }

    fn assemble(text: Text, specs: Vec<ToolSpec>) -> Self {
        let hash = Hash::of(text.as_bytes());
        let tools = specs
            .into_iter()
            .map(|spec| CatalogTool {
                spec,
                validator: OnceLock::new(),
            })
            .collect();
        Self(Arc::new(Inner {
            text,
            hash,
            tools,
            is_plain: OnceLock::new(),
        }))
    }

    /// The specs as JSON, as the log keeps them.
    pub fn text(&self) -> &Text {
        &self.0.text
    }

    /// Of that text: a part of the digest of every request.
    pub fn hash(&self) -> Hash {
        self.0.hash
    }

    /// Sorted by name, the terminal tool included.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.0.tools.iter().map(|tool| &tool.spec)
    }

    /// The tool of exactly this name.
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.find(name).map(|tool| &tool.spec)
    }

    /// The tool that a model means by a name: without the marks that some models write around it, and with
    /// the prefix that it left out where only one tool ends so. Else the name as written.
    pub(crate) fn nearest<'a>(&'a self, written: &'a str) -> &'a str {
        if self.find(written).is_some() {
            return written;
        }
        let bare = written.split("<|").next().unwrap_or_default().trim();
        let mut spaces = NAMESPACES.iter();
        let bare = spaces
            .find_map(|space| bare.strip_prefix(space))
            .unwrap_or(bare);
        let mut meant = self.specs().map(|spec| spec.name.as_str()).filter(|name| {
            let prefix = name.strip_suffix(bare).filter(|_| !bare.is_empty());
            prefix.is_some_and(|prefix| prefix.is_empty() || prefix.ends_with("__"))
        });
        match (meant.next(), meant.next()) {
            (Some(name), None) => name,
            _ => written,
        }
    }

    fn find(&self, name: &str) -> Option<&CatalogTool> {
        let tools = &self.0.tools;
        let index = tools
            .binary_search_by(|tool| tool.spec.name.as_str().cmp(name))
            .ok()?;
        tools.get(index)
    }

    /// Checks arguments against the tool's schema; the error says where and why.
    pub fn check_arguments(&self, name: &str, arguments: &Value) -> Result<(), String> {
        self.check_with(name, |schema| schema.check(arguments))
    }

    /// The same for arguments that were read from a text of so many bytes.
    pub fn check_written(&self, name: &str, arguments: &Value, bytes: usize) -> Result<(), String> {
        self.check_with(name, |schema| schema.check_written(bytes, arguments))
    }

    fn check_with(
        &self,
        name: &str,
        check: impl FnOnce(&Schema) -> Result<(), Misfit>,
    ) -> Result<(), String> {
        let Some(tool) = self.find(name) else {
            return Err(format!("there is no tool {name:?}"));
        };
        let compiled = tool
            .validator
            .get_or_init(|| Schema::compile(&tool.spec.schema).ok());
        // A schema that does not compile lets nothing through.
        let schema = compiled.as_ref().ok_or("the tool's schema is not usable")?;
        check(schema).map_err(|misfit| {
            let place = match misfit.place.as_str() {
                "" => "arguments",
                place => place,
            };
            format!("{place}: {}", misfit.why)
        })
    }

    /// Whether every check of arguments is short, whatever the arguments are.
    pub(crate) fn is_plain(&self) -> bool {
        let all_plain = || self.specs().all(|spec| is_plain(&spec.schema));
        *self.0.is_plain.get_or_init(all_plain)
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.specs().map(|spec| &spec.name))
            .finish()
    }
}

impl PartialEq for Catalog {
    fn eq(&self, other: &Self) -> bool {
        self.0.hash == other.0.hash
    }
}

fn check_spec(spec: &ToolSpec) -> Result<(), BadCatalog> {
    let name = spec.name.clone();
    let well_formed = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    if !well_formed {
        return Err(BadCatalog::BadName { name });
    }
    let is_object = spec.schema.get("type").and_then(Value::as_str) == Some("object");
    if !is_object {
        let why = "its type must be \"object\"".into();
        return Err(BadCatalog::BadSchema { name, why });
    }
    let checked = check_size(&spec.schema).and_then(|()| match is_plain(&spec.schema) {
        true => Ok(()),
        false => bonded_schema::check_schema(&spec.schema),
    });
    checked.map_err(|why| BadCatalog::BadSchema { name, why })
}
