//! What several commands take.
//!
//! A struct here is flattened into several commands. A flag that is added is therefore a flag of all of them, and
//! must mean the same there; a default must be good for each.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::amount;
use crate::options::OptionArgs;

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Base URL of an OpenAI-compatible server [BONDED_BASE_URL: for models without a provider]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// Variable that holds the key [BONDED_KEY_ENV: for BONDED_BASE_URL]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_env: Option<String>,

    /// Dollars per million tokens: INPUT,OUTPUT[,CACHED]
    #[arg(long, value_name = "IN,OUT[,CACHED]")]
    pub(crate) price: Option<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Time limit, such as 10m; 0: none [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = amount::seconds, allow_negative_numbers = true)]
    pub(crate) max_time: Option<Duration>,

    /// Token limit, input and output together, such as 200k
    #[arg(long, value_name = "TOKENS", value_parser = amount::tokens, allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u64>,

    /// Cost limit in dollars; needs --price where no price is listed
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<String>,

    /// Stop after N identical steps in a row [default: 3, agents: 0; 0: never]
    #[arg(long, value_name = "N")]
    pub(crate) no_progress: Option<u32>,
}

/// What agents, and runs without one, have in common.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AgentArgs {
    /// Configuration file with the highest precedence
    #[arg(long, value_name = "FILE.json")]
    pub(crate) config: Option<PathBuf>,

    /// Set an option for all agents of the run
    #[arg(long = "override", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,

    /// Allow includes from outside the agent's directory
    #[arg(long)]
    pub(crate) includes_anywhere: bool,

    /// Trust the files found in the directory, once
    #[arg(long, conflicts_with = "no_trust")]
    pub(crate) trust: bool,

    /// Use only the restrictions of files found in the directory
    #[arg(long)]
    pub(crate) no_trust: bool,

    #[command(flatten)]
    pub(crate) options: OptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowProgress {
    /// No progress output
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
