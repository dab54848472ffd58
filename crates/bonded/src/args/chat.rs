//! `bonded chat`.
//!
//! A conversation takes what a run takes, but for what programs use: there is no id to choose and no data on stdout.

use std::path::PathBuf;

use clap::Args;

use super::{AgentArgs, LimitArgs, ModelArgs};

/// Talk with an agent in this directory
///
/// Each message continues the same run: one log, which `bonded show`, `bonded diff` and `bonded undo` read. The agent asks
/// before it calls edit, write, append or run, unless you say otherwise with --ask or --no-ask. Limits apply to each message;
/// those that you type apply to the whole conversation too. Ctrl-C stops the agent and gives the prompt back. Commands begin
/// with a slash: /help lists them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded chat
  bonded chat \"what is in this directory?\"
  bonded chat --max-cost 2 --price 0.25,2 --no-ask \"fix the failing test\"
  bonded chat -c                                     the last run here
  bonded chat --continue 3f2a --model openai/gpt-5")]
pub(crate) struct ChatArgs {
    /// The first message; `@FILE` reads a file
    #[arg(value_name = "GOAL")]
    pub(crate) goal: Option<String>,

    /// Continue the last run of this directory
    ///
    /// It continues from what was said, with the tools, the sandbox and the policy that it began with.
    #[arg(long, short = 'c', conflicts_with_all = ["continue_run", "agent_file", "system", "no_agents_md"])]
    pub(crate) continue_last: bool,

    /// Continue this run: its id or a unique prefix
    #[arg(long = "continue", id = "continue_run", value_name = "RUN", conflicts_with_all = ["agent_file", "system", "no_agents_md", "dir"])]
    pub(crate) continue_run: Option<String>,

    /// Working directory [default: current]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Agent file
    #[arg(long = "agent", short = 'a', value_name = "FILE.ai", conflicts_with_all = ["system", "base_url", "price", "key_env"])]
    pub(crate) agent_file: Option<PathBuf>,

    /// System prompt to use instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,

    /// Do not read AGENTS.md
    #[arg(long, conflicts_with = "agent_file")]
    pub(crate) no_agents_md: bool,

    /// Ask only before what the configuration or the agent says
    #[arg(long, conflicts_with = "ask")]
    pub(crate) no_ask: bool,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
