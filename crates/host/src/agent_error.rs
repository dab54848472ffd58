//! Why an agent cannot be run. What goes wrong later is an event of its run.
//!
//! Each says what to do about it. They are found before a run begins, so none of them is in a log, and
//! none costs anything.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

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
use crate::skill_choice::UnusableSkill;
use crate::trust::Untrusted;

/// What stops an agent before its run begins.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The agent file, or something that it includes, cannot be used.
    #[error(transparent)]
    File(#[from] AgentFileError),
    /// The layers of the configuration, or an entry that the agent uses, are wrong.
    #[error(transparent)]
    Config(#[from] Problems),
    /// A value of an option is wrong, whichever source says it.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A model's name does not lead to an address that can be asked.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// No source names a model, and there is no default one.
    #[error("no model is set; add `models: PROVIDER/MODEL` to the agent file or use --models")]
    NoModel,
    /// The provider is known to want a key, and its variable is not set or empty.
    #[error(
        "provider {provider:?} needs a key; set the variable {variable}, or add apiKey to the configuration"
    )]
    NoKey { provider: String, variable: String },
    /// A limit of money is to be kept, and neither a list nor the endpoint says what the model costs.
    #[error(
        "--max-cost needs to know what tokens cost, and {provider} lists no price of {model:?}"
    )]
    NoPrice { provider: String, model: String },
    /// `accepts.like` names a model of which nothing is known, so nothing can be taken from it.
    #[error(
        "providers.{provider}: {model:?} is set to be like {like:?}, which is not a known model; name a known one, or remove `like`"
    )]
    UnknownLike {
        provider: String,
        model: String,
        like: String,
    },
    /// What is said in `accepts`, together with what is known of the model, cannot all hold.
    #[error(
        "the settings of {model:?} in providers.{provider} contradict each other: {why}; correct its `accepts`"
    )]
    Accepts {
        provider: String,
        model: String,
        why: String,
    },
    /// An agent file that was found wants something, and nobody has trusted it.
    #[error(transparent)]
    Untrusted(Box<Untrusted>),
    /// The agent file may only tighten, and would lose the tools that it names: it is not run without
    /// them.
    #[error(
        "{} uses tools from your own configuration, so it must be trusted before it can run",
        file.display()
    )]
    NotWithout { file: PathBuf },
    /// The schema or format of the report cannot be held to.
    #[error("{}: the output schema cannot be used: {source}", file.display())]
    BadOutputSchema { file: PathBuf, source: ReportFault },
    /// The agent takes JSON, and was given something else.
    #[error("the input of agent {agent:?} must be JSON: {why}")]
    InputNotJson { agent: String, why: String },
    /// The input is JSON and does not fit the schema; `place` is where in it.
    #[error("the input of agent {agent:?} does not match its schema: {place}: {why}")]
    InputInvalid {
        agent: String,
        place: String,
        why: String,
    },
    /// A file that belongs to the agent's system text is there and cannot be taken.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A skill that the agent names cannot be offered: it would run without what it was written for.
    #[error(transparent)]
    Skill(UnusableSkill),
    /// A script that stands for a model cannot be read.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The named server is not one that can be logged in to.
    #[error(
        "the configuration has no MCP server {name:?} to log in to: it must have a url and no Authorization \
         header; the servers are {servers}"
    )]
    NoLogin { name: String, servers: String },
    /// The agent names a server that is switched off: it would run without what it was written for.
    #[error("MCP server {name:?} is disabled in the configuration (enabled: false)")]
    DisabledServer { name: String },
    /// A server that the run must have did not start, or a login failed.
    #[error(transparent)]
    Mcp(#[from] McpError),
    /// The settings of a request or of an OpenAPI document cannot be used.
    #[error(transparent)]
    Rest(RestError),
    /// A queue of the configuration cannot be made.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The working directory cannot be opened for the built-in tools.
    #[error(transparent)]
    Tools(#[from] ToolsError),
    /// The sandbox that is demanded cannot be built on this machine.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Two tools have one name, or the name or the schema of one cannot be used.
    #[error("the tools cannot be offered: {0}")]
    Catalog(BadCatalog),
    /// The configuration names a vocabulary that the program does not have.
    #[error(
        "unknown vocabulary {name:?} for model {model:?}; use o200k_base, cl100k_base, claude, qwen or approximate"
    )]
    UnknownTokenizer { name: String, model: String },
    /// An agent can be reached from itself; `chain` names the files on the way.
    #[error("agent {} calls itself through {chain}; remove one of them from `agents`", file.display())]
    Cycle { file: PathBuf, chain: String },
    /// Agents call each other through more than `max` levels.
    #[error("agents call each other more than {max} levels deep, at {}", file.display())]
    TooDeep { file: PathBuf, max: usize },
    /// A called agent has no description, by which a model would choose it.
    #[error("{} has no description; add one so that other agents can call it", file.display())]
    NoDescription { file: PathBuf },
    /// Two agents of one caller would be the same tool.
    #[error("two agents are called {name:?}; give one of them a toolName of its own")]
    DuplicateAgent { name: String },
    /// A called agent has the name of one of the program's own tools.
    #[error("{} is called {name:?}, which is reserved; give it another toolName", file.display())]
    ReservedName { file: PathBuf, name: String },
}

impl AgentError {
    /// Whether one agent alone has it to answer for, and not the configuration of all.
    ///
    /// The configuration is read for each agent, and would otherwise be told of once for each.
    pub(crate) fn is_of_agent(&self) -> bool {
        self.fault_of() != FaultOf::Configuration
    }

    /// Whether nobody trusts what was found, and that is why.
    pub fn is_untrusted(&self) -> bool {
        if let Self::Config(problems) = self {
            return problems.are_untrusted();
        }
        self.fault_of() == FaultOf::Trust
    }

    fn fault_of(&self) -> FaultOf {
        match self {
            Self::Config(_)
            | Self::NoKey { .. }
            | Self::NoPrice { .. }
            | Self::UnknownLike { .. }
            | Self::Accepts { .. }
            | Self::UnknownTokenizer { .. }
            | Self::DisabledServer { .. } => FaultOf::Configuration,
            Self::Untrusted(_) | Self::NotWithout { .. } => FaultOf::Trust,
            Self::File(_)
            | Self::Option(_)
            | Self::Provider(_)
            | Self::NoModel
            | Self::BadOutputSchema { .. }
            | Self::InputNotJson { .. }
            | Self::InputInvalid { .. }
            | Self::Unreadable { .. }
            | Self::Skill(_)
            | Self::Script(_)
            | Self::NoLogin { .. }
            | Self::Mcp(_)
            | Self::Rest(_)
            | Self::Queue(_)
            | Self::Tools(_)
            | Self::Sandbox(_)
            | Self::Catalog(_)
            | Self::Cycle { .. }
            | Self::TooDeep { .. }
            | Self::NoDescription { .. }
            | Self::DuplicateAgent { .. }
            | Self::ReservedName { .. } => FaultOf::Agent,
        }
    }
}

/// Where a person must look to mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultOf {
    Agent,
    Configuration,
    /// Nobody has said that what was found may be used.
    Trust,
}
