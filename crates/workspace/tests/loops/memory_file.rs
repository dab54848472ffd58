//! The file of a memory: written whole, and a person's changes found whatever happened before.

use std::fs;
use std::path::PathBuf;

use bonded_host::memory_file::{MemoryFile, MemoryFileState};
use bonded_kernel::{Hash, Memory};
use serde_json::json;

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("deep/agent-kv-store.json");
    Place { _dir: dir, path }
}

fn memory(value: &serde_json::Value) -> Memory {
    Memory::read(&value.to_string()).expect("an object")
}

impl Place {
    fn file(&self) -> MemoryFile {
        MemoryFile::new(&self.path)
    }

    fn holding(value: &serde_json::Value) -> Self {
        let place = place();
        place.keep(value);
        place
    }

    fn keep(&self, value: &serde_json::Value) {
        let written = self.file().write(&memory(value), "run-1", None);
        assert_eq!(written.expect("it is written"), MemoryFileState::Unchanged);
    }

    fn by_hand(&self, text: &str) {
        fs::write(&self.path, text).expect("a person may write");
    }

    fn look(&self) -> MemoryFileState {
        self.file().look().expect("the file can be looked at")
    }

    fn beside(&self, end: &str) -> PathBuf {
        PathBuf::from(format!("{}.{end}", self.path.display()))
    }
}

#[test]
fn a_file_that_is_not_there_is_an_empty_memory() {
    let place = place();
    assert_eq!(place.look(), MemoryFileState::Missing);
    assert_eq!(place.file().read().expect("no error"), None);
    assert_eq!(place.file().run().expect("no error"), None);
}

#[test]
fn what_was_written_is_read_again_and_is_no_change() {
    let value = json!({ "plan": "a", "steps": [1, { "b": null }] });
    let place = Place::holding(&value);
    assert_eq!(place.look(), MemoryFileState::Unchanged);
    assert_eq!(place.file().read().expect("no error"), Some(memory(&value)));
    assert_eq!(
        place.file().run().expect("no error").as_deref(),
        Some("run-1")
    );
    let shown: serde_json::Value =
        serde_json::from_slice(&fs::read(&place.path).expect("it is there")).expect("JSON");
    assert_eq!(shown, value);
}

#[test]
fn a_file_that_was_removed_is_written_again() {
    let place = Place::holding(&json!({ "a": 1 }));
    fs::remove_file(&place.path).expect("it was there");
    assert_eq!(
        place.look(),
        MemoryFileState::Unchanged,
        "to remove it changes nothing"
    );
    place.keep(&json!({ "a": 1 }));
    assert!(place.path.exists());
}

#[test]
fn only_what_a_person_changed_is_their_change() {
    let place = Place::holding(&json!({ "a": 1, "b": 2, "c": 3 }));
    place.by_hand(r#"{"a":1,"b":"two","d":4}"#);
    let MemoryFileState::Edited { edit, seen } = place.look() else {
        unreachable!("a person changed it");
    };
    assert_eq!(json!(edit.set), json!({ "b": "two", "d": 4 }));
    assert_eq!(edit.removed, ["c"]);
    // The file is not overwritten before the change has gone into the log.
    let agents = memory(&json!({ "a": 9, "b": 2, "c": 3 }));
    let refused = place
        .file()
        .write(&agents, "run-1", None)
        .expect("no error");
    assert!(matches!(refused, MemoryFileState::Edited { .. }));
    let other = Hash::of(b"something else");
    let refused = place
        .file()
        .write(&agents, "run-1", Some(other))
        .expect("no error");
    assert!(matches!(refused, MemoryFileState::Edited { .. }));
    let mut both = agents;
    both.edit(&edit);
    let written = place
        .file()
        .write(&both, "run-1", Some(seen))
        .expect("no error");
    assert_eq!(written, MemoryFileState::Unchanged);
    let merged = memory(&json!({ "a": 9, "b": "two", "d": 4 }));
    assert_eq!(place.file().read().expect("no error"), Some(merged));
}

#[test]
fn to_write_the_same_in_other_words_changes_nothing() {
    let place = Place::holding(&json!({ "a": 1, "b": [2] }));
    place.by_hand("{\"b\": [ 2 ],\n \"a\":1}");
    assert_eq!(place.look(), MemoryFileState::Unchanged);
}

#[test]
fn a_crash_at_any_point_of_a_write_does_not_look_like_a_persons_change() {
    let (old, new) = (json!({ "a": 1 }), json!({ "a": 2, "b": 3 }));
    let written = |value: &serde_json::Value| {
        let place = Place::holding(value);
        fs::read(&place.path).expect("it is there")
    };
    let noted = json!({ "run": "run-1", "written": old, "writing": new }).to_string();
    // Before the rename the file is the old one, after it the new one; the note beside it names both.
    for content in [written(&old), written(&new)] {
        let place = Place::holding(&old);
        fs::write(place.beside("kept"), &noted).expect("a crash leaves it so");
        fs::write(place.beside("new"), "half a fi").expect("a crash leaves it so");
        fs::write(&place.path, content).expect("a crash leaves it so");
        assert_eq!(place.look(), MemoryFileState::Unchanged);
        place.keep(&json!({ "a": 5 }));
    }
}

#[test]
fn what_is_no_memory_is_put_aside_and_explained() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(5 << 20));
    for broken in ["{\"a\": 1,", "[1]", "", "\u{0}", long.as_str()] {
        let place = Place::holding(&json!({ "a": 1 }));
        place.by_hand(broken);
        let MemoryFileState::Broken { why } = place.look() else {
            unreachable!("{:?} is no object", &broken[..broken.len().min(20)]);
        };
        let refused = place.file().write(&Memory::default(), "run-1", None);
        assert!(matches!(refused, Ok(MemoryFileState::Broken { .. })));
        for number in 1..=2 {
            place.by_hand(broken);
            let aside = place.file().put_aside(&why).expect("it can be put aside");
            assert_eq!(aside, place.beside(&format!("broken-{number}")));
            assert_eq!(fs::read(&aside).expect("it is kept"), broken.as_bytes());
            let told = fs::read_to_string(place.beside(&format!("broken-{number}.txt")));
            assert!(told.expect("it is explained").contains(&why));
        }
        place.keep(&json!({ "a": 1 }));
    }
}

#[test]
fn a_file_that_cannot_be_written_says_which_and_has_a_code() {
    let place = place();
    fs::write(
        place._dir.path().join("deep"),
        "a file where a directory must be",
    )
    .expect("a file");
    let error = place
        .file()
        .write(&Memory::default(), "run-1", None)
        .expect_err("no directory");
    assert!(error.to_string().contains("agent-kv-store.json"), "{error}");
}
