//! Plans: what an order is made of, the levels and attempts of its items, and the ledger of what was done.
//!
//! Nothing here writes to a tree or runs anything. It is what the other modules have in common.

mod assignment;
mod attempt;
mod earlier_attempts;
mod id;
mod ledger;
mod level;
mod logs;
mod news;
mod order;
mod outcome;
mod record;
mod workshop;

pub use assignment::{Assigner, Assignment, goal_text};
pub(crate) use attempt::ItemAttempt;
pub(crate) use earlier_attempts::EarlierAttempts;
pub use id::{BadPlanId, PlanId};
pub(crate) use ledger::HISTORY;
pub use ledger::key;
pub use ledger::{Archive, History, HistoryLine, KnownKeys, claim_of_item, open_receipt};
pub(crate) use level::Level;
pub(crate) use logs::{logs, replies};
pub use news::{LateWrite, Recovery, WorkNews};
pub use order::{ItemQueue, WorkOrder};
pub(crate) use outcome::{AttemptOutcome, Tests};
pub use record::{PlanRecord, plans_beginning};
pub use workshop::{ENVELOPE, RECEIPT, REPLAY, RESULT, TESTS, Workshop};
