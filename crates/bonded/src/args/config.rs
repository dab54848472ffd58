//! The configuration, and the logins that it needs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::AgentArgs;

/// Show or check the configuration
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the resolved values, each with the file that it came from; secrets are masked
    Show(ConfigPlaceArgs),
    /// Find everything that is wrong with the configuration and an agent, without running it
    Check(ConfigPlaceArgs),
}

#[derive(Debug, Default, Args)]
pub(crate) struct ConfigPlaceArgs {
    /// The agent whose directory, options and tools count too
    #[arg(long = "agent", short = 'a', value_name = "FILE.ai")]
    pub(crate) agent_file: Option<PathBuf>,

    /// The directory that the agent works in [default: the current one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Log in to an MCP server that demands it
///
/// Prints the address of a page on stdout and waits until somebody has logged in there, for ten minutes at most. The
/// token is kept in the data directory, for its owner alone; runs use and renew it. The browser must be on this
/// machine, or reach its port: `"redirectPort"` in the server's `oauth` fixes it, so that `ssh -L` can forward it.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The server's name in the configuration
    pub(crate) server: String,

    /// What to ask for, instead of what the configuration or the server says
    #[arg(long, value_name = "SCOPES", value_delimiter = ' ')]
    pub(crate) scope: Vec<String>,

    #[command(flatten)]
    pub(crate) place: ConfigPlaceArgs,
}

/// Forget the login to an MCP server
#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// The server's name in the configuration
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) place: ConfigPlaceArgs,
}
