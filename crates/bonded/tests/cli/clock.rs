//! A clock that is set between two processes of one run, and while one works.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::done::kill;
use crate::place::{Done, Place, call, done, finish, parse, start};
use crate::watch::{of_kind, wait_until, write};
use bonded_testkit::shim;

const DAY_S: i64 = 24 * 60 * 60;

/// Makes the wall clock of a process another one, and leaves the time that passes as it is.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long offset(void) {
    const char *said = getenv("WALL_CLOCK_OFFSET"), *file = getenv("WALL_CLOCK_FILE");
    char text[32] = { 0 };
    int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) > 0) said = text;
        close(fd);
    }
    return said ? atol(said) : 0;
}
int clock_gettime(clockid_t which, struct timespec *at) {
    int done = syscall(SYS_clock_gettime, which, at);
    if (done == 0 && which == CLOCK_REALTIME) at->tv_sec += offset();
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

/// The program, whose wall clock is set by writing into the file that this gives.
fn bonded_with_clock(place: &Place, words: &[&str]) -> (Command, PathBuf) {
    let file = place.path("clock");
    write(&file, "0");
    let mut command = place.command(words);
    command
        .env("LD_PRELOAD", shim::built(SHIM))
        .env("WALL_CLOCK_FILE", &file);
    (command, file)
}

fn waits(seconds: &str) -> Value {
    call("run", json!({ "command": format!("sleep {seconds}") }))
}

/// A run of which a second and a half were used under one clock, gone on with under another.
fn resumed(first_s: i64, second_s: i64, limit: &str) -> (Place, Done, Duration) {
    let place = Place::new();
    let script = place.script(&[waits("1.5"), waits("60"), waits("60"), done("ok")]);
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

/// The clock of the first process and that of the second, as seconds from the true time.
const SET_BETWEEN: [(i64, i64); 4] = [(DAY_S, 0), (0, DAY_S), (0, -DAY_S), (-DAY_S, 0)];

/// All cases at once: a limit that a busy machine reaches only where it should takes its time.
fn for_each_clock(check: fn(i64, i64)) {
    std::thread::scope(|scope| {
        for (first, second) in SET_BETWEEN {
            scope.spawn(move || check(first, second));
        }
    });
}

#[test]
fn a_limit_of_time_holds_when_the_clock_is_set_between_kill_and_resume() {
    for_each_clock(|first, second| {
        let (place, ended, took) = resumed(first, second, "15");
        assert_eq!(ended.code, Some(1), "{first} {second}: {ended:?}");
        let entries = place.entries("run");
        let end = of_kind(&entries, "run_ended");
        assert_eq!(
            end[0]["termination"]["kind"], "timed_out",
            "{first} {second}"
        );
        assert!(took < Duration::from_secs(30), "{first} {second}: {took:?}");
        let mut at = entries.iter().map(|it| it["at"].as_u64().unwrap_or(0));
        let mut last = 0;
        assert!(
            at.all(|it| std::mem::replace(&mut last, it) <= it),
            "times rise"
        );
        place.passes_the_audit("run");
    });
}

/// How long a run took by what the log says of its end.
fn passed_ms(place: &Place) -> u64 {
    let entries = place.entries("run");
    let end = &of_kind(&entries, "run_ended")[0]["termination"];
    assert_eq!(end["kind"], "timed_out", "{end}");
    let passed = end["reason"]
        .as_str()
        .and_then(|it| it.split(' ').next()?.parse().ok());
    passed.unwrap_or_else(|| panic!("{end}"))
}

#[test]
fn a_limit_of_time_holds_when_the_clock_is_set_meanwhile() {
    for offset in [DAY_S, -DAY_S] {
        let place = Place::new();
        let script = place.script(&[waits("0.2"), waits("60"), waits("60"), done("ok")]);
        let words = [
            "run",
            "--id",
            "run",
            "--max-time",
            "10",
            "--model",
            &script,
            "goal",
        ];
        let (mut command, clock) = bonded_with_clock(&place, &words);
        let driver = start(&mut command);
        place.wait_for_entry("run", 2, "tool_invoked");
        write(&clock, offset.to_string());
        assert_eq!(finish(driver).code, Some(1), "{offset}");
        let passed = passed_ms(&place);
        assert!((10_000..60_000).contains(&passed), "{offset}: {passed}");
        place.passes_the_audit("run");
    }
}

#[test]
fn the_time_of_a_tool_is_kept_when_the_clock_is_set_meanwhile_and_between_kill_and_resume() {
    let hangs = call("run", json!({ "command": "sleep 60", "timeout_ms": 1500 }));
    for offset in [DAY_S, -DAY_S] {
        let place = Place::new();
        let script = place.script(&[waits("60"), hangs.clone(), done("ok")]);
        let words = ["run", "--id", "run", "--model", &script, "goal"];
        let driver = start(&mut bonded_at(&place, 0, &words));
        place.wait_for_entry("run", 1, "tool_invoked");
        kill(driver);
        let (mut command, clock) = bonded_with_clock(&place, &["resume", "run"]);
        write(&clock, offset.to_string());
        let driver = start(&mut command);
        place.wait_for_entry("run", 2, "tool_invoked");
        write(&clock, "0");
        let ended = finish(driver);
        assert_eq!(ended.stdout, "ok\n", "{offset}: {ended:?}");
        let entries = place.entries("run");
        let outcomes: Vec<&Value> = of_kind(&entries, "tool_finished")
            .iter()
            .map(|it| &it["outcome"])
            .collect();
        assert_eq!(outcomes[..2], ["interrupted", "timed_out"], "{offset}");
        place.passes_the_audit("run");
    }
}

#[test]
fn the_time_of_a_work_item_is_kept_when_the_clock_is_set_between_kill_and_resume() {
    for_each_clock(|first, second| {
        let place = Place::new();
        write(&place.work().join("file.txt"), "x\n");
        let lines = [waits("1.5"), waits("60"), waits("60"), done("ok")];
        let script = place.script(&lines);
        let constraints = json!({ "max_files": 10, "max_tool_ops": 10, "max_delta_size": 100, "timeout_ms": 15000 });
        let item = json!({
            "id": "a", "agent_id": "agent-1", "description": "do a", "dependencies": [],
            "constraints": constraints, "test_command": "true",
        });
        let plan = place.path("plan.json");
        write(&plan, json!([item]).to_string());
        let plan = plan.display().to_string();
        let words = ["work", &plan, "--json", "--model", &script];
        let driver = start(&mut bonded_at(&place, first, &words));
        wait_until("the second call has begun", || {
            let listed = place.bonded(&["runs", "--json"]).stdout;
            let run = listed.lines().next().map(parse);
            let Some(run) = run else { return false };
            let entries = place.entries(run["runId"].as_str().unwrap_or_default());
            of_kind(&entries, "tool_invoked").len() == 2
        });
        kill(driver);
        let began = Instant::now();
        let resumed = bonded_at(&place, second, &["work", "--json", "--resume"]).spawn();
        let ended = finish(resumed.expect("the program can be started"));
        assert_eq!(ended.code, Some(1), "{first} {second}: {ended:?}");
        let result = parse(&ended.stdout);
        let result = result.get(0).unwrap_or(&result);
        assert_eq!(result["status"], "timeout", "{first} {second}: {ended:?}");
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{first} {second}"
        );
    });
}
