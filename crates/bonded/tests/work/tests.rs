//! The tests of items: what passes, what does not, and what they may not do.

use serde_json::{Value, json};

use crate::done::text;
use crate::world::{World, expect_status, item, with_fields, writes};

const THREE_PASSED: &str =
    "echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'";

/// The result of an item that writes `new.txt` and is tested by this command.
fn tested(world: &World, command: &str, more: Value) -> Value {
    world.agent(1, &[writes("new.txt", "new\n")]);
    let fields = with_fields(json!({ "test_command": command }), more);
    world.result(&with_fields(item("one", 1), fields))
}

#[test]
fn tests_see_what_the_item_did_and_their_counts_and_output_are_kept() {
    let world = World::plain();
    let result = tested(
        &world,
        &format!("cat new.txt; {THREE_PASSED}"),
        json!({ "tests_expected": 3 }),
    );
    assert_eq!(result["status"], "success", "{result}");
    assert_eq!(result["metrics"]["tests_passed"], 3);
    assert_eq!(result["metrics"]["tests_failed"], 0);
    let output = text(&result["test_output"]);
    assert!(
        output.starts_with("new\ntest result: ok. 3 passed"),
        "{output}"
    );
    let log = std::path::Path::new(text(&result["receipt_path"])).with_file_name("tests.log");
    assert_eq!(std::fs::read_to_string(log).ok().as_deref(), Some(output));
}

#[test]
fn tests_that_do_not_pass_fail_the_item_with_their_output_and_nothing_is_published() {
    let failing = "printf '==== 2 failed, 1 passed in 0.1s ====\\n'; exit 3";
    let table = [
        (
            failing,
            json!({}),
            "exited with 3 (1 passed, 2 failed)",
            "2 failed",
        ),
        (
            THREE_PASSED,
            json!({ "tests_expected": 4 }),
            "Tests failed: 4 expected, 3 passed and 0 failed",
            "3 passed",
        ),
        (
            "echo fine",
            json!({ "tests_expected": 1 }),
            "does not say how many ran",
            "fine",
        ),
        (
            "no-such-program --all",
            json!({}),
            "exited with 127",
            "not found",
        ),
        ("echo dying; kill -9 $$", json!({}), "Tests failed", "dying"),
        (
            "echo more >> new.txt",
            json!({}),
            "Tests changed what was to be published: new.txt",
            "",
        ),
        (
            "rm new.txt",
            json!({}),
            "Tests changed what was to be published: new.txt",
            "",
        ),
    ];
    for (command, more, why, output) in table {
        let world = World::plain();
        let before = world.state();
        let result = tested(&world, command, more);
        expect_status(&result, "failure", why);
        assert!(text(&result["test_output"]).contains(output), "{result}");
        before.expect_same(&world.state(), command);
    }
}

#[test]
fn what_tests_leave_behind_is_not_published() {
    let world = World::plain();
    let command =
        "mkdir -p target/debug; echo x > target/debug/built; echo x > report.xml; rm kept.txt";
    let result = tested(&world, command, json!({}));
    assert_eq!(result["status"], "success", "{result}");
    assert_eq!(result["metrics"]["files_touched"], 1, "{result}");
    for name in ["target", "report.xml"] {
        assert!(!world.path(name).exists(), "{name}");
    }
    assert_eq!(world.read("kept.txt").as_deref(), Some("kept\n"));
    assert_eq!(world.read("new.txt").as_deref(), Some("new\n"));
}

#[test]
fn the_time_of_an_item_bounds_its_tests_too() {
    let world = World::plain();
    let before = world.state();
    let limits = json!({ "constraints": { "timeout_ms": 10000 } });
    let result = tested(&world, "echo begun; sleep 600", limits);
    expect_status(&result, "timeout", "Timed out in the tests");
    assert_eq!(result["test_output"], "begun\n");
    before.expect_same(&world.state(), "a test that hangs");
}

#[test]
fn tests_come_after_admission_and_what_is_denied_is_not_tested() {
    let world = World::plain();
    let limits = json!({ "constraints": { "max_files": 0 } });
    let result = tested(&world, "echo tested", limits);
    expect_status(&result, "denied", "Exceeded max files: 1 > 0");
    assert!(result.get("test_output").is_none(), "{result}");
}
