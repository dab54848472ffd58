//! A clock that is set between two processes of one run.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::done::kill;
use crate::place::{Done, Place, call, done, finish, start};
use crate::shim;
use crate::watch::of_kind;

const DAY_S: i64 = 24 * 60 * 60;

/// Makes the wall clock of a process another one, and leaves the time that passes as it is.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t which, struct timespec *at) {
    int done = syscall(SYS_clock_gettime, which, at);
    const char *offset = getenv("WALL_CLOCK_OFFSET");
    if (done == 0 && which == CLOCK_REALTIME && offset) at->tv_sec += atol(offset);
    return done;
}
"#;

/// The program with its wall clock set ahead or back.
fn bonded_at(place: &Place, offset_s: i64, words: &[&str]) -> Command {
    let mut command = place.command(words);
    command
        .env("LD_PRELOAD", shim::built(SHIM))
        .env("WALL_CLOCK_OFFSET", offset_s.to_string());
    command
}

fn waits(seconds: &str) -> Value {
    call("run", json!({ "command": format!("sleep {seconds}") }))
}

/// A run of which a second and a half were used under one clock, gone on with under another.
fn resumed(first_s: i64, second_s: i64, limit: &str) -> (Place, Done, Duration) {
    let place = Place::new();
    let script = place.script(&[waits("1.5"), waits("30"), waits("30"), done("ok")]);
    let words = [
        "run",
        "--id",
        "run",
        "--max-time",
        limit,
        "--model",
        &script,
    ];
    let words = [&words[..], &["goal"]].concat();
    let driver = start(&mut bonded_at(&place, first_s, &words));
    place.wait_for_entry("run", 2, "tool_invoked");
    kill(driver);
    let began = Instant::now();
    let done = finish(start(&mut bonded_at(&place, second_s, &["resume", "run"])));
    (place, done, began.elapsed())
}

#[test]
fn a_limit_of_time_holds_when_the_clock_is_set_between_kill_and_resume() {
    for (first, second) in [(DAY_S, 0), (0, DAY_S), (0, -DAY_S), (-DAY_S, 0)] {
        let (place, ended, took) = resumed(first, second, "3");
        assert_eq!(ended.code, Some(1), "{first} {second}: {ended:?}");
        let entries = place.entries("run");
        let end = of_kind(&entries, "run_ended");
        assert_eq!(
            end[0]["termination"]["kind"], "timed_out",
            "{first} {second}"
        );
        assert!(took < Duration::from_secs(20), "{first} {second}: {took:?}");
        let mut at = entries.iter().map(|it| it["at"].as_u64().unwrap_or(0));
        let mut last = 0;
        assert!(
            at.all(|it| std::mem::replace(&mut last, it) <= it),
            "times rise"
        );
        place.passes_the_audit("run");
    }
}
