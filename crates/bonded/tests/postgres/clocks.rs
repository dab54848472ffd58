//! Clocks that are set while runs are driven: those of the workers, and that of the server.

use std::fs;
use std::path::{Path, PathBuf};

use bonded_testkit::patience::wait_until;
use bonded_testkit::postgres::PostgresServer;
use bonded_testkit::process::Process;
use bonded_testkit::shim;
use rustix::process::Signal;

use crate::fleet::{check_all, lines, wait_while_runs_end};
use crate::shop::Shop;

const DAY_S: i64 = 24 * 60 * 60;
const LEASE_MS: u64 = 4_000;
const RUNS: usize = 6;

/// Makes the wall clock of a process the one that a file says, in seconds from the true one, and leaves the time that
/// passes as it is.
pub(crate) const SHIM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long offset(void) {
    char text[32] = { 0 };
    int fd = open(getenv("WALL_CLOCK_FILE"), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
        close(fd);
    }
    return atol(text);
}
int clock_gettime(clockid_t which, struct timespec *at) {
    int done = syscall(SYS_clock_gettime, which, at);
    if (done == 0 && which == CLOCK_REALTIME) at->tv_sec += offset();
    return done;
}
int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"#;

/// Sets a clock at one moment.
pub(crate) fn set(file: &Path, offset_s: i64) {
    let next = file.with_extension("next");
    fs::write(&next, offset_s.to_string()).expect("a file can be written");
    fs::rename(&next, file).expect("a file can be replaced");
}

fn queue_runs(shop: &Shop) -> Vec<String> {
    shop.place.write("work/note", "a note");
    let ids: Vec<String> = (0..RUNS).map(|n| format!("r{n}")).collect();
    for id in &ids {
        shop.queue(id, &lines(id), &["--no-progress", "0"]);
    }
    ids
}

#[test]
fn workers_whose_clocks_are_set_by_a_day_keep_their_leases() {
    let Some(shop) = Shop::new(30_000) else {
        return;
    };
    let ids = queue_runs(&shop);
    let clocks: [PathBuf; 2] = ["ahead", "back"].map(|name| shop.place.write(name, "0"));
    let workers = clocks.each_ref().map(|clock| {
        let mut command = shop.place.command(&["worker", "--concurrent", "2"]);
        command.env("LD_PRELOAD", shim::built(SHIM));
        let worker = Process::begin(command.env("WALL_CLOCK_FILE", clock));
        worker.wait_until_told("worker of");
        worker
    });
    for (made, offset_s) in [(4, DAY_S), (12, -DAY_S), (20, 0)] {
        wait_until("it goes on", || shop.lines("ran").len() >= made);
        set(&clocks[0], offset_s);
        set(&clocks[1], -offset_s);
    }
    wait_while_runs_end(&shop);
    let again = "SELECT count(*) FROM bonded.drive WHERE epoch <> 2";
    assert_eq!(shop.database.sql(again), "0", "a lease was lost");
    check_all(&shop, &ids);
    for worker in workers {
        worker.end(Signal::TERM).succeeds();
    }
}

#[test]
fn a_server_whose_clock_is_set_ends_leases_and_makes_nothing_twice() {
    let Some(server) = PostgresServer::with_clock(&shim::built(SHIM)) else {
        return;
    };
    let server: &'static PostgresServer = Box::leak(Box::new(server));
    let database = server.database();
    let address = format!("{}&bonded_lease_ms={LEASE_MS}", database.address("app"));
    let shop = Shop::at(database, &address);
    let ids = queue_runs(&shop);
    let workers: Vec<_> = (0..2)
        .map(|_| shop.worker(&["--concurrent", "2"]))
        .collect();
    // Back by more than a lease, which whoever waits has to wait as well.
    for (made, offset_s) in [(4, 3_600), (10, 3_594), (18, DAY_S)] {
        wait_until("it goes on", || shop.lines("ran").len() >= made);
        set(&server.clock(), offset_s);
    }
    wait_while_runs_end(&shop);
    let again = "SELECT count(*) FROM bonded.drive WHERE epoch > 2";
    assert_ne!(shop.database.sql(again), "0", "no lease was lost");
    check_all(&shop, &ids);
    for worker in workers {
        worker.end(Signal::TERM).succeeds();
    }
}
