//! Workers, which drive queued runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{LogArgs, amount};

/// Drive queued runs of a store on a server
///
/// Takes runs that `bonded run --detach` and `bonded serve --queue` have queued, with --items those of `bonded work --queue` too,
/// and those of workers that have died. Submitters take turns. At
/// Ctrl-C or SIGTERM it takes no more runs, and hands each of its runs on after the current step; a second signal ends
/// it at once, and its runs are free when its lease ends.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded worker --store postgres://worker@db.example.org/agents
  bonded worker --concurrent 16 --queue default --queue nightly
  bonded worker --label gpu --once
  bonded worker --queue ci --items                   items of `bonded work --queue ci` too
  bonded worker --listen 127.0.0.1:8131              figures for Prometheus, and probes")]
pub(crate) struct WorkerArgs {
    /// Runs at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) concurrent: u16,

    /// Queue to take runs from; repeatable
    #[arg(long = "queue", value_name = "NAME", default_value = "default")]
    pub(crate) queues: Vec<String>,

    /// What runs may need and this worker has; repeatable
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,

    /// Data directory of a workspace on a server, whose agents' loops this worker can drive
    ///
    /// The store is then that of the workspace, unless --store names another.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Take items of plans too: each works in a copy of its tree, which is made here from what the store has
    ///
    /// The worker gets file systems of its own, in which copies are mounted. Where the machine does not allow that, each copy
    /// is whole.
    #[arg(long)]
    pub(crate) items: bool,

    /// End when no run is left that it could take
    #[arg(long)]
    pub(crate) once: bool,

    /// How long runs may take to finish their current step at shutdown
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = amount::seconds, allow_negative_numbers = true)]
    pub(crate) drain: Duration,

    /// Address for /healthz, /readyz and /metrics; port 0 picks a free port [default: none]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<String>,

    /// File with one token per line; each may read /metrics
    ///
    /// Needed where other machines can reach the address. /healthz and /readyz need no token.
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) metrics_token_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// List the processes that drive runs of a store on a server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded workers
  bonded workers --json")]
pub(crate) struct WorkersArgs {
    /// Print one object a line
    #[arg(long)]
    pub(crate) json: bool,
}
