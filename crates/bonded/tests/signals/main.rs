//! Every signal to every command and server, at random moments, and what comes of it when it is gone on with: nothing
//! that was acknowledged is lost, nothing that must not be repeated is, and nothing has ended that nobody ended.
//!
//! Plans of work items and the workspace's server are sent the same signals where they are killed: in the tests
//! `work_crash` and `workspace_crash`.
//!
//! `BONDED_SIGNAL_ROUNDS` says how many moments there are for each signal, `BONDED_SIGNAL_SEED` which.

use bonded_testkit::{place, rng};

mod agents;
mod model;
mod moments;
mod notes;
mod runs;
mod served;
mod sessions;
mod talk;
