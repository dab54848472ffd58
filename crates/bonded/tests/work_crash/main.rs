//! The crash matrix of work items: the real program, killed by SIGKILL at every boundary of a plan and at random
//! moments, and resumed. The tree and what git keeps are those from before or those from after, never between.
//!
//! `BONDED_WORK_CRASH_KILLS` says how often to kill at random, `BONDED_WORK_CRASH_SEED` which moments to choose,
//! `BONDED_SIGNAL_ROUNDS` how many moments each signal has, `BONDED_WORK_CRASH_TREES` how many random trees to work on; with `BONDED_WORK_CRASH_PLANS=2` a second, larger plan
//! is killed at every boundary too.

use bonded_testkit::{place, rng};

mod boundary;
mod commits;
mod matrix;
mod plans;
mod property;
mod random_tree;
mod remains;
mod runs;
mod signals;
mod single;
mod snapshot;
mod world;

/// Which random moments and trees are chosen.
const SEED: &str = "BONDED_WORK_CRASH_SEED";
