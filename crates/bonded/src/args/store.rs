//! The store itself.

use clap::{Args, Subcommand};

/// Create the store on a server, or bring it up to date
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded store init --store postgres://owner@db.example.org/agents --grant worker")]
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
}

#[derive(Debug, Args)]
pub(crate) struct StoreInitArgs {
    /// Let this user of the server use the store; repeatable
    #[arg(long, value_name = "USER")]
    pub(crate) grant: Vec<String>,
}
