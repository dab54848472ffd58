//! Seeded worlds around the real driver and the real kernel.
//!
//! A [`World`] is one run in virtual time. Its seed decides what the model answers, what the tools do, how
//! the store fails, how the clock jumps, who meddles, and where the process dies; a new process takes the
//! run up each time. [`check`] then holds the log against what really happened.
//!
//! The order is: [`World::new`], [`World::play`], [`check`]; and [`same_log`] for two plays of one seed.

mod agent_plan;
mod agent_reply;
mod clock;
mod conversation;
mod goal_plan;
mod history;
mod judge;
mod ledger;
mod loop_plan;
mod loop_reply;
mod model;
mod own_reply;
mod plan;
mod policy_plan;
mod process;
mod property;
mod pursued;
mod refusal;
mod refusal_plan;
mod reply;
mod store;
mod tool;
mod world;

pub use crate::rng::Rng;
pub use clock::SimClock;
pub use history::History;
pub use ledger::{Execution, Place, Sent, Tally};
pub use plan::{Faults, Plan, Sabotage, Temper};
pub use property::{PROPERTIES, Property, Violation, check, same_log, violations};
pub use refusal::Manner;
pub use world::World;
