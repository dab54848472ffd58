//! Seeded worlds of several drivers that share the runs of one server, by leases.
//!
//! A [`FleetWorld`] has the real driver in each of its processes, and a server of which only the rules are real: the
//! statements of `crates/postgres`, on rows in memory. The seed decides which process dies or stands still at which await,
//! whose clock is wrong, which connection breaks before or after a statement was carried out, what waits for a lock, when the
//! standby takes over with what it has, and who cancels. [`FleetWorld::play`] watches every statement and every effect, and
//! judges the logs when the world is over.

mod appending;
mod effects;
mod fleet_life;
mod fleet_plan;
mod fleet_world;
mod handle;
mod judging;
mod lease_rows;
mod lease_server;
mod lease_store;
mod member;
mod statements;

pub use fleet_plan::{FleetPlan, FleetSabotage};
pub use fleet_world::{FleetFeats, FleetHistory, FleetWorld};
