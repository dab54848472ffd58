//! `bonded serve` and `bonded mcp`.
//!
//! Both offer the same agents, one over HTTP to whoever has a token, the other over stdio to whoever started it.
//! What they share is a struct of its own, so that an agent which can be served by one can be served by the other.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{AgentArgs, LimitArgs, amount};

/// Serve agents as models of an OpenAI-compatible server, or a workspace of notes and rules
///
/// Any OpenAI client can ask an agent as if it were a model: its name is the model's id. Every question is
/// a run like any other. Stops on Ctrl-C or SIGTERM, after the runs under way; a second one stops at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded serve --agent researcher.ai --agent writer.ai
  bonded serve --agent researcher.ai --listen 0.0.0.0:8130 --token-file tokens.txt
  bonded serve --data data                           notes, rules and runs below /api
  curl http://127.0.0.1:8130/v1/chat/completions -H 'Content-Type: application/json' \\
    -H \"Authorization: Bearer $(cat ~/.local/share/bonded/serve-token)\" \\
    -d '{\"model\": \"researcher\", \"messages\": [{\"role\": \"user\", \"content\": \"why?\"}]}'")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) served: ServedArgs,

    /// Offer the agents to MCP clients too, at /mcp
    ///
    /// Each agent is a tool, and every run of the store can be read as a resource.
    #[arg(long)]
    pub(crate) mcp: bool,

    /// Let the person at an MCP client approve or deny calls that wait for a person
    ///
    /// Whoever has a token can approve then. Clients that cannot ask a person are told that the run waits.
    #[arg(long, requires = "mcp")]
    pub(crate) mcp_ask_client: bool,

    /// Close the connection of a call over MCP after this long; the client comes back for the rest
    ///
    /// For proxies that cut long connections. Clients that do not say how to come back keep theirs.
    #[arg(long, value_name = "DURATION", requires = "mcp", value_parser = amount::some_seconds, allow_negative_numbers = true)]
    pub(crate) mcp_stream_max: Option<Duration>,

    /// Serve the workspace of this directory; what is missing in it is made
    #[arg(long, env = "BONDED_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Where to listen; port 0 lets the system choose one [default: what the data directory says, else 127.0.0.1:8130]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<String>,

    /// A token that clients must send; several may be given. Others on this machine may see it here
    /// [BONDED_TOKENS: where no flag speaks of tokens]
    #[arg(long = "token", value_name = "TOKEN", value_delimiter = ',')]
    pub(crate) tokens: Vec<String>,

    /// A file with one token a line
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Serve everybody on this machine who asks, without a token
    ///
    /// Every user of the machine can have the agents work as you then. Beyond this machine a token is always needed.
    #[arg(long, conflicts_with_all = ["tokens", "token_file"])]
    pub(crate) no_token: bool,

    /// Let the clients of all tokens work in the same directory, and see each other's runs
    ///
    /// Where several tokens are given, each has a directory of its own below the working directory otherwise.
    #[arg(long)]
    pub(crate) shared_dir: bool,

    /// Grace period for running agents at shutdown
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = amount::seconds, allow_negative_numbers = true)]
    pub(crate) stop_after: Duration,
}

/// Offer agents as tools to an MCP client, over stdin and stdout
///
/// The client starts this program and speaks the Model Context Protocol with it. Each agent is a tool, every
/// call is a run like any other, and every run of the store can be read as a resource. When the client closes
/// the stream, the runs under way are cancelled.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded mcp --agent researcher.ai --agent writer.ai

In a client's configuration:
  \"mcpServers\": { \"agents\": { \"command\": \"bonded\", \"args\": [\"mcp\", \"--agent\", \"/path/researcher.ai\"] } }")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) served: ServedArgs,

    /// Let the person at the client approve or deny calls that wait for a person
    ///
    /// The client must be able to ask one (elicitation); others are told that the run waits.
    #[arg(long)]
    pub(crate) ask_client: bool,
}

/// What is served, by whatever protocol.
#[derive(Debug, Args)]
pub(crate) struct ServedArgs {
    /// An agent to serve: an agent file; several may be given
    #[arg(
        long = "agent",
        short = 'a',
        value_name = "FILE.ai",
        action = clap::ArgAction::Append
    )]
    pub(crate) agent_files: Vec<PathBuf>,

    /// How many runs at a time; ten times as many requests may wait
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: u32,

    /// The directory that the agents work in [default: the current one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
