//! Work items: changes to a tree that fully happen, tested and proven by a receipt, or not at all. The rules are
//! those of `bonded-work-rules`; here are file systems, git, processes and keys.
//!
//! [`work`] works a [`WorkOrder`] off, level by level: the tree is [frozen](tree), each item works in its own copy,
//! and what was admitted and passed its tests is [published](publish) and sealed, in the order of the items' ids.

mod admitted;
mod archive;
mod attempt;
mod earlier;
mod error;
pub mod files;
mod guard;
mod history;
mod item;
pub mod key;
mod late;
mod level;
pub mod lock;
mod logs;
mod meeting;
mod order;
mod outcome;
mod papers;
mod plan_id;
mod plan_record;
pub mod publish;
mod recorded;
mod recover;
mod replay;
mod room;
mod saved;
mod seal;
mod sealed;
mod signed;
mod spent;
mod staff;
mod tests;
pub mod tree;
mod unfinished;
mod watcher;
mod workshop;

pub use archive::{Archive, claim_of_item};
pub use error::WorkError;
pub use history::{History, Remembered};
pub use late::Late;
pub use order::{WorkEnd, WorkNews, WorkOrder, work};
pub use papers::{ENVELOPE, RECEIPT, REPLAY, RESULT, TESTS};
pub use plan_id::{BadPlanId, PlanId};
pub use plan_record::PlanRecord;
pub use recorded::Recorded;
pub use recover::Recovered;
pub use replay::{Asked, ReplayError, Replayed, replay_item};
pub use signed::{KnownKeys, open_receipt};
pub use staff::{Assigned, Staff, goal_text};
pub use unfinished::{Unfinished, unfinished};
pub use watcher::Watcher;
pub use workshop::Workshop;
