//! The tree is edited by others while an item runs and is tested.

use std::time::Duration;

use serde_json::json;

use super::desk::{Desk, Outcome, passes};
use crate::person::{finish, sh};

/// Passes as soon as somebody has put the right answer there, and fails where nobody does.
const WAITS_FOR_RIGHT: &str = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do grep -q right answer && exit 0; sleep 0.1; done; exit 1";

/// An item whose tests pass only where somebody else's edit is seen.
fn lured(desk: &Desk, edit: impl FnOnce(&Desk)) -> Outcome {
    desk.write("answer", "wrong\n");
    let fields = json!({ "test_command": WAITS_FOR_RIGHT });
    let mut child = desk.start(&[sh("echo made > made")], fields);
    desk.wait_for_tests(&mut child);
    edit(desk);
    Outcome::of(finish(child))
}

#[track_caller]
fn is_not_fooled(desk: &Desk, outcome: &Outcome) {
    assert_eq!(outcome.status(), "failure", "{outcome:?}");
    let receipt = outcome.receipt();
    assert!(receipt.tree_changed_outside, "{outcome:?}");
    assert_eq!(desk.read("made"), None);
}

#[test]
fn tests_do_not_pass_on_somebodys_edit_to_a_small_tree() {
    let desk = Desk::new();
    let outcome = lured(&desk, |desk| desk.write("answer", "right\n"));
    is_not_fooled(&desk, &outcome);
    assert_eq!(desk.read("answer").as_deref(), Some("right\n"));
}

#[test]
fn tests_do_not_pass_on_somebodys_edit_to_a_large_tree() {
    let desk = Desk::large();
    let outcome = lured(&desk, |desk| desk.write("answer", "right\n"));
    is_not_fooled(&desk, &outcome);
}

#[test]
fn an_edit_that_is_taken_back_with_its_old_time_does_not_make_tests_pass() {
    let desk = Desk::large();
    let outcome = lured(&desk, |desk| {
        let was = std::fs::metadata(desk.tree().join("answer"));
        let was = was.and_then(|it| it.modified()).expect("it is there");
        desk.write("answer", "right\n");
        std::thread::sleep(Duration::from_millis(400));
        desk.write("answer", "wrong\n");
        let mut options = std::fs::File::options();
        let file = options.write(true).open(desk.tree().join("answer"));
        file.and_then(|file| file.set_modified(was))
            .expect("a time can be set");
    });
    is_not_fooled(&desk, &outcome);
}

#[test]
fn a_file_that_comes_only_for_the_tests_does_not_make_them_pass() {
    let desk = Desk::large();
    let outcome = lured(&desk, |desk| {
        desk.write("new", "right\n");
        let (new, answer) = (desk.tree().join("new"), desk.tree().join("answer"));
        std::fs::rename(new, answer).expect("it can be renamed");
    });
    is_not_fooled(&desk, &outcome);
}

#[test]
fn what_a_run_reads_of_a_small_tree_is_what_was_frozen_and_its_replay_agrees() {
    let desk = Desk::new();
    desk.write("answer", "wrong\n");
    let reads = sh("sleep 1; cat answer > copied");
    let child = desk.start(&[reads], json!({ "test_command": "true" }));
    std::thread::sleep(Duration::from_millis(600));
    desk.write("answer", "right\n");
    let outcome = Outcome::of(finish(child));
    assert_eq!(outcome.status(), "success", "{outcome:?}");
    assert_eq!(desk.read("copied").as_deref(), Some("wrong\n"));
    assert_eq!(desk.read("answer").as_deref(), Some("right\n"));
    let script = outcome.receipt_path().with_file_name("replay.sh");
    let replayed = desk.person.shell(&format!("'{}'", script.display()));
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}

#[test]
fn tests_that_fail_on_somebodys_broken_save_pass_on_what_was_frozen() {
    let desk = Desk::large();
    desk.write("answer", "right\n");
    let line = "for i in 1 2 3 4 5 6 7 8 9 10; do grep -q right answer || exit 1; sleep 0.1; done";
    let mut child = desk.start(&[sh("echo made > made")], json!({ "test_command": line }));
    desk.wait_for_tests(&mut child);
    desk.write("answer", "broken\n");
    let outcome = Outcome::of(finish(child));
    assert_eq!(outcome.status(), "success", "{outcome:?}");
    assert!(outcome.receipt().tree_changed_outside);
    let elsewhere = tempfile::tempdir().expect("a directory can be made");
    let restored = elsewhere.path().join("restored");
    desk.restore(&outcome.receipt(), &restored);
    assert!(passes(line, &restored), "{outcome:?}");
    assert_eq!(desk.read("answer").as_deref(), Some("broken\n"));
    assert_eq!(desk.read("made").as_deref(), Some("made\n"));
}
