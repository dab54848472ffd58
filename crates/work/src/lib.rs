//! Work items: changes to a tree that fully happen, tested and proven by a receipt, or not at all. The rules are
//! those of `bonded-work-rules`; here are file systems, git, processes and keys.
//!
//! # Where things are
//!
//! [`tree`] freezes trees and makes copies of them. `plan` says what an order is made of and what is kept of it.
//! `exchange` is how machines that work on one plan send one another trees and changes. [`publish`] brings what an attempt left to the tree, and seals it with a receipt. `work` leads an item through all
//! of them, and `kept` reads what they left, for those who look. Each knows only those that are named before it.
//!
//! # The way of an item
//!
//! 1. `bonded work` makes a [`WorkOrder`] of a plan and calls [`work()`], which takes one level after the other.
//! 2. `work_level` freezes the tree with `Sealer::freeze`: the common state. `work_items` takes up the items.
//! 3. `work_item` begins one, and makes as many attempts as it may have.
//! 4. `run_attempt` has the item's copy from `copy_and_run` and its run from an [`Assigner`], and drives it under the
//!    `Guard`.
//! 5. `Admission::decide` makes a capsule of what the run left, and asks the rules whether it is admitted.
//! 6. `run_tests` tests it in the copy. What comes of it is the item's `AttemptOutcome`, and is written down.
//! 7. `Sealer::seal_level` takes the outcomes of a level in the order of their ids: `seal_item`.
//! 8. `publish_item` holds a success against what others published, and draws up its receipt: `Receipts::seal`.
//! 9. [`Publish::prepare`](publish::Publish::prepare) writes the journal, with the receipt in it, and
//!    [`PreparedPublish::apply`](publish::PreparedPublish::apply) changes the tree.
//! 10. `ItemFiles::write` writes the receipt and its line in the [`History`], and
//!     [`SettledPublish::finish`](publish::SettledPublish::finish) removes the journal.
//!
//! Where the order has a queue, 3 and 4 are on two machines: `queued_attempt` sends the frozen tree and queues the run,
//! a worker's [`ItemWorker::drive`] makes the copy and drives it under the same `Guard`, and what it left comes back as
//! contents. Everything from 5 on is where the tree is.
//!
//! An item that is denied or fails goes from 6 to 8 without a change to the tree: every item has a receipt.

mod exchange;
mod files;
mod kept;
mod plan;
pub mod publish;
pub mod tree;
mod work;

pub use exchange::ExchangeError;
pub use kept::{EndedItem, KeptItem, KeptPlan, SealedOutcome};
pub use plan::key;
pub use plan::{
    Archive, Assigner, Assignment, BadPlanId, ENVELOPE, History, HistoryLine, ItemQueue, KnownKeys,
    LateWrite, PlanId, PlanRecord, RECEIPT, REPLAY, RESULT, Recovery, TESTS, WorkNews, WorkOrder,
    Workshop, claim_of_item, goal_text, open_receipt, plans_beginning,
};
pub use publish::{UnfinishedPublish, WorkError, unfinished_publishes};
pub use work::{
    ItemWorker, Recording, ReplayComparison, ReplayError, ReplaySource, WorkEnd, replay_item, work,
};
