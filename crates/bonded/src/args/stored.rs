//! What is done with runs that the store has.
//!
//! A run is named by its id or the beginning of it; which one is meant is found out by `settings::find`. Everything
//! else that such a run needs, its model, directory, limits and policy, is in its log and cannot be given again.

use std::path::PathBuf;

use clap::Args;

use super::{Prompting, ShowProgress};

/// List runs, newest first
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// List the runs of the rules of this data directory too
    #[arg(long, env = "BONDED_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Print one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what a run did, step by step
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// Show one turn whole: arguments, outputs, texts
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u32>,

    /// Go on showing entries as they are made, until the run ends
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Print the entries as JSON, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Go on with a run that was interrupted
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run's id or a unique prefix of it
    #[arg(required_unless_present = "all")]
    pub(crate) run: Option<String>,

    /// Every run that was interrupted
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,

    /// The ledger to write the accounts to [default: the one that the run began with]
    #[arg(long, value_name = "FILE")]
    pub(crate) billing_file: Option<PathBuf>,

    /// The directory for a snapshot of the run [default: the one that the run began with]
    #[arg(long, value_name = "DIR")]
    pub(crate) sessions_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) show: ShowProgress,

    #[command(flatten)]
    pub(crate) prompting: Prompting,

    /// Print one result object instead of the answer
    #[arg(long)]
    pub(crate) json: bool,

    /// Trust what has changed in the configuration since the run began, for this once; for one run, not with --all
    #[arg(long)]
    pub(crate) trust: bool,
}

/// End a run, whichever process drives it
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// Kept in the log as the reason
    #[arg(long, default_value = "cancelled by the user")]
    pub(crate) reason: String,
}

/// Make a new run that stands where a turn of another one began
///
/// The new run's id is printed; `bonded resume ID` drives it. Files are not set back: the tools find the
/// directory as it is.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// The turn to begin again
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turn: u32,

    /// The new run's id
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Another model from there on: PROVIDER/MODEL, `script:FILE`, or with --base-url the model alone
    #[arg(long, short = 'm', value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The base URL of an OpenAI-compatible server
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,

    /// Another limit of turns from there on
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
}
