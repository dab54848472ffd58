//! `bonded serve` and `bonded mcp`.
//!
//! Both offer the same agents, one over HTTP to whoever has a token, the other over stdio to whoever started it.
//! What they share is a struct of its own, so that an agent which can be served by one can be served by the other.

use std::path::PathBuf;
use std::time::Duration;

use bonded_serve::agents::ClientToolsMode;
use clap::{Args, ValueEnum};

use super::{AgentArgs, LimitArgs, LogArgs, amount};

/// Serve agents over an OpenAI-compatible API, or a workspace of notes and rules
///
/// Any OpenAI client can use an agent as a model; the agent's name is the model id, and every request is a run. Ctrl-C
/// or SIGTERM stops after the runs under way; a second one stops now.
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

    /// Let users of MCP clients approve or deny pending calls
    ///
    /// Every client with a token can approve then. Clients that cannot ask are told that the run waits.
    #[arg(long, requires = "mcp")]
    pub(crate) mcp_ask_client: bool,

    /// Close the connection of an MCP call after this long; the client reconnects
    ///
    /// For proxies that cut long connections. Clients that do not say how to come back keep theirs.
    #[arg(long, value_name = "DURATION", requires = "mcp", value_parser = amount::some_seconds, allow_negative_numbers = true)]
    pub(crate) mcp_stream_max: Option<Duration>,

    /// Serve the workspace in this directory; missing files are created
    #[arg(long, env = "BONDED_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Address to listen on; port 0 picks a free port [default: as configured, else 127.0.0.1:8130]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<String>,

    /// Token that clients must send; repeatable; visible to other users of this machine [env: BONDED_TOKENS]
    #[arg(long = "token", value_name = "TOKEN", value_delimiter = ',')]
    pub(crate) tokens: Vec<String>,

    /// File with one token per line
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Serve every user of this machine without a token
    ///
    /// Every user of the machine can then run the agents as you. Other machines always need a token.
    #[arg(long, conflicts_with_all = ["tokens", "token_file"])]
    pub(crate) no_token: bool,

    /// One directory for the clients of all tokens, who see each other's runs
    ///
    /// Otherwise, with several tokens, each has its own directory below the working directory.
    #[arg(long)]
    pub(crate) shared_dir: bool,

    /// What to do with tools that clients send
    ///
    /// With `call` the agent may call them: the client gets the calls, executes them and sends the results, and the run
    /// waits meanwhile. With `ignore` they are passed over.
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub(crate) client_tools: ClientToolsArg,

    /// Tell every client that streams what its run does, as reasoning
    ///
    /// Otherwise only chats that ask with `stream_options.include_progress` are told.
    #[arg(long)]
    pub(crate) stream_progress: bool,

    /// Grace period for running agents at shutdown
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = amount::seconds, allow_negative_numbers = true)]
    pub(crate) stop_after: Duration,

    /// File with one token per line; each may read /metrics and nothing else
    ///
    /// Without it, /metrics is for the one token of a server of agents, or for the owner of a workspace.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics_token_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// What is done with tools that clients send.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ClientToolsArg {
    #[default]
    Call,
    Ignore,
}

impl From<ClientToolsArg> for ClientToolsMode {
    fn from(mode: ClientToolsArg) -> Self {
        match mode {
            ClientToolsArg::Call => Self::Call,
            ClientToolsArg::Ignore => Self::Ignore,
        }
    }
}

/// Serve agents as MCP tools over stdio
///
/// The client starts this program. Each agent is a tool, every call is a run, and every run of the store can be read as
/// a resource. When the client closes the stream, the runs under way are cancelled.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded mcp --agent researcher.ai --agent writer.ai

In a client's configuration:
  \"mcpServers\": { \"agents\": { \"command\": \"bonded\", \"args\": [\"mcp\", \"--agent\", \"/path/researcher.ai\"] } }")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) served: ServedArgs,

    /// Let the user of the client approve or deny pending calls
    ///
    /// The client must support elicitation; others are told that the run waits.
    #[arg(long)]
    pub(crate) ask_client: bool,
}

/// What is served, by whatever protocol.
#[derive(Debug, Args)]
pub(crate) struct ServedArgs {
    /// Agent file to serve; repeatable
    #[arg(
        long = "agent",
        short = 'a',
        value_name = "FILE.ai",
        action = clap::ArgAction::Append
    )]
    pub(crate) agent_files: Vec<PathBuf>,

    /// Runs at a time; ten times as many requests may wait
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: u32,

    /// Queue the runs for `bonded worker` instead of driving them here, and wait for what comes of them
    ///
    /// The store must be on a server: --store postgres://…
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<String>,
    /// Label that the worker must have, with --queue; repeatable
    #[arg(long, value_name = "LABEL", requires = "queue")]
    pub(crate) needs: Vec<String>,
    /// Working directory [default: current]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
