//! `bonded work` as a person meets it: the real program on real trees, with scripts and a provider that can be held.

use bonded_testkit::{done, place};

mod admission;
mod atomic;
mod bad_plan;
mod bad_tree;
mod commits;
mod crashes;
mod damage;
mod levels;
mod meanwhile;
mod outcomes;
mod proofs;
mod provider;
mod receipts;
mod remains;
mod replays;
mod resume;
mod secrets;
mod state;
mod stock;
mod tests;
mod waits;
mod world;
