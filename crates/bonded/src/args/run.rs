//! `bonded run`.
//!
//! One goal, or with `--each` the lines of a file. Options of agents come with the shared arguments; what stands
//! here is about this command alone: whose id, what is printed, and in which form.

use std::path::PathBuf;

use clap::Args;

use super::{AgentArgs, LimitArgs, ModelArgs, Prompting};

/// Run an agent on a goal, within limits
///
/// The answer goes to stdout, everything else to stderr. Every step is recorded before the next begins; after a crash
/// or Ctrl-C, `bonded resume RUN` continues.
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  bonded run --model openai/gpt-5-mini \"fix the failing test\"
  cat error.log | bonded run \"why did this fail?\"
  bonded run --agent reviewer.ai --max-cost 0.50 \"review the last commit\"

All options: bonded run --help",
    after_long_help = "\
Examples:
  bonded run --model openai/gpt-5-mini \"fix the failing test\"
  cat error.log | bonded run \"why did this fail?\"
  bonded run --agent reviewer.ai --max-cost 0.50 \"review the last commit\"
  bonded run -c \"and now the docs\"
  bonded run --continue 3f2a --max-turns 20 \"continue\"
  bonded run --plan \"make the tests faster\"
  bonded run --plan --work-plan plan.yaml \"translate the docs\"
  bonded run --from-plan 3f2a
  bonded run --model script:replies.jsonl --json \"try it without a model\"
  bonded run --id nightly-2026-11-15 --max-time 10m --ask edit,write @goal.txt
  bonded run --each goals.jsonl --jobs 16 > results.jsonl
  bonded run --detach --queue nightly --needs gpu @goal.txt

A goal file for --each has one goal per line: a JSON string, or {\"goal\": \"...\", \"id\": \"...\"}. Given again, it
resumes the goals that are not finished and repeats nothing."
)]
pub(crate) struct RunArgs {
    /// The goal; `-` or nothing reads stdin, `@FILE` reads a file
    ///
    /// With a goal, what is piped in is material for it: it is sent as data beside the goal, cut to 128 KiB.
    #[arg(value_name = "GOAL")]
    pub(crate) goal: Option<String>,

    /// Image to send with the goal: PNG, JPEG, GIF or WebP; repeatable
    ///
    /// A goal can also name images of the working directory: "what is wrong in @shot.png?"
    #[arg(long = "image", value_name = "FILE", conflicts_with = "each")]
    pub(crate) images: Vec<PathBuf>,

    /// Continue the last run of this directory with GOAL
    ///
    /// It continues from what was said, with the tools, the sandbox and the policy that it began with, and within the limits
    /// of this command.
    #[arg(long, short = 'c', conflicts_with_all = ["continue_run", "images", "each", "id", "detach", "agent_file", "system", "no_agents_md"])]
    pub(crate) continue_last: bool,

    /// Continue this run with GOAL: its id or a unique prefix
    #[arg(long = "continue", id = "continue_run", value_name = "RUN", conflicts_with_all = ["images", "each", "id", "detach", "agent_file", "system", "no_agents_md", "dir"])]
    pub(crate) continue_run: Option<String>,

    /// Change nothing: read, and answer with a plan
    ///
    /// The model is offered only tools that read, and nothing stays of what its commands write. `--from-plan` carries the plan out.
    #[arg(long, conflicts_with_all = ["continue_last", "continue_run", "each", "detach", "from_plan", "no-read-only"])]
    pub(crate) plan: bool,

    /// With --plan: the answer must be a plan for `bonded work`, and is written to this new file
    ///
    /// An answer that `bonded work` could not read is given back with its mistakes, up to three times.
    #[arg(long, value_name = "FILE", requires = "plan")]
    pub(crate) work_plan: Option<PathBuf>,

    /// Carry out the plan of this run: its id or a unique prefix
    ///
    /// A GOAL is what is asked besides. It works in the directory of the plan unless --dir names another.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["continue_last", "continue_run", "each", "detach"])]
    pub(crate) from_plan: Option<String>,

    /// Run the goals of a JSON Lines file, one result per line on stdout
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["goal", "id", "stream_json"])]
    pub(crate) each: Option<PathBuf>,

    /// Runs at a time with --each
    #[arg(long, value_name = "N", default_value_t = 8, requires = "each")]
    pub(crate) jobs: usize,

    /// Queue the run for `bonded worker`, print its id and exit
    ///
    /// The store must be on a server: --store postgres://…
    #[arg(long, conflicts_with_all = ["json", "stream_json"])]
    pub(crate) detach: bool,

    /// Queue to wait in, with --detach
    #[arg(
        long,
        value_name = "NAME",
        default_value = "default",
        requires = "detach"
    )]
    pub(crate) queue: String,

    /// Label that the worker must have, with --detach; repeatable
    #[arg(long, value_name = "LABEL", requires = "detach")]
    pub(crate) needs: Vec<String>,

    /// Whose run it is, with --detach: submitters take turns [default: your user name]
    #[arg(long, value_name = "NAME", requires = "detach")]
    pub(crate) submitter: Option<String>,

    /// Id of the run; an id that exists returns or resumes that run
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

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

    /// Print one result object instead of the answer
    #[arg(long, conflicts_with = "stream_json")]
    pub(crate) json: bool,

    /// Print each log entry as a line of JSON
    #[arg(long)]
    pub(crate) stream_json: bool,

    #[command(flatten)]
    pub(crate) prompting: Prompting,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    // After the options, which look for it among what is not read yet: it implies `--stream`.
    /// With --stream-json: also print text as it is streamed; implies --stream
    ///
    /// The lines are {"live": {"run", "turn", "attempt", "text"}}. They are advisory and not kept: a reply may still be
    /// rejected, and the next attempt repeats it.
    #[arg(long, requires = "stream_json", conflicts_with_all = ["json", "no-stream"])]
    pub(crate) live: bool,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
