//! Keys do not reach what is kept and shown of a plan.

use serde_json::json;

use crate::done::text;
use crate::place::{done, finish, start};
use crate::provider::{flags, held};
use crate::world::{World, item, runs, with_fields};

const PLANTED: &str = "sk-planted-0123456789abcdef";

#[test]
fn a_key_that_tests_and_tools_print_is_masked_in_results_receipts_and_everything_that_is_kept() {
    let world = World::plain();
    world.write("leaked.txt", format!("the key is {PLANTED}\n"));
    let provider = held(&[runs("cat leaked.txt"), done(&format!("found {PLANTED}"))]);
    provider.release(2);
    let flags = flags(&provider);
    let mut words: Vec<&str> = flags.iter().map(String::as_str).collect();
    words.push("--json");
    let tested = with_fields(
        item("one", 1),
        json!({ "test_command": "cat leaked.txt; env; exit 1" }),
    );
    let ended = finish(start(
        world.work_command(&tested, &words).env("HELD_KEY", PLANTED),
    ));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let result = ended.json();
    assert!(
        text(&result["test_output"]).contains("the key is "),
        "{result}"
    );
    for shown in [&ended.stdout, &ended.stderr] {
        assert!(!shown.contains(PLANTED), "{shown}");
    }
    assert!(
        holders(&world.kept("plans")).is_empty(),
        "{:?}",
        holders(&world.kept("plans"))
    );
    assert!(holders(&world.kept("trees")).is_empty());
}

/// The files below a directory that hold the key.
fn holders(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut open = vec![dir.to_owned()];
    let mut found = vec![];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let listed = std::fs::read_dir(&path).expect("it can be listed");
            open.extend(listed.map(|entry| entry.expect("it can be read").path()));
            continue;
        }
        let bytes = std::fs::read(&path).expect("it can be read");
        let holds = bytes
            .windows(PLANTED.len())
            .any(|it| it == PLANTED.as_bytes());
        found.extend(holds.then_some(path));
    }
    found
}
