//! What is not shown, and what is not written by whom.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{all_refused, append, edit, play, read, show, write};
use crate::person::{Person, call, done};
use crate::witness::{Canary, absent, holds_no};

const SECRET: &str = "open-sesame-5f2c9d1e7a";

/// Everything that the log says of a run.
fn log(person: &Person) -> String {
    show(person, "run", &["--json"]).stdout
}

#[test]
fn a_run_in_the_home_does_not_read_what_programs_keep_there() {
    let person = Person::new();
    let home = person.home();
    let places = [
        ".ssh/id_ed25519",
        ".netrc",
        ".config/git/credentials",
        ".vault-token",
        ".cache/huggingface/token",
        ".claude/.credentials.json",
        ".config/bonded/keys",
        ".local/share/bonded/tokens/x",
    ];
    for place in places {
        person.write(home.join(place), SECRET);
    }
    symlink(".ssh", home.join("plain")).expect("it can be made");
    symlink("../.ssh/id_ed25519", home.join("work/key")).expect("it can be made");
    let linked = ["plain/id_ed25519", "work/key", "./work/../.ssh/id_ed25519"];
    let reads = places.iter().chain(&linked).map(|path| read(path));
    let mut calls: Vec<Value> = reads.collect();
    calls.push(call(
        "search",
        json!({ "pattern": "sesame", "path": ".ssh" }),
    ));
    calls.push(call("list", json!({ "path": ".ssh" })));
    let dir = home.display().to_string();
    let outcomes = play(&person, &["-C", &dir], &calls);
    all_refused(&outcomes, "protected");
    holds_no(SECRET, &[&log(&person)]);
    let person = Person::new();
    person.write(person.home().join(".ssh/id"), SECRET);
    person.write(person.home().join("notes"), "sesame is here");
    let calls = [
        call("search", json!({ "pattern": "sesame" })),
        call("search", json!({ "glob": "id*" })),
        call("list", json!({ "depth": 10 })),
    ];
    let dir = person.home().display().to_string();
    play(&person, &["-C", &dir], &calls);
    let log = log(&person);
    assert!(log.contains("sesame is here"), "{log}");
    holds_no(SECRET, &[&log]);
    holds_no(".ssh/id", &[&log]);
}

#[test]
fn a_run_above_the_home_does_not_read_it_either() {
    let person = Person::new();
    person.write(person.home().join(".ssh/id"), SECRET);
    let dir = person.path("").display().to_string();
    let calls = [read("home/.ssh/id")];
    all_refused(&play(&person, &["-C", &dir], &calls), "protected");
    let person = Person::new();
    let own = [read("proc/self/status")];
    all_refused(&play(&person, &["-C", "/"], &own), "protected");
}

#[test]
fn a_run_in_the_home_writes_nothing_that_a_program_reads_there() {
    let person = Person::new();
    let home = person.home();
    let canary = Canary::put(&person, home.join(".bashrc"), "true\n");
    let calls = [
        append(".bashrc", "evil\n"),
        edit(".bashrc", "true", "evil"),
        write(".config/bonded/trust.json", "{}"),
        write(".local/share/bonded/x", "{}"),
        write(".ssh/authorized_keys", "evil"),
        write(".config/autostart/x.desktop", "evil"),
    ];
    let dir = home.display().to_string();
    all_refused(&play(&person, &["-C", &dir], &calls), "protected");
    canary.lives();
    for path in [".config", ".ssh"] {
        absent(home.join(path));
    }
}

#[test]
fn secrets_beside_the_settings_are_not_read() {
    let person = Person::new();
    person.write(
        person.work().join("sub/.ai-agent.env"),
        format!("KEY={SECRET}\n"),
    );
    let calls = [
        read("sub/.ai-agent.env"),
        call("search", json!({ "pattern": "sesame" })),
        call(
            "search",
            json!({ "pattern": "sesame", "path": "sub/.ai-agent.env" }),
        ),
    ];
    let outcomes = play(&person, &[], &calls);
    all_refused(&outcomes[..1], "protected");
    all_refused(&outcomes[2..], "protected");
    holds_no(SECRET, &[&log(&person)]);
}

#[test]
fn the_store_in_the_working_directory_is_neither_read_nor_written() {
    let person = Person::new();
    let store = person.work().join("store.db").display().to_string();
    let script = person.script(&[
        write("store.db", "evil"),
        append("store.db-wal", "evil"),
        read("store.db"),
        done(),
    ]);
    let words = [
        "run", "--store", &store, "--id", "run", "--model", &script, "goal",
    ];
    let ran = person.bonded(&words);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let shown = person.bonded(&["show", "run", "--store", &store]);
    let refused = shown.stdout.matches("(tool failed: protected: ").count();
    assert_eq!(refused, 3, "{}", shown.stdout);
}

#[test]
fn a_read_only_run_writes_nothing_by_any_tool() {
    let person = Person::new();
    let canary = Canary::put(&person, person.work().join("f"), "here");
    let calls = [
        write("f", "evil"),
        write("new/g", "evil"),
        append("f", "evil"),
        append("g", "evil"),
        edit("f", "here", "evil"),
    ];
    let outcomes = play(&person, &["--sandbox", "read-only"], &calls);
    all_refused(&outcomes, "read_only");
    canary.lives();
    let entries = std::fs::read_dir(person.work()).expect("it is there");
    assert_eq!(entries.count(), 1);
}
