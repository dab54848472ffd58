//! Whether what is recorded holds.
//!
//! A verification never writes to the store. What is compared with may be named here too: a head, a file of heads,
//! a ledger, a directory of snapshots, a key, a tree. What is named comes from outside the store, and is therefore
//! worth more than what lies beside it.

use std::path::PathBuf;

use bonded_kernel::Hash;
use clap::Args;

/// Replay a run offline: every step is computed again and compared
///
/// With --receipt, a work item is worked off again in a scratch directory: the state that it began with is restored,
/// the model's recorded replies are given to the real tools, and the state that comes of it is compared.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The run's id or a unique prefix of it
    #[arg(required_unless_present = "receipt", conflicts_with = "receipt")]
    pub(crate) run: Option<String>,

    /// The receipt of a work item
    #[arg(long, value_name = "RECEIPT.json")]
    pub(crate) receipt: Option<PathBuf>,

    /// With --receipt: ask the model anew instead of using its recorded replies
    #[arg(long, requires = "receipt")]
    pub(crate) live: bool,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Verify that runs' logs, or receipts of work items, are whole and unchanged
///
/// A log proves by itself that no entry was changed, moved or taken from its middle. That nothing was taken from its
/// end, that it was not replaced by another and that no run is gone is proved by what is kept elsewhere: heads that you
/// noted (--head, --heads), receipts, ledgers and snapshots, all of which are compared. Where there is nothing to
/// compare with, that is said, and the exit code is 7.
///
/// Receipts need neither the store nor the network. Several are checked as a chain, in the order in which they are
/// given; the receipt of a level goes with those of its items. Whoever signed is named; whether the key is known is
/// said by --key, or by the key beside the store.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 whole, and compared with something; 1 damaged, tampered with or gone; 7 no fault, but nothing to compare
with, or only what a stranger signed.

Examples:
  bonded verify 3f2a                                 a run, by a prefix of its id
  bonded verify --all --json > heads.jsonl           keep this where nobody can change it
  bonded verify --all --heads heads.jsonl            and compare later
  bonded verify RECEIPT.json --key signer.pem        a receipt, and that this key signed it
  bonded verify RECEIPT.json --tree .                and that the files are still what it says
  bonded verify LEVEL-0.RECEIPT.json items/*/RECEIPT.json")]
pub(crate) struct VerifyArgs {
    /// The run's id or a unique prefix of it; or files of receipts
    #[arg(required_unless_present = "all", value_name = "RUN|RECEIPT.json")]
    pub(crate) named: Vec<String>,

    /// The head that the run had when it was noted; for several runs once each, in their order
    #[arg(long, value_name = "HASH", conflicts_with = "all")]
    pub(crate) head: Vec<Hash>,

    /// Heads that were kept: lines of `RUN HEAD`, or what --json printed
    #[arg(long, value_name = "FILE")]
    pub(crate) heads: Option<PathBuf>,

    /// A ledger to compare with, besides those that the runs name
    #[arg(long, value_name = "FILE")]
    pub(crate) billing_file: Option<PathBuf>,

    /// A directory of snapshots to compare with, besides those that the runs name
    #[arg(long, value_name = "DIR")]
    pub(crate) sessions_dir: Option<PathBuf>,

    /// The public key that must have signed the receipts, in PEM form
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    pub(crate) key: Option<PathBuf>,

    /// Check that the files of this tree are what the receipts say that they became
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub(crate) tree: Option<PathBuf>,

    /// Every run of the store, and every run that something names and that is gone
    #[arg(long, conflicts_with = "named")]
    pub(crate) all: bool,

    /// Print one object a run or receipt
    #[arg(long)]
    pub(crate) json: bool,
}
