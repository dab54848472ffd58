//! Receipts: what became of an item, in a form that a stranger can check, each bound to the one before.

mod chain;
mod check;
mod form;
mod item_receipt;
mod level;
mod outcome;

pub use chain::{ChainFault, ChainFaultKind, verify_chain};
pub use check::{ReceiptFault, verify_receipt};
pub use form::RECEIPT_FORMAT;
pub(crate) use form::SIGNED;
pub use item_receipt::{Receipt, ReceiptLink};
pub use level::{LevelFault, LevelItem, LevelReceipt, verify_level, verify_level_items};
pub use outcome::{Admission, EarlierAttempt, ItemOutcome, Metrics, RunRecord};
