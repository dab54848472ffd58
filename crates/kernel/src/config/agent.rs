//! What makes a run that of an agent with a report: how its calls are written, and what it must deliver.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ReportSpec;

/// The settings that only agents have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentConfig {
    /// Names the agent in accounts.
    pub name: String,
    /// How the model is told to write its calls and its report.
    pub encoding: Encoding,
    /// Marks the tags of this run, so that nothing the agent reads can pass for one.
    pub nonce: String,
    /// What the run must end with.
    pub report: ReportSpec,
    /// What the agent may use, as its file says it: servers, and tools that are built in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The agents that it may call, each as a tool of its own. Empty for most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<SubAgent>,
    /// How many tokens the tools of servers and services hold at most that are sent with each request; beyond, they are
    /// found by a search. None where all are sent, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred_above: Option<u64>,
    /// The configuration files, highest first, that say what the names in `tools` mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_files: Vec<String>,
    /// Whether a tag without its end is the end of what is read, and whether what a tag holds is passed over where the
    /// tag is no call: what is quoted there runs nothing. Older logs read on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quotes_are_text: bool,
    /// What holds for the agents that are called besides their own files, as whoever began the run said it. None where
    /// none can be called, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_down: Option<Box<HandedDown>>,
}

/// What a person said for all agents of a run: whoever takes the run up again has no flags and no directory to read it
/// from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HandedDown {
    /// The file of `--config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_file: Option<String>,
    /// The directory of the person's own layer, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The directory of the machine's own layer, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etc: Option<String>,
    /// The directory of the program, in which a layer may lie, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary_dir: Option<String>,
    /// Options by their keys: those that hold for all agents, whatever their files say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, HandedOption>,
    /// Options that were given on the command line, but for those that are meant for one agent alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, HandedOption>,
    /// Options that variables of the environment set.
    #[serde(rename = "usual", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, HandedOption>,
    /// Whether prompts may include files from anywhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub includes_anywhere: bool,
}

/// An option that is handed down, with the place that is named where it turns out to be wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandedOption {
    /// Unread: the agent that is called checks it by its own table of options.
    pub value: Value,
    /// Where it was said.
    pub place: String,
}

/// Another agent that this one may call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubAgent {
    /// The tool that stands for it.
    pub tool: String,
    /// Its file, absolute.
    pub file: String,
}

/// How calls are written in a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// In the fields that the provider has for them.
    Native,
    /// Calls native, the report as a tag in the text.
    #[default]
    XmlFinal,
    /// Everything as tags in the text.
    Xml,
}

impl Encoding {
    /// The word for it in agent files, flags and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::XmlFinal => "xml-final",
            Self::Xml => "xml",
        }
    }
}
