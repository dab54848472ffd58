//! `bonded demo`: the main job on a fresh machine.

use crate::place::{Place, finish, start};

/// What a person sees before the program is there.
const README: &str = include_str!("../../../../README.md");

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
    let is_ended = |line: &&str| line.contains("ended    done");
    for (text, name) in [(demo.stderr.as_str(), "demo"), (README, "README")] {
        let ended = text.lines().find(is_ended).unwrap_or_default();
        let figures = |end: &str| -> u64 {
            let (before, _) = ended
                .split_once(end)
                .unwrap_or_else(|| panic!("{name}: {ended}"));
            let figure = before.rsplit(' ').next().unwrap_or_default();
            figure.replace(',', "").parse().expect("a number")
        };
        let used = figures(" tokens used; ");
        assert!(figures(" tokens held for a request that nobody counted") > 0);
        // Used is what the replies say, and what is held is no part of it.
        let said: Vec<u64> = text
            .lines()
            .filter(|line| line.contains("decided  "))
            .filter_map(|line| line.strip_suffix(" tokens)")?.rsplit('(').next())
            .map(|figure| figure.replace(',', "").parse().expect("a number"))
            .collect();
        assert_eq!(said.iter().sum::<u64>(), used, "{name}: {said:?}");
        assert_eq!(said.len(), 6, "{name}");
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
