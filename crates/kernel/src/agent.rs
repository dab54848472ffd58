//! What makes a run that of an agent with a report: how its calls are written, and what it must deliver.

use serde::{Deserialize, Serialize};

use crate::report::ReportSpec;

/// The settings that only agents have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentConfig {
    /// Names the agent in accounts.
    pub name: String,
    pub encoding: Encoding,
    /// Marks the tags of this run, so that nothing the agent reads can pass for one.
    pub nonce: String,
    pub report: ReportSpec,
    /// What the agent may use, as its file says it: servers, and tools that are built in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<SubAgent>,
    /// The configuration files, highest first, that say what the names in `tools` mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_files: Vec<String>,
    /// Whether a tag without its end is the end of what is read, and whether what a tag holds is passed over where the
    /// tag is no call: what is quoted there runs nothing. Older logs read on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quotes_are_text: bool,
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
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::XmlFinal => "xml-final",
            Self::Xml => "xml",
        }
    }
}
