//! `bonded work`.
//!
//! The words of the command line are kept in the record of the plan and read again with `--resume`: a flag that
//! changes its meaning changes plans that were begun before.

use std::path::PathBuf;

use clap::Args;

use super::{AgentArgs, LimitArgs, ModelArgs, amount};

/// Run a plan of work items; each is published whole, tested and signed, or not at all
///
/// Each item runs in its own copy of the tree. Only what was admitted and passed its tests is published: its files are
/// replaced one after the other, which takes milliseconds. If the process dies in between, it leaves a notice in the
/// tree's root, and the next `bonded work` there finishes or undoes the publish. Results go to stdout, everything else
/// to stderr.
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  bonded work plan.yaml --model openai/gpt-5-mini
  bonded work plan.json --repo ../site --agent coder.ai --jobs 8 --commit
  bonded work plan.json --dry-run                    levels and limits; nothing runs
  bonded work --resume                               continue after a crash, repeating nothing
  bonded verify RECEIPT.json                         check a receipt, without store or network",
    after_long_help = "\
Examples:
  bonded work plan.yaml --model openai/gpt-5-mini
  bonded work plan.json --repo ../site --agent coder.ai --jobs 8 --commit
  bonded work plan.json --dry-run                    levels and limits; nothing runs
  bonded work --resume                               continue after a crash, repeating nothing
  bonded verify RECEIPT.json                         check a receipt, without store or network

A plan is one work item, or an array of them, as JSON or YAML:
  {\"id\": \"docs\", \"agent_id\": \"agent-1\", \"description\": \"...\", \"dependencies\": [],
   \"constraints\": {\"max_files\": 3}, \"output_files\": [\"docs/\"], \"test_command\": \"make check\"}
`docs/work.md` describes every field."
)]
pub(crate) struct WorkArgs {
    /// Plan file; `-` reads stdin
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub(crate) plan: Option<PathBuf>,

    /// Tree to work on [default: current directory]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,

    /// Items of a level at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: u16,

    /// Queue the items' runs for `bonded worker --items` on other machines; this one publishes what comes of them
    ///
    /// The store must be on a server: --store postgres://…
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<String>,

    /// Label that the worker must have, with --queue; repeatable
    #[arg(long, value_name = "LABEL", requires = "queue")]
    pub(crate) needs: Vec<String>,

    /// Whose runs they are, with --queue: submitters take turns [default: your user name]
    #[arg(long, value_name = "NAME", requires = "queue")]
    pub(crate) submitter: Option<String>,

    /// Agent file for all items, or ID=FILE.ai for one agent_id; repeatable
    #[arg(long = "agent", short = 'a', value_name = "[ID=]FILE.ai", conflicts_with_all = ["base_url", "price", "key_env"])]
    pub(crate) agent_files: Vec<String>,

    /// Check the plan and print its levels and limits; run nothing
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,

    /// Resume an interrupted plan: its id, or the last one of this tree
    #[arg(long, value_name = "PLAN_ID", num_args = 0..=1, default_missing_value = "", conflicts_with = "plan")]
    pub(crate) resume: Option<String>,

    /// The id of the plan, for programs that may die before they hear of its end: a plan that has it already is gone on
    /// with, and one that has ended gives its results again
    #[arg(long, value_name = "PLAN_ID", conflicts_with = "resume", hide = true)]
    pub(crate) plan_id: Option<String>,

    /// Make one git commit per successful item
    #[arg(long)]
    pub(crate) commit: bool,

    /// Accept a change that was already accepted once
    #[arg(long)]
    pub(crate) again: bool,

    /// Limits of items that set none
    #[arg(long, value_name = "NAME", value_parser = ["default", "production", "strict"], default_value = "default")]
    pub(crate) limits_of: String,

    /// Wait for other plans: their results and this tree; 0: refuse at once [default: 5m for results, 0 for the tree]
    #[arg(long = "wait", alias = "wait-ms", value_name = "DURATION", value_parser = amount::milliseconds, allow_negative_numbers = true)]
    pub(crate) wait_ms: Option<u64>,

    /// System prompt to use instead of the built-in one
    #[arg(long, value_name = "FILE", conflicts_with = "agent_files")]
    pub(crate) system: Option<PathBuf>,

    /// Print the results as JSON: one object for one item, else an array
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
