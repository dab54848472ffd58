//! The crash test of the workspace: the real server, killed by SIGKILL again and again while people write, rules fire
//! and loops run, and started again on what is left. Nothing that was acknowledged is lost, nothing happens twice, every
//! event that qualifies has its one run, and the memory of the agent is the fold of its log.
//!
//! `BONDED_WORKSPACE_CRASH_KILLS` says how often to kill, `BONDED_WORKSPACE_CRASH_SEED` which moments and writes to
//! choose.

use bonded_testkit::{place, rng};

mod checks;
mod client;
mod first_start;
mod hooks;
mod killer;
mod model;
mod notes;
mod remains;
mod rules;
mod server;
mod storm;
mod uploads;
mod writer;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bonded_testkit::signals::{ROUNDS, SIGNALS};
use rng::{number, seed, tell};
use rustix::process::Signal;

const KILLS_DEFAULT: u64 = 12;

/// How often the server is killed.
const KILLS: &str = "BONDED_WORKSPACE_CRASH_KILLS";
/// Which random moments and writes are chosen.
const SEED: &str = "BONDED_WORKSPACE_CRASH_SEED";

#[test]
fn a_server_that_is_killed_under_load_loses_nothing_repeats_nothing_and_misses_nothing() {
    let kills = number(KILLS).unwrap_or(KILLS_DEFAULT);
    weather(kills, &[Signal::KILL]);
}

/// Where nobody says how many moments each signal has, there are so many in all.
const SIGNALS_DEFAULT: u64 = 3;

#[test]
fn a_server_that_is_sent_any_signal_under_load_loses_nothing_repeats_nothing_and_misses_nothing() {
    let rounds = number(ROUNDS);
    let sent = rounds.map_or(SIGNALS_DEFAULT, |rounds| rounds * SIGNALS.len() as u64);
    weather(sent, &SIGNALS);
}

fn weather(kills: u64, signals: &[Signal]) {
    let seed = seed(SEED);
    tell(&format!("{SEED}={seed}"));
    let storm = AssertUnwindSafe(|| {
        let remains = killer::storm(kills, seed, signals);
        checks::all(&remains)
    });
    match catch_unwind(storm) {
        Ok(told) => tell(&format!("{kills} signals of {signals:?}: {told}")),
        Err(panic) => {
            tell(&format!("{SEED}={seed}"));
            resume_unwind(panic);
        }
    }
}
