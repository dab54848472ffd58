//! The ledger of what was done: the receipts beside a store, the history of each tree, and who signed.
//!
//! A receipt lies with its item, and its line in the history of its tree; a note apart from both says how far
//! the chain has come. None of the three can be changed or cut alone without a contradiction to another, and
//! the signature shows a receipt that was made by somebody else. This module writes histories and reads
//! receipts; receipts are drawn up in `publish`.

mod archive;
mod history;
pub mod key;
mod receipt_file;
mod signature;

pub use archive::{Archive, claim_of_item};
pub(crate) use history::HISTORY;
pub use history::{History, HistoryLine};
pub use signature::{KnownKeys, open_receipt};
