//! The store itself.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Create the store on a server, bring it up to date, copy stores, and limit queues and agents
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded store init --store postgres://owner@db.example.org/agents --grant worker
  bonded store queue nightly --concurrent 4")]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Create the store, or bring it up to date
    ///
    /// On a server this creates the schema `bonded` and the role `bonded_app`, which may append to the log and not change it.
    /// Every other command acts as that role, so that its user must be a member of it.
    #[command(after_help = "\
Examples:
  bonded store init --store postgres://owner@db.example.org/agents --grant worker
  bonded runs --store postgres://worker@db.example.org/agents")]
    Init(StoreInitArgs),
    /// List the queues, or limit how many runs of one are driven at once
    ///
    /// The limit holds for all workers together. It is kept in the store.
    #[command(after_help = "\
Examples:
  bonded store queue
  bonded store queue nightly --concurrent 4
  bonded store queue nightly --unlimited")]
    Queue(StoreLimitArgs),
    /// List the agents of queued runs, or limit how many runs of one are driven at once
    ///
    /// The limit holds for all workers together, whichever queues the runs wait in. It is kept in the store. Agents that
    /// another agent calls do not count.
    #[command(after_help = "\
Examples:
  bonded store agent
  bonded store agent reviewer --concurrent 2
  bonded store agent reviewer --unlimited")]
    Agent(StoreLimitArgs),
    /// Copy all runs of a store to another one, from a file to a server or back
    ///
    /// Each log is copied entry for entry and read again where it was copied to. The store that is copied from stays as it is and can
    /// be read and used meanwhile. Whatever stops the command, make it again: it continues where it was, and copies what was added
    /// since. Runs that have not ended continue in FROM, and their copies are set aside, until --move hands them over.
    #[command(after_help = "\
Examples:
  bonded store copy store.db postgres://worker@db.example.org/agents
  bonded store copy store.db postgres://worker@db.example.org/agents --move
  bonded store copy postgres://worker@db.example.org/agents copy.db")]
    Copy(StoreCopyArgs),
    /// Continue runs whose other store is lost
    ///
    /// A run that was copied before it ended continues in one of the two stores. Use this where that one is gone for good: a run
    /// that continues in both does everything twice.
    #[command(after_help = "\
Examples:
  bonded store adopt 3f2a")]
    Adopt(StoreAdoptArgs),
    /// List the plans whose trees workers were sent, or remove what was sent for one
    ///
    /// What was sent for a plan is removed when the plan has ended. It stays if the plan is never resumed.
    #[command(after_help = "\
Examples:
  bonded store plan
  bonded store plan 5c1f0a9e72b4 --remove")]
    Plan(StorePlanArgs),
}

#[derive(Debug, Args)]
pub(crate) struct StoreCopyArgs {
    /// The store to copy: a file, or postgres://…
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,

    /// The store to copy to: a file, which is created, or postgres://…
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,

    /// Hand over the runs that have not ended: they continue in TO, and no longer in FROM
    #[arg(long = "move")]
    pub(crate) moves: bool,

    /// Also read again what was in TO before
    #[arg(long)]
    pub(crate) check: bool,

    /// Print one object for each run to look at, and one at the end
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StoreAdoptArgs {
    /// The runs, by their ids or how these begin
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StorePlanArgs {
    /// Which one; without it all are listed
    #[arg(value_name = "PLAN_ID", requires = "remove")]
    pub(crate) plan: Option<String>,

    /// Remove what was sent for it, if none of its runs is queued or driven
    #[arg(long, requires = "plan")]
    pub(crate) remove: bool,

    /// Print one object a line
    #[arg(long, conflicts_with = "plan")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StoreInitArgs {
    /// Let this user of the server use the store; repeatable
    #[arg(long, value_name = "USER")]
    pub(crate) grant: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StoreLimitArgs {
    /// Which one to limit; without it all are listed
    #[arg(value_name = "NAME", requires = "limit")]
    pub(crate) name: Option<String>,

    /// Drive at most this many of its runs at once
    #[arg(long, value_name = "N", group = "limit", requires = "name")]
    pub(crate) concurrent: Option<u32>,

    /// Remove the limit
    #[arg(long, group = "limit", requires = "name")]
    pub(crate) unlimited: bool,

    /// Print one object a line
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}
