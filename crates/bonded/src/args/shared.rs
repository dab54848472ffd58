//! What several commands take.
//!
//! A struct here is flattened into several commands. A flag that is added is therefore a flag of all of them, and
//! must mean the same there; a default must be good for each.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::amount;
use crate::options::OptionArgs;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// The base URL of an OpenAI-compatible server [BONDED_BASE_URL: that of models whose provider nobody names]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// The variable that holds the key [BONDED_KEY_ENV: of the server at BONDED_BASE_URL]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_env: Option<String>,

    /// Dollars a million tokens: INPUT,OUTPUT[,CACHED]
    #[arg(long, value_name = "IN,OUT[,CACHED]")]
    pub(crate) price: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Time limit, such as 10m; 0: none
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = amount::seconds, allow_negative_numbers = true)]
    pub(crate) max_time: Duration,

    /// Token limit, input and output together, such as 200k
    #[arg(long, value_name = "TOKENS", value_parser = amount::tokens, allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u64>,

    /// The most dollars; needs --price where no price is listed
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<String>,

    /// End the run when the same thing happens this often in a row; 0 = never [default: 3, agents: 0]
    #[arg(long, value_name = "N")]
    pub(crate) no_progress: Option<u32>,
}

/// What agents, and runs without one, have in common.
#[derive(Debug, Default, Args)]
pub(crate) struct AgentArgs {
    /// A configuration file that comes before all others
    #[arg(long, value_name = "FILE.json")]
    pub(crate) config: Option<PathBuf>,

    /// Set an option for all agents of the run, whatever their files say
    #[arg(long = "override", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,

    /// Let agent files include what lies outside their own directory
    #[arg(long)]
    pub(crate) includes_anywhere: bool,

    /// Trust the configuration and agent files that are found, for this once
    #[arg(long, conflicts_with = "no_trust")]
    pub(crate) trust: bool,

    /// Take only what tightens of the configuration that is found, also if it is trusted
    #[arg(long)]
    pub(crate) no_trust: bool,

    #[command(flatten)]
    pub(crate) options: OptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowProgress {
    /// Show no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Whether the person at the terminal is asked.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Prompting {
    /// Do not ask at the terminal: when a call needs approval, exit with 6
    #[arg(long)]
    pub(crate) no_prompt: bool,
}
