//! `bonded run`.
//!
//! One goal, or with `--each` the lines of a file. Options of agents come with the shared arguments; what stands
//! here is about this command alone: whose id, what is printed, and in which form.

use std::path::PathBuf;

use clap::Args;

use super::{AgentArgs, LimitArgs, ModelArgs, Prompting};

/// Run an agent until its goal is reached or a limit ends it
///
/// The answer goes to stdout, everything else to stderr. Every step is durable before the next begins;
/// after a crash, `bonded resume RUN` goes on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded run --model openrouter/qwen/qwen3-coder \"make the tests pass\"
  cat error.log | bonded run --model ollama/llama3.1 \"why did this fail?\"
  bonded run --model script:replies.jsonl --json \"try it without a model\"
  bonded run --id nightly-2026-11-15 --max-cost 0.50 --price 0.25,2 @goal.txt
  bonded run --agent reviewer.ai \"review the last commit\"
  bonded run --each goals.jsonl --jobs 16 > results.jsonl

A goal file for --each has one goal a line: a JSON string, or {\"goal\": \"...\", \"id\": \"...\"}.
Given again, it continues what had not ended and repeats nothing.")]
pub(crate) struct RunArgs {
    /// The goal; `-` or nothing reads stdin, `@FILE` reads a file
    ///
    /// With a goal, what is piped in is material for it: it is sent as data beside the goal, cut to 128 KiB.
    #[arg(value_name = "GOAL")]
    pub(crate) goal: Option<String>,

    /// Run the goals of a JSON Lines file, one result a line on stdout
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["goal", "id", "stream_json"])]
    pub(crate) each: Option<PathBuf>,

    /// How many runs at a time with --each
    #[arg(long, value_name = "N", default_value_t = 8, requires = "each")]
    pub(crate) jobs: usize,

    /// The run's id; an id that exists returns or resumes that run
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// The directory that the agent works in [default: the current one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// The agent to run: an agent file
    #[arg(long = "agent", short = 'a', value_name = "FILE.ai", conflicts_with_all = ["system", "base_url", "price", "key_env"])]
    pub(crate) agent_file: Option<PathBuf>,

    /// The agent's system text, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,

    /// Do not read the AGENTS.md of the directory and of those above it
    #[arg(long, conflicts_with = "agent_file")]
    pub(crate) no_agents_md: bool,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    #[command(flatten)]
    pub(crate) prompting: Prompting,

    /// Print one result object instead of the answer
    #[arg(long, conflicts_with = "stream_json")]
    pub(crate) json: bool,

    /// Print each entry of the log as a line of JSON, as it is made
    #[arg(long)]
    pub(crate) stream_json: bool,

    /// With --stream-json: print also what models are saying, while they say it; implies --stream
    ///
    /// The lines are {"live": {"run", "turn", "attempt", "text"}}. They are advisory: nothing of them is kept, a
    /// reply may still be rejected, and another attempt says it again.
    #[arg(long, requires = "stream_json", conflicts_with_all = ["json", "no-stream"])]
    pub(crate) live: bool,
}
