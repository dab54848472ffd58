//! What `verify` claims: nothing that it has not compared.

use std::fs;

use serde_json::{Value, json};

use crate::bad_store::tamper;
use crate::done::text;
use crate::place::{Done, Place, call, done, parse};

/// Removes whole steps from the end of the run, as many as have an append of their own.
fn cut(place: &Place, steps: usize) {
    let ends = "(SELECT id FROM entry WHERE id >> 24 = 1 AND hash IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET";
    let sql = format!("DELETE FROM entry WHERE id >> 24 = 1 AND id > {ends} {steps})");
    tamper(place, &sql);
}

fn counted() -> [Value; 2] {
    let command = json!({ "command": "echo once >> counted.txt" });
    [call("run", command), done("ok")]
}

/// A run that is kept as the flags say.
fn kept(flags: &[&str]) -> Place {
    let place = Place::new();
    let script = place.script(&counted());
    let mut words = vec!["run", "--id", "run", "--model", &script];
    words.extend(flags);
    words.push("the goal");
    place.bonded(&words).succeeds();
    place
}

fn head(place: &Place) -> String {
    let shown = place.bonded(&["verify", "run", "--json"]);
    text(&parse(&shown.stdout)["head"]).to_owned()
}

fn counts(place: &Place) -> usize {
    let text = fs::read_to_string(place.work().join("counted.txt"));
    text.expect("the command ran").lines().count()
}

/// The word that `--json` has for it.
fn outcome(verified: &Done) -> String {
    text(&parse(&verified.stdout)["outcome"]).to_owned()
}

#[test]
fn a_log_with_nothing_kept_elsewhere_is_said_to_be_compared_with_nothing() {
    let place = kept(&[]);
    let verified = place.bonded(&["verify", "run"]);
    verified.fails_with(7, "not-compared");
    assert!(
        verified.stdout.contains("compared with NOTHING"),
        "{verified:?}"
    );
    let all = place.bonded(&["verify", "--all", "--json"]);
    all.fails_with(7, "not-compared");
    assert_eq!(outcome(&all), "not_compared");
}

#[test]
fn a_kept_head_shows_a_log_that_was_cut_and_one_that_was_replaced() {
    let place = kept(&[]);
    let head = head(&place);
    let printed = place.bonded(&["verify", "--all", "--json"]).stdout;
    fs::write(place.path("heads"), &printed).expect("heads can be kept");
    fs::write(place.path("lines"), format!("# mine\nrun {head}\n")).expect("heads can be kept");
    let files = ["heads", "lines"].map(|name| place.path(name).display().to_string());
    let ways: [Vec<&str>; 5] = [
        vec!["verify", "run", "--head", &head],
        vec!["verify", "run", "--heads", &files[0]],
        vec!["verify", "run", "--heads", &files[1]],
        vec!["verify", "--all", "--heads", &files[0]],
        vec!["verify", "--all", "--heads", &files[1]],
    ];
    for way in &ways {
        place.bonded(way).succeeds();
    }
    cut(&place, 1);
    for way in &ways {
        let refused = place.bonded(way);
        refused.fails_with(1, "tampered");
        assert!(refused.stdout.contains("TAMPERED"), "{refused:?}");
    }
    let other = kept(&[]);
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let _none = fs::remove_file(place.path(name));
        let _none = fs::copy(other.path(name), place.path(name));
    }
    place.bonded(&ways[0]).fails_with(1, "tampered");
    place.bonded(&ways[3]).fails_with(1, "tampered");
}

#[test]
fn a_head_that_was_kept_while_the_run_went_on_is_found_in_the_log() {
    let place = kept(&[]);
    let entries = place.log("run");
    let middle = parse(&entries[entries.len() / 2]);
    place
        .bonded(&["verify", "run", "--head", text(&middle["hash"])])
        .succeeds();
    let wrong = "0".repeat(64);
    place
        .bonded(&["verify", "run", "--head", &wrong])
        .fails_with(1, "tampered");
    place
        .bonded(&["verify", "run", "--head", "nonsense"])
        .fails_with(4, "usage");
}

#[test]
fn a_ledger_or_a_snapshot_shows_a_cut_and_nothing_is_done_again() {
    for (flags, said) in [
        (["--billing-file", "ledger.jsonl"], "the ledger"),
        (["--sessions-dir", "kept"], "the snapshot"),
    ] {
        let place = kept(&flags);
        let whole = place.bonded(&["verify", "run"]);
        whole.succeeds();
        assert!(whole.stdout.contains(said), "{whole:?}");
        cut(&place, 1);
        for command in ["verify", "resume"] {
            let refused = place.bonded(&[command, "run"]);
            refused.fails_with(1, "tampered");
            assert!(refused.stderr.contains(said), "{refused:?}");
            assert!(refused.stderr.contains("cut off"), "{refused:?}");
        }
        cut(&place, 2);
        let script = place.script(&counted());
        let mut again = vec!["run", "--id", "run", "--model", &script];
        again.extend(flags);
        again.push("the goal");
        place.bonded(&again).fails_with(1, "tampered");
        place.bonded(&["resume", "--all"]).fails_with(1, "tampered");
        assert_eq!(counts(&place), 1, "{said}");
    }
}

#[test]
fn a_run_that_is_gone_is_noticed_where_a_ledger_or_a_head_names_it() {
    let place = kept(&["--billing-file", "ledger.jsonl"]);
    let script = place.script(&[done("ok")]);
    let other = ["run", "--id", "other", "--model", &script];
    let other = [&other[..], &["--billing-file", "ledger.jsonl", "the goal"]].concat();
    place.bonded(&other).succeeds();
    let all = place.bonded(&["verify", "--all"]);
    all.succeeds();
    tamper(
        &place,
        "DELETE FROM entry WHERE id >> 24 = 1; DELETE FROM run WHERE id = 'run'",
    );
    let gone = place.bonded(&["verify", "--all"]);
    gone.fails_with(1, "tampered");
    assert!(
        gone.stdout.contains("run run: MISSING: the ledger"),
        "{gone:?}"
    );
}
