//! A directory that is being made when the server is killed.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::place::{Place, finish, start};
use crate::rng::{Rng, number, seed, tell};
use crate::server::{Server, Shared};
use crate::{KILLS, SEED};

/// What a first start makes, one after the other.
const MADE: [&str; 6] = [
    "data",
    "data/config.json",
    "data/agent-prompt.json",
    "data/workspace.db",
    "data/owner-token",
    "store.db",
];
const TIMES_DEFAULT: u64 = 4;
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_server_that_is_killed_while_it_makes_its_directory_starts_all_the_same() {
    let kills = number(KILLS);
    let times = kills.map_or(TIMES_DEFAULT, |kills| kills / 10);
    let seed = seed(SEED);
    tell(&format!("{SEED}={seed}"));
    let mut rng = Rng::of(seed, 0);
    for _ in 0..times {
        for made in MADE {
            let delay = Duration::from_micros(rng.below(2) * rng.below(3000));
            check(made, delay);
        }
    }
}

fn check(made: &str, delay: Duration) {
    let place = Place::new();
    let shared = Arc::new(Shared::default());
    let mut server = Server::begin(&place, &shared);
    let path = place.path(made);
    let began = Instant::now();
    // Whoever sleeps comes too late for what takes microseconds.
    while !path.exists() && began.elapsed() < PATIENCE {
        std::hint::spin_loop();
    }
    if !delay.is_zero() {
        thread::sleep(delay);
    }
    server.restart(&place, Signal::KILL);
    let came = server.wait_or_end();
    assert!(came.is_ok(), "killed at {made}: {came:?}");
    let listed = shared.get("/api/workspaces");
    let workspaces = listed["workspaces"].as_array().map(Vec::len);
    assert_eq!(workspaces, Some(1), "killed at {made}: {listed}");
}

/// More blocks of a file than a process may write fail in the middle of the write.
const BLOCKS_MAX: u32 = 8;

#[test]
fn a_directory_whose_maker_failed_in_the_middle_of_a_file_can_be_made_again() {
    for blocks in 0..BLOCKS_MAX {
        let place = Place::new();
        let data = place.path("data").display().to_string();
        let mut limited = place.command_of(
            "sh".as_ref(),
            &[
                "-c",
                "ulimit -c 0; ulimit -f \"$1\"; exec \"$2\" init \"$3\"",
                "sh",
                &blocks.to_string(),
                env!("CARGO_BIN_EXE_bonded"),
                &data,
            ],
        );
        let failed = finish(start(&mut limited));
        // A file of its own, or the store's.
        let is_told = matches!(failed.code, Some(3 | 4));
        assert!(is_told, "{blocks} blocks: {failed:?}");
        let again = place.bonded(&["init", &data]);
        assert_eq!(again.code, Some(0), "{blocks} blocks: {again:?}");
    }
}
