//! Nobody's save is lost, whenever it comes, and what a receipt says is so.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bonded_kernel::Hash;
use bonded_testkit::disturbance::EndsDisturbance;
use bonded_work_rules::{Node, Receipt, TreePath};
use serde_json::json;

use super::desk::{Desk, Outcome, passes};
use crate::person::{finish, sh, start};
use crate::witness::rounds;

/// Passes on one half of the states that the editors make.
const TEST: &str = "grep -q good value && test -s shared && cat shared value > /dev/null";

/// How an editor saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Save {
    Rename,
    InPlace,
}

/// Numbers that differ from round to round.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// How long an editor pauses at most, in milliseconds: some write all the time, some hardly ever.
const PAUSES_MS: [u64; 5] = [8, 60, 250, 600, 1_200];

/// Pauses, unless it is over before. Says whether it is.
fn pause(mut left_us: u64, is_over: &AtomicBool) -> bool {
    const STEP_US: u64 = 3_000;
    while left_us > 0 && !is_over.load(Ordering::Relaxed) {
        let step = left_us.min(STEP_US);
        thread::sleep(Duration::from_micros(step));
        left_us -= step;
    }
    is_over.load(Ordering::Relaxed)
}

/// Saves one file at random moments, until it is told that it is over. Gives what it saved last.
fn edit(path: &Path, how: Save, seed: u64, is_over: &AtomicBool) -> String {
    let mut dice = Dice(seed);
    let pause_ms = PAUSES_MS[(seed % PAUSES_MS.len() as u64) as usize];
    let mut last = String::new();
    for number in 0.. {
        if pause(dice.throw(pause_ms * 1_000), is_over) {
            break;
        }
        let mood = ["good", "bad"][dice.throw(2) as usize];
        let text = format!("{mood} {how:?} {seed} {number}\n");
        if save(path, how, &text) {
            last = text;
        }
    }
    last
}

fn save(path: &Path, how: Save, text: &str) -> bool {
    let saved = match how {
        Save::Rename => {
            let new = path.with_extension("new");
            fs::write(&new, text).and_then(|()| fs::rename(&new, path))
        }
        Save::InPlace => {
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(true).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes()))
        }
    };
    saved.is_ok()
}

/// One item that changes a file which others save too; when it has ended, each save is looked for. Says whether it was
/// a success.
fn round(number: u64, how: Save) -> bool {
    let desk = Desk::new();
    desk.write("value", "good 0\n");
    desk.write("shared", "good 0\n");
    let (value, shared) = (desk.tree().join("value"), desk.tree().join("shared"));
    let is_over = AtomicBool::new(false);
    let (outcome, saved) = thread::scope(|scope| {
        let over = &is_over;
        let at_value = scope.spawn(|| edit(&value, Save::Rename, number * 7, over));
        let at_shared = scope.spawn(|| edit(&shared, how, number * 7 + 3, over));
        let fields = json!({ "test_command": TEST });
        let editing = EndsDisturbance(&is_over);
        let outcome = finish(desk.start(&[sh("echo item >> shared")], fields));
        drop(editing);
        at_value.join().expect("an editor does not panic");
        let saved = at_shared.join().expect("an editor does not panic");
        (Outcome::of(outcome), saved)
    });
    // A tree in which somebody writes without a pause may not be worked on at all, and that is said.
    if outcome.result.is_null() {
        assert!(outcome.done.stderr.contains("tree-busy"), "{outcome:?}");
        assert_eq!(fs::read_to_string(&shared).ok(), Some(saved));
        return false;
    }
    is_found(&desk, &outcome, &saved);
    is_true(&desk, &outcome);
    outcome.status() == "success"
}

fn rounds_of(how: Save, first: u64) {
    let rounds = rounds(5) as u64;
    let successes = (first..first + rounds).filter(|number| round(*number, how));
    let successes = successes.count();
    // Where there are many, some editors are slow enough.
    assert!(rounds < 100 || successes > 5, "{successes} of {rounds}");
}

/// The last save is in the tree, or it is what the item's change was made to, or it is kept elsewhere.
#[track_caller]
fn is_found(desk: &Desk, outcome: &Outcome, saved: &str) {
    let now = desk.read("shared").unwrap_or_default();
    if saved.is_empty() || now == saved {
        return;
    }
    let receipt = outcome.receipt();
    let is_based_on_it = before_of(&receipt, "shared") == Some(Hash::of(saved.as_bytes()));
    let is_kept = kept_files(&desk.kept().join("trees"))
        .iter()
        .any(|file| fs::read_to_string(file).is_ok_and(|text| text == saved));
    assert!(
        is_based_on_it || is_kept,
        "{saved:?} is lost, there is {now:?}: {outcome:?}"
    );
}

fn before_of(receipt: &Receipt, path: &str) -> Option<Hash> {
    let path = TreePath::new(path).expect("it is a path");
    let changes = receipt.outcome.deltas.changes();
    let change = changes.into_iter().find(|it| it.path == path)?;
    match change.before {
        Some(Node::File { content, .. }) => Some(content),
        _ => None,
    }
}

fn kept_files(trees: &Path) -> Vec<PathBuf> {
    let of = |dir: &Path| {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let trees = of(trees).into_iter();
    trees.flat_map(|tree| of(&tree.join("kept"))).collect()
}

/// What a success claims holds elsewhere: the state that its hashes name passes the tests.
#[track_caller]
fn is_true(desk: &Desk, outcome: &Outcome) {
    if outcome.status() != "success" {
        return;
    }
    let elsewhere = tempfile::tempdir().expect("a directory can be made");
    let restored = elsewhere.path().join("restored");
    desk.restore(&outcome.receipt(), &restored);
    assert!(passes(TEST, &restored), "{outcome:?}");
}

#[test]
fn no_save_by_rename_is_lost_and_tests_passed_on_the_state_that_is_named() {
    rounds_of(Save::Rename, 0);
}

#[test]
fn no_save_in_place_is_lost_and_tests_passed_on_the_state_that_is_named() {
    rounds_of(Save::InPlace, 1_000_000);
}

/// Opens a file, waits, writes a line to its end and closes it, again and again.
const WRITER: &str = "n=0; while [ ! -e ../over ]; do for pause in $PAUSES; do \
    exec 3>>shared; sleep $pause; echo \"line $n\" >&3; exec 3>&-; n=$((n+1)); sleep $pause; \
    [ -e ../over ] && break; done; done; echo $n";

/// One item beside somebody who has the file open most of the time. Says whether it was a success.
fn round_beside_a_writer(number: u64) -> bool {
    let desk = Desk::new();
    desk.write("value", "good 0\n");
    desk.write("shared", "good 0\n");
    let mut dice = Dice(number);
    let pauses: Vec<String> = (0..20)
        .map(|_| format!("0.{:03}", dice.throw(8 << (number % 6))))
        .collect();
    let mut writer = desk.person.program("sh");
    writer.args(["-c", WRITER]).env("PAUSES", pauses.join(" "));
    let writer = start(&mut writer);
    let fields = json!({ "test_command": TEST });
    let outcome = Outcome::of(finish(desk.start(&[sh("echo item >> shared")], fields)));
    desk.person.write(desk.person.home().join("over"), "");
    let written = finish(writer).stdout;
    let written: u64 = written.trim().parse().expect("it says how many");
    let mut all = desk.read("shared").unwrap_or_default();
    for file in kept_files(&desk.kept().join("trees")) {
        all.push_str(&fs::read_to_string(file).unwrap_or_default());
    }
    for line in (0..written).map(|line| format!("line {line}")) {
        let is_there = all.lines().any(|it| it == line);
        assert!(is_there, "{line} of {written} is lost: {all:?} {outcome:?}");
    }
    if !outcome.result.is_null() {
        is_true(&desk, &outcome);
    }
    outcome.status() == "success"
}

#[test]
fn no_line_of_somebody_who_opened_the_file_before_is_lost() {
    for number in 0..rounds(6) as u64 {
        round_beside_a_writer(number);
    }
}
