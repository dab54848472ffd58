//! `bonded demo`: the main job on a fresh machine.

use crate::place::{Place, finish, start};

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
        "ended    done",
    ] {
        assert!(demo.stderr.contains(part), "{part}: {}", demo.stderr);
    }
    for part in [
        "FAIL  2000",
        "interrupted",
        "Fixed leap.sh",
        "ok    2000",
        "chain whole",
        "all equal",
    ] {
        assert!(demo.stdout.contains(part), "{part}: {}", demo.stdout);
    }
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
