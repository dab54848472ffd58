//! `bonded demo`: the main job on a fresh machine.

use crate::place::{Place, finish, start};

/// The tokens that were used, and those that may have been.
fn figures(text: &str, ended: &str) -> (u64, u64) {
    let line = text.lines().find(|line| line.contains(ended));
    let line = line.unwrap_or_else(|| panic!("{ended} in {text}"));
    (
        number_before(line, " tokens"),
        number_before(line, " more)"),
    )
}

fn number_before(line: &str, end: &str) -> u64 {
    let (before, _) = line
        .split_once(end)
        .unwrap_or_else(|| panic!("{end} in {line}"));
    let figure = before.rsplit(' ').next().unwrap_or_default();
    figure.replace(',', "").parse().expect("a number")
}

#[test]
fn the_demo_shows_a_kill_a_resume_and_the_proof_and_leaves_nothing_behind() {
    let place = Place::new();
    let tmp = place.path("tmp");
    std::fs::create_dir(&tmp).expect("a directory can be made");
    let demo = finish(start(
        place.command(&["demo", "--fast"]).env("TMPDIR", &tmp),
    ));
    demo.succeeds();
    for part in [
        "kill -9, in turn 4",
        "$ bonded resume demo",
        "resumed",
        "edit",
        "run demo done: 6 turns, ",
    ] {
        assert!(demo.stderr.contains(part), "{part}: {}", demo.stderr);
    }
    for part in [
        "FAIL  2000",
        "interrupted",
        "Fixed leap.sh",
        "ok    2000",
        "log intact",
        "replay matches",
    ] {
        assert!(demo.stdout.contains(part), "{part}: {}", demo.stdout);
    }
    let (used, more) = figures(&demo.stderr, "run demo done: ");
    assert!(more > 0, "a request was under way when the run was killed");
    // Used is what the replies say, and what is held is no part of it.
    let said = demo
        .stderr
        .lines()
        .filter(|line| line.contains(": answered in "));
    let said: Vec<u64> = said.map(|line| number_before(line, " tokens")).collect();
    assert_eq!(
        (said.iter().sum::<u64>(), said.len()),
        (used, 6),
        "{said:?}"
    );
    let left: Vec<_> = std::fs::read_dir(&tmp)
        .expect("the directory is there")
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(
        !place.path("store.db").exists(),
        "the demo has a store of its own"
    );
}

#[test]
fn the_demo_keeps_its_directory_when_asked() {
    let place = Place::new();
    let tmp = place.path("tmp");
    std::fs::create_dir(&tmp).expect("a directory can be made");
    let demo = finish(start(
        place
            .command(&["demo", "--fast", "--keep"])
            .env("TMPDIR", &tmp),
    ));
    demo.succeeds();
    let kept = std::fs::read_dir(&tmp)
        .expect("the directory is there")
        .count();
    assert_eq!(kept, 1);
    let named = demo
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("kept in "));
    assert!(named.is_some_and(|dir| std::path::Path::new(dir).join("project/leap.sh").is_file()));
}
