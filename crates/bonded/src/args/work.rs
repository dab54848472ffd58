//! `bonded work`.
//!
//! The words of the command line are kept in the record of the plan and read again with `--resume`: a flag that
//! changes its meaning changes plans that were begun before.

use std::path::PathBuf;

use clap::Args;

use super::{AgentArgs, LimitArgs, ModelArgs, amount};

/// Work a plan off: each item happens whole, tested and with a receipt, or not at all
///
/// Each item works in a copy of the tree. Only what was admitted and passed its tests is published: its files are
/// exchanged one after the other, which takes milliseconds. A process that dies in between leaves a notice in the tree's
/// root, and the next `bonded work` there finishes or undoes what was begun. Results go to stdout, everything else to
/// stderr.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded work plan.yaml --model openai/gpt-5-mini
  bonded work plan.json --repo ../site --agent coder.ai --jobs 8 --commit
  bonded work plan.json --dry-run                    levels and limits; nothing runs
  bonded work --resume                               go on after a crash, repeating nothing
  bonded verify RECEIPT.json                         check a receipt; needs neither store nor network

A plan is one work item, or an array of them, as JSON or YAML:
  {\"id\": \"docs\", \"agent_id\": \"agent-1\", \"description\": \"...\", \"dependencies\": [],
   \"constraints\": {\"max_files\": 3}, \"output_files\": [\"docs/\"], \"test_command\": \"make check\"}
`docs/work.md` describes every field.")]
pub(crate) struct WorkArgs {
    /// The plan's file; `-` reads it from stdin
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub(crate) plan: Option<PathBuf>,

    /// The tree to work on [default: the current directory]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,

    /// How many items of a level at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: u16,

    /// Who works: an agent file for all items, or ID=FILE.ai for those of one agent_id; several may be given
    #[arg(long = "agent", short = 'a', value_name = "[ID=]FILE.ai", conflicts_with_all = ["base_url", "price", "key_env"])]
    pub(crate) agent_files: Vec<String>,

    /// Check the plan and print its levels and limits; nothing runs
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,

    /// Go on with a plan that was interrupted: its id, or nothing for the last one of this tree
    #[arg(long, value_name = "PLAN_ID", num_args = 0..=1, default_missing_value = "", conflicts_with = "plan")]
    pub(crate) resume: Option<String>,

    /// The id of the plan, for programs that may die before they hear of its end: a plan that has it already is gone on
    /// with, and one that has ended gives its results again
    #[arg(long, value_name = "PLAN_ID", conflicts_with = "resume", hide = true)]
    pub(crate) plan_id: Option<String>,

    /// Make one git commit for each item that succeeds
    #[arg(long)]
    pub(crate) commit: bool,

    /// Admit also what was admitted before, on the same state of the tree
    #[arg(long)]
    pub(crate) again: bool,

    /// The limits of items that do not say their own
    #[arg(long, value_name = "NAME", value_parser = ["default", "production", "strict"], default_value = "default")]
    pub(crate) limits_of: String,

    /// Wait so long at most for dependencies that other plans on this tree have yet to do, and for the tree while one
    /// works on it; 0 refuses at once [default: 5m for dependencies, 0 for the tree]
    #[arg(long = "wait", alias = "wait-ms", value_name = "DURATION", value_parser = amount::milliseconds, allow_negative_numbers = true)]
    pub(crate) wait_ms: Option<u64>,

    /// The agents' system text, instead of the built-in one
    #[arg(long, value_name = "FILE", conflicts_with = "agent_files")]
    pub(crate) system: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Print the results as JSON: one object for one item, else an array
    #[arg(long)]
    pub(crate) json: bool,
}
