//! The configuration, and the logins that it needs.
//!
//! They look at a place, a directory or an agent file, as a run there would: the same layers in the same order.

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

/// Trust a directory's configuration, or an agent file
///
/// What lies in a directory may be anybody's: until it is trusted, a configuration that is found there can only
/// tighten. This shows what it would start, whom it would send something to and what it would loosen, and asks. The
/// content is recorded in the person's own configuration directory; it is asked about again when it changes.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Directories, with the agent files that lie in them, or single files [default: the current directory]
    #[arg(value_name = "DIR")]
    pub(crate) places: Vec<PathBuf>,

    /// Do not ask
    #[arg(long, short, conflicts_with_all = ["list", "revoke"])]
    pub(crate) yes: bool,

    /// Print what is trusted, and whether it has changed since
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) list: bool,

    /// Take trust back, from everything in the directories and below
    #[arg(long)]
    pub(crate) revoke: bool,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}
