//! What is done with runs that the store has.
//!
//! A run is named by its id or the beginning of it; which one is meant is found out by `settings::find`. Everything
//! else that such a run needs, its model, directory, limits and policy, is in its log and cannot be given again.

use std::path::PathBuf;

use clap::Args;

use super::{Prompting, ShowProgress};

/// List runs, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded runs
  bonded runs --limit 100 --json")]
pub(crate) struct RunsArgs {
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// Of the data directories, list only this one [default: all that you have made or served]
    #[arg(long, env = "BONDED_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Print one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what a run did, step by step
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded show 3f2a                                   by a prefix of its id
  bonded show 3f2a --turn 4                          one turn in full
  bonded show 3f2a --follow                          until it ends")]
pub(crate) struct ShowArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// Show one turn in full: arguments, outputs, texts
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u32>,

    /// Keep showing new entries until the run ends
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Print the entries as JSON, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Resume an interrupted run
///
/// The run continues at its last recorded step, with the model, directory and limits it began with. A command that was
/// under way is not repeated.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded resume 3f2a                                 by a prefix of its id
  bonded resume --all                                every interrupted run")]
pub(crate) struct ResumeArgs {
    /// The run's id or a unique prefix of it
    #[arg(required_unless_present = "all")]
    pub(crate) run: Option<String>,

    /// Every interrupted run
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,

    /// Append token and cost records to this file [default: as the run began]
    #[arg(long, value_name = "FILE")]
    pub(crate) billing_file: Option<PathBuf>,

    /// Write a snapshot of the run to this directory [default: as the run began]
    #[arg(long, value_name = "DIR")]
    pub(crate) sessions_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) show: ShowProgress,

    #[command(flatten)]
    pub(crate) prompting: Prompting,

    /// Print one result object instead of the answer
    #[arg(long)]
    pub(crate) json: bool,

    /// Trust what changed in the configuration since the run began, once
    #[arg(long)]
    pub(crate) trust: bool,
}

/// Cancel a run, even one running in another process
///
/// A cancelled run has ended for good. To stop one and continue later, press Ctrl-C and use `bonded resume`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded cancel 3f2a
  bonded cancel 3f2a --reason \"wrong branch\"")]
pub(crate) struct CancelArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// The reason, kept in the log
    #[arg(long, default_value = "cancelled by the user")]
    pub(crate) reason: String,
}

/// Start a new run from turn N of another
///
/// Prints the new run's id; `bonded resume ID` starts it. Files are not reset: the tools find the directory as it is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded fork 3f2a --turn 4
  bonded fork 3f2a --turn 4 --model openai/gpt-5 --max-turns 80")]
pub(crate) struct ForkArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// The turn to start from
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turn: u32,

    /// The new run's id
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Another model: PROVIDER/MODEL, `script:FILE`, or with --base-url the model alone
    #[arg(long, short = 'm', value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The base URL of an OpenAI-compatible server
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,

    /// Another limit of turns
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
}
