//! `bonded acp`.

use std::path::PathBuf;

use clap::Args;

use super::{AgentArgs, LimitArgs, ModelArgs};

/// Work for an editor that speaks the Agent Client Protocol
///
/// Editors start this themselves and speak to it over stdin and stdout. Each session is a run of the store, with its
/// limits, its log and its undo.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  bonded acp --model openai/gpt-5-mini
  bonded acp --agent reviewer.ai --max-cost 2

In the editor's settings the command is `bonded`, with the arguments `acp` and whatever belongs to it.")]
pub(crate) struct AcpArgs {
    /// Agent file
    #[arg(long = "agent", short = 'a', value_name = "FILE.ai", conflicts_with_all = ["system", "base_url", "price", "key_env"])]
    pub(crate) agent_file: Option<PathBuf>,

    /// System prompt to use instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,

    /// Do not read AGENTS.md
    #[arg(long, conflicts_with = "agent_file")]
    pub(crate) no_agents_md: bool,

    /// Change files and run commands without asking in the editor
    ///
    /// Without it, and where neither the configuration nor --ask says otherwise, the editor asks about each.
    #[arg(long)]
    pub(crate) no_ask: bool,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
