//! Whether what is recorded holds.
//!
//! A verification never writes to the store. What is compared with may be named here too: a head, a file of heads,
//! a ledger, a directory of snapshots, a key, a tree. What is named comes from outside the store, and is therefore
//! worth more than what lies beside it.

use std::path::PathBuf;

use bonded_kernel::Hash;
use clap::Args;

/// Recompute every step of a run offline and compare
///
/// With --receipt, a work item is run again in a scratch directory: its starting state is restored, the model's
/// recorded replies are given to the real tools, and the resulting state is compared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded replay 3f2a                                 a run, by a prefix of its id
  bonded replay --receipt RECEIPT.json               a work item, with the recorded replies")]
pub(crate) struct ReplayArgs {
    /// The run's id or a unique prefix of it
    #[arg(required_unless_present = "receipt", conflicts_with = "receipt")]
    pub(crate) run: Option<String>,

    /// The receipt of a work item
    #[arg(long, value_name = "RECEIPT.json")]
    pub(crate) receipt: Option<PathBuf>,

    /// With --receipt: ask the model again instead of using its recorded replies
    #[arg(long, requires = "receipt")]
    pub(crate) live: bool,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Verify that a run's log or a receipt is complete and unchanged
///
/// A log shows on its own that no entry was changed, moved or removed from its middle. That nothing was removed from
/// its end, that it was not replaced and that no run is missing is shown by what is kept elsewhere: heads that you
/// noted (--head, --heads), receipts, ledgers and snapshots, all of which are compared. With nothing to compare, the
/// exit code is 7.
///
/// Receipts need neither the store nor the network. Several are checked as a chain, in the order in which they are
/// given; the receipt of a level goes with those of its items. The signer is named; --key, or the key beside the
/// store, says whether it is known.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 intact, and compared with something; 1 damaged, changed or missing; 7 no fault found, but nothing to
compare with, or only what an unknown key signed.

Examples:
  bonded verify 3f2a                                 a run, by a prefix of its id
  bonded verify --all --json > heads.jsonl           keep this where it cannot be changed
  bonded verify --all --heads heads.jsonl            and compare later
  bonded verify RECEIPT.json --key signer.pem        a receipt, and that this key signed it
  bonded verify RECEIPT.json --tree .                and that the files are still what it says
  bonded verify LEVEL-0.RECEIPT.json items/*/RECEIPT.json")]
pub(crate) struct VerifyArgs {
    /// The run's id or a unique prefix of it; or files of receipts
    #[arg(required_unless_present = "all", value_name = "RUN|RECEIPT.json")]
    pub(crate) named: Vec<String>,

    /// The head that you noted; for several runs one each, in order
    #[arg(long, value_name = "HASH", conflicts_with = "all")]
    pub(crate) head: Vec<Hash>,

    /// Heads that you kept: lines of `RUN HEAD`, or the output of --json
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

    /// Every run of the store, and every run that a record names
    #[arg(long, conflicts_with = "named")]
    pub(crate) all: bool,

    /// Print one object a run or receipt
    #[arg(long)]
    pub(crate) json: bool,
}
