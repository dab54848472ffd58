//! The soak: all servers at once, under steady load and faults, for a given time. Every answer is compared with the one
//! that is due, every event of a socket with the one before it, and what grows is told from what only moves: memory,
//! descriptors, threads and files of each process, by a line through what was measured.
//!
//! `BONDED_SOAK_SECONDS` says for how long, `BONDED_SOAK_SEED` which faults, `BONDED_SOAK_PROGRAM` with which build.

use bonded_testkit::{http, place, rng};

mod disk;
mod figures;
mod growth;
mod mcp;
mod model;
mod notes;
mod process;
mod rude;
mod rules;
mod runs;
mod sockets;
mod tally;
mod world;

use std::thread;
use std::time::Duration;

use rng::{number, seed, tell};
use world::World;

/// Long enough for every kind of request and fault to come up; what grows is not judged then.
const SECONDS_DEFAULT: u64 = 8;

const SEED: &str = "BONDED_SOAK_SEED";

#[test]
fn servers_under_load_and_faults_answer_rightly_and_do_not_grow() {
    let seconds = number("BONDED_SOAK_SECONDS").unwrap_or(SECONDS_DEFAULT);
    let seed = seed(SEED);
    tell(&format!("{SEED}={seed}"));
    let world = World::open(seed, Duration::from_secs(seconds));
    let figures = thread::scope(|scope| {
        let over = world.over_at_the_end();
        scope.spawn(|| runs::ask(&world));
        for part in 0..runs::MORE {
            let world = &world;
            scope.spawn(move || runs::ask_part(world, part));
        }
        scope.spawn(|| mcp::over_http(&world));
        scope.spawn(|| mcp::over_stdio(&world));
        for writer in 0..notes::WRITERS {
            let world = &world;
            scope.spawn(move || notes::write(world, writer));
        }
        for follower in 0..sockets::FOLLOWERS {
            let world = &world;
            scope.spawn(move || sockets::follow(world, follower));
        }
        scope.spawn(|| rude::vanish(&world));
        scope.spawn(|| rules::set_off(&world));
        scope.spawn(|| disk::fill_now_and_then(&world));
        let figures = figures::measure(&world);
        drop(over);
        figures
    });
    // First of all, so that nothing that goes wrong later takes it away.
    tell(&figures.report());
    tell(&world.tally.report());
    let mut findings = world.close();
    findings.extend(world.tally.wrong());
    findings.extend(figures.grown());
    assert!(
        findings.is_empty(),
        "{SEED}={seed}\n{}",
        findings.join("\n")
    );
}
