//! Why an agent cannot be run. What goes wrong later is an event of its run.

use std::path::PathBuf;

use bonded_kernel::{BadCatalog, ReportFault};
use bonded_tools::mcp::McpError;
use bonded_tools::rest::RestError;
use bonded_tools::sandbox::SandboxError;
use bonded_tools::{QueueError, ToolsError};
use bonded_transport::ScriptError;

use crate::agent_file::AgentFileError;
use crate::config::Problems;
use crate::config::options::OptionError;
use crate::provider::ProviderError;
use crate::trust::Untrusted;

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    File(#[from] AgentFileError),
    #[error(transparent)]
    Config(#[from] Problems),
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(
        "no model is named; write `models: PROVIDER/MODEL` into the agent file or say --models"
    )]
    NoModel,
    #[error(
        "provider {provider:?} needs a key; set the variable {variable}, or write apiKey into the configuration"
    )]
    NoKey { provider: String, variable: String },
    #[error(
        "providers.{provider} says that {model:?} is like {like:?}, and nothing is known of a model of that name; name \
         another one, or leave `like` out"
    )]
    UnknownLike {
        provider: String,
        model: String,
        like: String,
    },
    #[error(
        "what providers.{provider} says of {model:?} contradicts itself: {why}; mend its `accepts`"
    )]
    Accepts {
        provider: String,
        model: String,
        why: String,
    },
    #[error(transparent)]
    Untrusted(Box<Untrusted>),
    #[error(
        "{} uses tools of your own configuration, so it cannot run without being trusted",
        file.display()
    )]
    NotWithout { file: PathBuf },
    #[error("{}: the schema of the output is not usable: {source}", file.display())]
    BadOutputSchema { file: PathBuf, source: ReportFault },
    #[error("the input of agent {agent:?} must be JSON: {why}")]
    InputNotJson { agent: String, why: String },
    #[error("the input of agent {agent:?} does not fit its schema: {place}: {why}")]
    InputInvalid {
        agent: String,
        place: String,
        why: String,
    },
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error(
        "the configuration has no MCP server {name:?} to log in to: it must have a url and no Authorization \
         header; the servers are {servers}"
    )]
    NoLogin { name: String, servers: String },
    #[error("MCP server {name:?} is switched off in the configuration (enabled: false)")]
    DisabledServer { name: String },
    #[error(transparent)]
    Mcp(#[from] McpError),
    #[error(transparent)]
    Rest(RestError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Tools(#[from] ToolsError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("the tools cannot be offered: {0}")]
    Catalog(BadCatalog),
    #[error(
        "the vocabulary {name:?} of model {model:?} is not known; use o200k_base, cl100k_base, claude, qwen or approximate"
    )]
    UnknownTokenizer { name: String, model: String },
    #[error("agent {} calls itself through {chain}; take one of them out of `agents`", file.display())]
    Cycle { file: PathBuf, chain: String },
    #[error("agents call each other more than {max} deep, at {}", file.display())]
    TooDeep { file: PathBuf, max: usize },
    #[error("{} has no description; other agents can call it only with one", file.display())]
    NoDescription { file: PathBuf },
    #[error("two agents are called {name:?}; give one of them a toolName of its own")]
    DuplicateAgent { name: String },
    #[error("{} is called {name:?}, which is reserved; give it another toolName", file.display())]
    ReservedName { file: PathBuf, name: String },
}

impl AgentError {
    /// Whether one agent alone has it to answer for, and not the configuration of all.
    pub(crate) fn is_of_agent(&self) -> bool {
        !matches!(
            self,
            Self::Config(_)
                | Self::NoKey { .. }
                | Self::UnknownLike { .. }
                | Self::Accepts { .. }
                | Self::UnknownTokenizer { .. }
                | Self::DisabledServer { .. }
        )
    }

    /// Whether nobody trusts what was found, and that is why.
    pub fn is_untrusted(&self) -> bool {
        match self {
            Self::Untrusted(_) | Self::NotWithout { .. } => true,
            Self::Config(problems) => problems.are_untrusted(),
            _ => false,
        }
    }
}
