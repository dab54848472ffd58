//! Goals and models that cannot be used: refused with exit code 4 before anything runs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::place::{Place, done, finish, start};
use crate::watch::{with_stdin, write};

fn expect_no_store(place: &Place) {
    assert!(!place.path("store.db").exists(), "nothing may have begun");
}

#[test]
fn without_a_model_it_says_what_was_looked_for() {
    let place = Place::new();
    let refused = place.bonded(&["run", "the goal"]);
    refused.fails_with(4, "no-model");
    for part in [
        "--model",
        "BONDED_MODEL",
        "OPENAI_API_KEY (not set)",
        "--base-url",
        "bonded demo",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    expect_no_store(&place);
}

#[test]
fn a_model_that_names_no_endpoint_is_refused() {
    let place = Place::new();
    let secret = [
        "--base-url",
        "http://user:hunter2@127.0.0.1:1/v1",
        "--model",
        "m",
    ];
    let table: [(&[&str], &str); 6] = [
        (&["--model", "gpt"], "bad-model"),
        (&["--model", "openai/"], "bad-model"),
        (&["--model", "nobody/x"], "bad-model"),
        (&["--base-url", "ftp://x", "--model", "m"], "bad-model"),
        (&secret, "bad-model"),
        (&["--model", "script:nowhere.jsonl"], "bad-script"),
    ];
    for (flags, error) in table {
        let refused = place.bonded(&[&["run", "the goal"], flags].concat());
        refused.fails_with(4, error);
        assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
    }
    expect_no_store(&place);
}

#[test]
fn a_script_with_a_bad_line_is_refused_with_its_file_and_line() {
    let place = Place::new();
    let path = place.path("bad.jsonl");
    for (content, named) in [
        ("# fine\n{\"text\": \"fine\"}\n{\"text\": 7}\n", "line 3"),
        ("{\"txet\": \"unknown field\"}\n", "line 1"),
        ("not json\n", "line 1"),
        ("# nothing at all\n", "bad.jsonl"),
    ] {
        write(&path, content);
        let model = format!("script:{}", path.display());
        let refused = place.bonded(&["run", "--model", &model, "the goal"]);
        refused.fails_with(4, "bad-script");
        assert!(
            refused.stderr.contains("bad.jsonl") && refused.stderr.contains(named),
            "{}",
            refused.stderr
        );
    }
    expect_no_store(&place);
}

#[test]
fn a_goal_without_words_is_refused() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    write(&place.work().join("blank.txt"), " \n\t\n");
    for goal in ["", "   ", "\n\t", "@blank.txt"] {
        place
            .bonded(&["run", "--model", &script, goal])
            .fails_with(4, "bad-goal");
    }
    with_stdin(&place, &["run", "--model", &script, "-"], b"").fails_with(4, "bad-goal");
    expect_no_store(&place);
}

#[test]
fn a_goal_of_ten_megabytes_is_refused_with_what_to_do_instead() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let goal = "x".repeat(10_000_000);
    write(&place.work().join("goal.txt"), &goal);
    let from_file = place.bonded(&["run", "--model", &script, "@goal.txt"]);
    let from_stdin = with_stdin(&place, &["run", "--model", &script, "-"], goal.as_bytes());
    for refused in [from_file, from_stdin] {
        refused.fails_with(4, "bad-goal");
        assert!(
            refused.stderr.contains("larger than 1048576 bytes"),
            "{}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("put the material in a file"),
            "{}",
            refused.stderr
        );
    }
    expect_no_store(&place);
}

#[test]
fn a_goal_of_one_megabyte_is_run() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    with_stdin(
        &place,
        &["run", "--model", &script, "-"],
        "y".repeat(1 << 20).as_bytes(),
    )
    .succeeds();
}

#[test]
fn a_goal_that_is_not_utf8_is_refused() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    write(&place.work().join("goal.txt"), b"caf\xe9");
    place
        .bonded(&["run", "--model", &script, "@goal.txt"])
        .fails_with(4, "bad-goal");
    with_stdin(&place, &["run", "--model", &script, "-"], b"caf\xe9").fails_with(4, "bad-goal");
    let arguments = [
        OsStr::new("run"),
        "--model".as_ref(),
        script.as_ref(),
        OsStr::from_bytes(b"caf\xe9"),
    ];
    let refused = finish(start(&mut place.command(&arguments)));
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("invalid UTF-8"),
        "{}",
        refused.stderr
    );
    expect_no_store(&place);
}

#[test]
fn a_goal_file_that_is_missing_is_named() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let refused = place.bonded(&["run", "--model", &script, "@nowhere.txt"]);
    refused.fails_with(4, "bad-goal");
    assert!(refused.stderr.contains("nowhere.txt"), "{}", refused.stderr);
    let each = place.bonded(&["run", "--model", &script, "--each", "nowhere.jsonl"]);
    each.fails_with(4, "bad-goal");
    let system = place.bonded(&[
        "run",
        "--model",
        &script,
        "--system",
        "nowhere.txt",
        "the goal",
    ]);
    system.fails_with(4, "bad-goal");
    expect_no_store(&place);
}

#[test]
fn a_working_directory_that_is_none_is_refused() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    write(&place.work().join("file"), "");
    for dir in ["nowhere", "file"] {
        place
            .bonded(&["run", "--model", &script, "--dir", dir, "the goal"])
            .fails_with(4, "workdir");
    }
    expect_no_store(&place);
}

#[test]
fn a_run_whose_directory_is_gone_says_so_when_it_is_resumed() {
    let place = Place::new();
    let dir = place.path("gone");
    std::fs::create_dir(&dir).expect("a directory can be made");
    let script = place.script(&[crate::watch::never()]);
    let named = dir.display().to_string();
    let arguments = [
        "run", "--id", "run", "--dir", &named, "--model", &script, "the goal",
    ];
    let child = start(&mut place.command(&arguments));
    place.wait_for_entry("run", 1, "attempt_started");
    crate::done::kill(child);
    std::fs::remove_dir(&dir).expect("the directory is empty");
    let resumed = place.resume();
    resumed.fails_with(4, "workdir");
    assert!(resumed.stderr.contains(&named), "{}", resumed.stderr);
}
