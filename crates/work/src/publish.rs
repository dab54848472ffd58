//! From what an attempt left to the tree and the receipt: admission, tests, publishing, sealing.
//!
//! The parts follow one another. `admission` judges what a run left and has it tested. `seal` takes the
//! outcomes of a level, `item` holds each against what others published meanwhile, and `transaction` brings it
//! to the tree. `receipts` and `item_files` write down what came of it, and `recovery` does the rest of it
//! after a crash. The receipt is drawn up before the tree is touched and lies in the journal, so that there is
//! never a change in the tree without a receipt for it.

mod admission;
mod copy;
mod disk_reservation;
mod duplicate;
mod error;
mod item;
mod item_files;
mod item_tests;
mod late_writes;
mod left_copy;
mod meeting;
mod receipts;
mod recovery;
mod seal;
mod transaction;
mod unfinished;

pub(crate) use admission::Admission;
pub(crate) use copy::{CopyMaking, copy_with_changes};
pub use error::WorkError;
pub(crate) use item_files::SealedItem;
pub(crate) use left_copy::LeftCopy;
pub(crate) use meeting::merged_content;
pub(crate) use seal::Sealer;
pub use transaction::{
    CommitError, CommitPlan, DiskOperation, Faults, MadeCommit, NoFaults, PreparedPublish, Publish,
    PublishError, ReplacedFile, SettledPublish, Settlement, notice_at,
};
pub use unfinished::{UnfinishedPublish, unfinished_publishes};
