//! `bonded diff` and `bonded undo`: what a run changed is shown, and taken back whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bonded_testkit::rng::{Rng, seed, tell};
use serde_json::{Value, json};

use crate::bad_store::can_mount;
use crate::done::kill;
use crate::place::{Done, Place, call, done, finish, start, with};

/// Everything that an undo gives back: contents, modes, links, and the times of directories.
fn seen(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut seen = BTreeMap::new();
    let mut first = BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    while let Some(at) = left.pop() {
        let path = dir.join(&at);
        let stat = fs::symlink_metadata(&path).expect("it is there");
        let mode = stat.mode() & 0o7777;
        let what = if stat.is_dir() {
            let entries = fs::read_dir(&path).expect("it can be listed");
            let mut names: Vec<_> = entries
                .map(|it| it.expect("an entry").file_name())
                .collect();
            names.sort();
            left.extend(names.iter().rev().map(|name| at.join(name)));
            format!("dir {mode:o} {}.{}", stat.mtime(), stat.mtime_nsec())
        } else if stat.is_symlink() {
            format!("link {:?}", fs::read_link(&path).expect("it is a link"))
        } else {
            let content = fs::read(&path).expect("it can be read");
            let name = first.entry(stat.ino()).or_insert_with(|| at.clone());
            format!("file {mode:o} {content:?} {}", name.display())
        };
        seen.insert(at, what);
    }
    seen
}

/// A directory with a program, a binary file, a file with two names and a link.
fn planted(place: &Place) -> BTreeMap<PathBuf, String> {
    place.write("work/src/main.rs", "fn main() {\n    one();\n}\n");
    place.write("work/src/data", [0xff, 0, 1]);
    let tool = place.write("work/tool.sh", "#!/bin/sh\n");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o750)).expect("it is ours");
    let twin = place.write("work/twin", "twin\n");
    fs::hard_link(twin, place.work().join("src/other")).expect("it can be linked");
    symlink("src/main.rs", place.work().join("link")).expect("it can be linked");
    seen(&place.work())
}

fn edits() -> Vec<Value> {
    vec![
        call(
            "edit",
            json!({ "path": "src/main.rs", "old": "one", "new": "two" }),
        ),
        call(
            "write",
            json!({ "path": "new/deep/notes.txt", "content": "notes\n" }),
        ),
        call(
            "write",
            json!({ "path": "src/data", "content": "text now\n" }),
        ),
        call("append", json!({ "path": "twin", "content": "more\n" })),
        call(
            "write",
            json!({ "path": "tool.sh", "content": "#!/bin/sh\necho\n" }),
        ),
        call(
            "write",
            json!({ "path": "link", "content": "fn main() {}\n" }),
        ),
        call(
            "append",
            json!({ "path": "new/deep/notes.txt", "content": "more\n" }),
        ),
    ]
}

fn played(place: &Place) -> Vec<Value> {
    let mut lines = edits();
    lines.push(done("ok"));
    place.play(&lines).succeeds();
    lines
}

fn undo(place: &Place, flags: &[&str]) -> Done {
    place.bonded(&[&["undo", "run"], flags].concat())
}

#[test]
fn what_a_run_changed_is_undone_to_the_byte_and_back_and_each_turn_by_itself() {
    let place = Place::new();
    let before = planted(&place);
    played(&place);
    let after = seen(&place.work());
    let undone = undo(&place, &[]);
    undone.succeeds();
    assert_eq!(seen(&place.work()), before, "{undone:?}");
    for line in [
        "restored          src/main.rs",
        "removed           new/deep/notes.txt",
    ] {
        assert!(undone.stdout.contains(line), "{undone:?}");
    }
    assert!(
        undone.stderr.contains("bonded undo run --redo"),
        "{undone:?}"
    );
    undo(&place, &["--redo"]).succeeds();
    assert_eq!(seen(&place.work()), after);
    undo(&place, &["--turn", "4"]).succeeds();
    let main = fs::read_to_string(place.work().join("src/main.rs")).expect("it is there");
    assert!(main.contains("two"), "turns 1 to 3 stay: {main}");
    let twin = fs::read_to_string(place.work().join("src/other")).expect("it is there");
    assert_eq!(twin, "twin\n");
    undo(&place, &[]).succeeds();
    assert_eq!(seen(&place.work()), before);
    let nothing = undo(&place, &[]);
    nothing.succeeds();
    assert!(nothing.stderr.contains("nothing to undo"), "{nothing:?}");
    let verified = place.bonded(&["verify", "run", "--json"]).json();
    assert_eq!(
        verified["changes"],
        json!({ "recorded": 7, "undos": 3, "redos": 1 })
    );
}

#[test]
fn a_diff_is_a_patch_that_git_applies_backwards() {
    let place = Place::new();
    planted(&place);
    let lines = [
        edits().remove(0),
        edits().remove(1),
        call("append", json!({ "path": "twin", "content": "no end" })),
        done("ok"),
    ];
    place.play(&lines).succeeds();
    let diff = place.bonded(&["diff", "run"]);
    diff.succeeds();
    for line in [
        "diff --git a/src/main.rs b/src/main.rs",
        "-    one();",
        "+    two();",
        "new file mode 100644",
        "--- /dev/null",
        "\\ No newline at end of file",
    ] {
        assert!(diff.stdout.lines().any(|it| it == line), "{line}: {diff:?}");
    }
    let patch = place.write("run.patch", &diff.stdout);
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(words).arg(&patch).current_dir(place.work());
        assert!(
            command.status().expect("git is here").success(),
            "{words:?}"
        );
    };
    git(&["apply", "-R"]);
    let main = fs::read_to_string(place.work().join("src/main.rs")).expect("it is there");
    assert_eq!(main, "fn main() {\n    one();\n}\n");
    assert!(!place.work().join("new/deep/notes.txt").exists());
    // The run is shown as it was, whatever became of its files.
    let again = place.bonded(&["diff", "run"]);
    assert_eq!(again.stdout, diff.stdout);
    assert!(
        again
            .stderr
            .contains("src/main.rs is not as the run left it")
    );
    let later = place
        .bonded(&["diff", "run", "--turn", "3", "--json"])
        .stdout;
    let paths: Vec<Value> = later
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["path"].clone())
        .collect();
    assert_eq!(paths, [json!("src/other"), json!("twin")]);
    let coloured = place.bonded(&["diff", "run", "--color", "always"]);
    assert!(coloured.stdout.contains("\x1b[31m-    one();\x1b[0m"));
}

#[test]
fn what_a_person_changed_since_is_in_the_way_of_all_and_named_with_what_differs() {
    type Edit = fn(&Path);
    let edits: [(Edit, &str); 5] = [
        (
            |work| fs::write(work.join("src/main.rs"), "mine\nmine\n").expect("it can be"),
            "src/main.rs: changed since the run: 2 lines added, 1 removed",
        ),
        (
            |work| fs::remove_file(work.join("src/main.rs")).expect("it can be"),
            "src/main.rs: removed since the run",
        ),
        (
            |work| {
                let rights = fs::Permissions::from_mode(0o600);
                fs::set_permissions(work.join("tool.sh"), rights).expect("it can be");
            },
            "tool.sh: its mode was changed since the run: 0750 to 0600",
        ),
        (
            |work| {
                fs::remove_file(work.join("src/data")).expect("it can be");
                fs::create_dir(work.join("src/data")).expect("it can be");
            },
            "src/data: replaced by a directory since the run",
        ),
        (
            |work| {
                fs::remove_file(work.join("tool.sh")).expect("it can be");
                symlink("/etc/passwd", work.join("tool.sh")).expect("it can be");
            },
            "tool.sh: replaced by a link since the run",
        ),
    ];
    for (edit, expected) in edits {
        let place = Place::new();
        let before = planted(&place);
        played(&place);
        edit(&place.work());
        let left = seen(&place.work());
        let refused = undo(&place, &[]);
        refused.fails_with(1, "undo-refused");
        for part in [expected, "--partial", "bonded diff run"] {
            assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        }
        assert_eq!(seen(&place.work()), left, "{expected}");
        let path = PathBuf::from(expected.split(':').next().expect("a path"));
        let partial = undo(&place, &["--partial"]);
        partial.succeeds();
        assert!(
            partial
                .stdout
                .contains(&format!("left              {expected}")),
            "{partial:?}"
        );
        let mut now = seen(&place.work());
        assert_eq!(now.remove(&path), left.get(&path).cloned(), "{expected}");
        let mut was = before;
        was.remove(&path);
        // The directory of a file that stays changed by the person has another time than before.
        now.retain(|_, it| !it.starts_with("dir"));
        was.retain(|_, it| !it.starts_with("dir"));
        assert_eq!(now, was, "{expected}");
    }
}

#[test]
fn what_a_person_wrote_while_the_run_worked_is_not_undone_with_it() {
    let place = Place::new();
    planted(&place);
    let pause = with(
        call("append", json!({ "path": "tool.sh", "content": "# run\n" })),
        "delay_ms",
        1500,
    );
    let lines = [
        call(
            "append",
            json!({ "path": "tool.sh", "content": "# first\n" }),
        ),
        pause,
        done("ok"),
    ];
    let child = place.start_until(&lines, 2, "attempt_started");
    let path = place.work().join("tool.sh");
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, format!("{text}# a person's\n")).expect("it can be written");
    finish(child).succeeds();
    let refused = undo(&place, &[]);
    refused.fails_with(1, "undo-refused");
    assert!(
        refused
            .stderr
            .contains("something else changed it while the run worked"),
        "{refused:?}"
    );
    undo(&place, &["--turn", "2"]).succeeds();
    let text = fs::read_to_string(&path).expect("it is there");
    assert_eq!(text, "#!/bin/sh\n# first\n# a person's\n");
}

#[test]
fn a_directory_that_the_run_made_stays_where_somebody_else_uses_it() {
    let place = Place::new();
    planted(&place);
    played(&place);
    place.write("work/new/mine.txt", "mine");
    let undone = undo(&place, &[]);
    undone.succeeds();
    assert!(
        undone
            .stderr
            .contains("new/ stays, because it holds other files")
    );
    assert!(place.work().join("new/mine.txt").exists());
    assert!(!place.work().join("new/deep").exists());
}

#[test]
fn a_run_that_goes_on_is_not_undone_and_what_commands_did_is_said_to_be_unknown() {
    let place = Place::new();
    let before = planted(&place);
    let mut lines = edits();
    lines.push(call(
        "run",
        json!({ "command": "echo by a command > made" }),
    ));
    lines.push(done("ok"));
    place.interrupt_in(&lines, 3);
    let refused = undo(&place, &[]);
    refused.fails_with(1, "undo-refused");
    assert!(refused.stderr.contains("bonded cancel run"), "{refused:?}");
    place.resume().succeeds();
    let diff = place.bonded(&["diff", "run"]);
    assert!(
        diff.stderr
            .contains("what 1 call of run changed is not recorded"),
        "{diff:?}"
    );
    let undone = undo(&place, &[]);
    undone.succeeds();
    assert!(
        undone
            .stderr
            .contains("changes by run (1) are not recorded"),
        "{undone:?}"
    );
    let mut now = seen(&place.work());
    assert!(now.remove(Path::new("made")).is_some());
    // The command made an entry in it after the run's last change, so that its time is not given back.
    let (mut was, root) = (before, Path::new(""));
    was.remove(root);
    now.remove(root);
    assert_eq!(now, was);
}

#[test]
fn a_run_that_is_killed_at_a_random_moment_is_undone_to_the_byte() {
    let seed = seed("BONDED_CRASH_SEED");
    let mut rng = Rng::of(seed, 0);
    let mut changed = 0;
    let begun = Instant::now();
    let undisturbed = Place::new();
    planted(&undisturbed);
    played(&undisturbed);
    // A busy machine takes many times as long.
    let whole_us = u64::try_from(begun.elapsed().as_micros()).expect("it was not that long");
    for _ in 0..25 {
        let place = Place::new();
        let before = planted(&place);
        let mut lines = edits();
        lines.push(done("ok"));
        let script = place.script(&lines);
        let words = ["run", "--id", "run", "--model", &script, "the goal"];
        let child = start(&mut place.command(&words));
        thread::sleep(Duration::from_micros(rng.below(whole_us)));
        kill(child);
        if place.bonded(&["cancel", "run"]).code != Some(0) {
            // It had not begun.
            assert_eq!(seen(&place.work()), before);
            continue;
        }
        changed += u32::from(seen(&place.work()) != before);
        undo(&place, &[]).succeeds();
        assert_eq!(seen(&place.work()), before, "BONDED_CRASH_SEED={seed}");
    }
    tell(&format!(
        "{changed} runs had changed something, BONDED_CRASH_SEED={seed}"
    ));
    assert!(
        changed > 0,
        "no kill came late enough, BONDED_CRASH_SEED={seed}"
    );
}

#[test]
fn an_undo_that_is_killed_at_a_random_moment_is_completed_by_the_next_command() {
    let seed = seed("BONDED_CRASH_SEED");
    let mut rng = Rng::of(seed, 1);
    for _ in 0..25 {
        let place = Place::new();
        let before = planted(&place);
        played(&place);
        let child = start(&mut place.command(&["undo", "run"]));
        thread::sleep(Duration::from_micros(rng.below(60_000)));
        kill(child);
        // Any run in any directory of this store brings it to its end.
        place.bonded(&["diff", "run"]).succeeds();
        undo(&place, &[]).succeeds();
        assert_eq!(seen(&place.work()), before, "BONDED_CRASH_SEED={seed}");
    }
}

/// Undoes on a disk that has no room for the old contents, then makes room.
const FULL_DISK: &str = r#"
mount -t tmpfs -o size=768k tmpfs "$1" || exit 77
bonded=$2 script=$3
cd "$1"
head -c 200000 /dev/zero | tr '\0' a > one
head -c 200000 /dev/zero | tr '\0' b > two
cp one "$4/one" && cp two "$4/two"
"$bonded" --store "$4/other.db" run --id run --model "$script" "the goal" || exit 78
cp one "$4/one.left" && cp two "$4/two.left"
head -c 2000000 /dev/zero > filler 2>/dev/null
"$bonded" --store "$4/other.db" undo run
echo "undo ended with $?"
cmp one "$4/one.left" && cmp two "$4/two.left" && echo "as the run left it"
ls -A
rm filler
"$bonded" --store "$4/other.db" undo run
echo "then with $?"
cmp one "$4/one" && cmp two "$4/two" && echo "as before"
"#;

#[test]
fn an_undo_on_a_full_disk_changes_nothing_and_is_made_when_there_is_room() {
    if !can_mount() {
        // Mounting needs namespaces.
        return;
    }
    let place = Place::new();
    let script = place.script(&[
        call("write", json!({ "path": "one", "content": "1" })),
        call("write", json!({ "path": "two", "content": "2" })),
        done("ok"),
    ]);
    let disk = place.path("disk");
    fs::create_dir(&disk).expect("a directory can be made");
    let (disk, apart) = (
        disk.display().to_string(),
        place.path("").display().to_string(),
    );
    let program = env!("CARGO_BIN_EXE_bonded");
    let words = [
        "-rm", "sh", "-c", FULL_DISK, "sh", &disk, program, &script, &apart,
    ];
    let end = finish(start(&mut place.command_of(Path::new("unshare"), &words)));
    for part in [
        "undo ended with 3\nas the run left it\nfiller\none\ntwo\n",
        "then with 0\nas before",
    ] {
        assert!(end.stdout.contains(part), "{part}: {end:?}");
    }
    assert!(end.stderr.contains("error[undo-failed]"), "{end:?}");
}
