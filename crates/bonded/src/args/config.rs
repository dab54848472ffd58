//! The configuration, and the logins that it needs.
//!
//! They look at a place, a directory or an agent file, as a run there would: the same layers in the same order.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::AgentArgs;

/// Show or check the configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded config show
  bonded config check --agent reviewer.ai")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the resolved values with the file each came from; secrets are masked
    #[command(after_help = "\
Examples:
  bonded config show
  bonded config show --agent reviewer.ai --json")]
    Show(ConfigPlaceArgs),
    /// Check the configuration and an agent without running it
    #[command(after_help = "\
Examples:
  bonded config check
  bonded config check --agent reviewer.ai")]
    Check(ConfigPlaceArgs),
}

#[derive(Debug, Default, Args)]
pub(crate) struct ConfigPlaceArgs {
    /// The agent whose directory, options and tools count too
    #[arg(long = "agent", short = 'a', value_name = "FILE.ai")]
    pub(crate) agent_file: Option<PathBuf>,

    /// Working directory [default: current]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Log in to an MCP server
///
/// Prints the address of a login page on stdout and waits up to ten minutes. The token is kept in the data directory,
/// readable by you alone; runs use and renew it. The browser must be on this machine or reach its port:
/// `"redirectPort"` in the server's `oauth` fixes the port, so that `ssh -L` can forward it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded login wiki")]
pub(crate) struct LoginArgs {
    /// The server's name in the configuration
    pub(crate) server: String,

    /// Scopes to request instead of those of the configuration or the server
    #[arg(long, value_name = "SCOPES", value_delimiter = ' ')]
    pub(crate) scope: Vec<String>,

    #[command(flatten)]
    pub(crate) place: LoginPlaceArgs,
}

/// Log out of an MCP server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded logout wiki")]
pub(crate) struct LogoutArgs {
    /// The server's name in the configuration
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) place: LoginPlaceArgs,
}

/// Where the configuration of a server is looked for.
#[derive(Debug, Args)]
pub(crate) struct LoginPlaceArgs {
    /// The agent whose configuration counts too
    #[arg(long = "agent", short = 'a', value_name = "FILE.ai")]
    agent_file: Option<PathBuf>,

    /// Working directory [default: current]
    #[arg(long, short = 'C', value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Configuration file with the highest precedence
    #[arg(long, value_name = "FILE.json")]
    config: Option<PathBuf>,

    /// Trust the files found in the directory, once
    #[arg(long, conflicts_with = "no_trust")]
    trust: bool,

    /// Use only the restrictions of files found in the directory
    #[arg(long)]
    no_trust: bool,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}

impl From<&LoginPlaceArgs> for ConfigPlaceArgs {
    fn from(args: &LoginPlaceArgs) -> Self {
        Self {
            agent_file: args.agent_file.clone(),
            dir: args.dir.clone(),
            agent: AgentArgs {
                config: args.config.clone(),
                trust: args.trust,
                no_trust: args.no_trust,
                ..AgentArgs::default()
            },
            json: args.json,
        }
    }
}

/// Trust a directory's configuration, or an agent file
///
/// A directory may come from a stranger: until you trust it, a configuration found there can only restrict a run, and
/// its AGENTS.md only informs. This shows what it would start, send and loosen, and asks. The content is recorded in your
/// configuration directory; you are asked again when it changes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded trust                                       the current directory
  bonded trust --list
  bonded trust --revoke .")]
pub(crate) struct TrustArgs {
    /// Directories, with the agent files in them, or single files [default: current]
    #[arg(value_name = "DIR")]
    pub(crate) places: Vec<PathBuf>,

    /// Do not ask
    #[arg(long, short, conflicts_with_all = ["list", "revoke"])]
    pub(crate) yes: bool,

    /// List what is trusted
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) list: bool,

    /// Revoke trust in everything in the directories and below
    #[arg(long)]
    pub(crate) revoke: bool,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}
