//! What is kept of runs outside the store, where agents work: nothing that they put there leads elsewhere, and nothing
//! makes anybody wait.

use std::os::unix::fs::symlink;

use bonded_testkit::provider::{self, Provider};
use serde_json::json;

use crate::person::{Done, Person, call, done, sh};
use crate::witness::{Canary, absent};

const LEDGER: [&str; 2] = ["--billing-file", "led.jsonl"];
const TEXT: &str = "alias ll='ls -l'\n";

/// A command that puts a link to a path in the place of the ledger, and says what a shell would run.
fn relink(to: &str) -> serde_json::Value {
    let line = format!("rm -f led.jsonl; ln -s {to} led.jsonl; echo '$(touch PWNED)' >&2; exit 3");
    sh(&line)
}

/// A file of the person outside, which others may read.
fn outside(person: &Person) -> Canary {
    let canary = Canary::put(person, person.path("outside/bashrc"), TEXT);
    person.shell(&format!("chmod 644 {}", canary.path().display()));
    canary
}

#[track_caller]
fn lives(canary: &Canary) {
    use std::os::unix::fs::PermissionsExt as _;
    canary.lives();
    let found = std::fs::metadata(canary.path()).expect("it is there");
    assert_eq!(found.permissions().mode() & 0o777, 0o644);
}

fn lines(person: &Person) -> usize {
    let text = std::fs::read_to_string(person.work().join("led.jsonl"));
    text.expect("the ledger is there").lines().count()
}

#[track_caller]
fn refused(done: &Done, code: i32, why: &str) {
    assert_eq!(done.code, Some(code), "{done:?}");
    let said = [done.stdout.as_str(), &done.stderr].concat();
    assert!(said.contains(why), "{done:?}");
}

#[test]
fn a_command_puts_nothing_in_the_place_of_the_ledger() {
    let person = Person::new();
    let canary = outside(&person);
    let to = canary.path().display().to_string();
    let write = call(
        "write",
        serde_json::json!({ "path": "led.jsonl", "content": "mine" }),
    );
    let ended = person.run(&LEDGER, &[relink(&to), write, done()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    lives(&canary);
    assert_eq!(lines(&person), 6, "each request and each call is booked");
    let verified = person.bonded(&["verify", "run"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn a_called_agent_puts_nothing_there_either() {
    let person = Person::new();
    let canary = outside(&person);
    let agent = |text: &str| format!("---\ndescription: It works.\n{text}\n---\nDo it.");
    let home = person.home();
    person.write(home.join("child.ai"), agent("tools: run"));
    person.write(home.join("top.ai"), agent("agents: child.ai"));
    let asked = serde_json::json!({ "prompt": "go", "reason": "go", "format": "sub-agent" });
    let report = serde_json::json!({ "status": "success", "report_format": "sub-agent", "report_content": "done" });
    let to = canary.path().display().to_string();
    // Both play it from its beginning, and are refused the tools of the other.
    let script = person.script(&[
        call("agent__child", asked),
        relink(&to),
        call("agent__final_report", report.clone()),
        call("agent__final_report", report),
    ]);
    let top = home.join("top.ai").display().to_string();
    let words = ["run", "--id", "run", "--model", &script, "--agent", &top];
    let ended = person.bonded(&[&words[..], &LEDGER, &["go"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    lives(&canary);
    let ledger = person.work().join("led.jsonl");
    let found = std::fs::symlink_metadata(&ledger).expect("it is there");
    assert!(found.is_file(), "{ended:?}");
    // The command of the agent that was called is booked with what it said.
    let booked = std::fs::read_to_string(ledger).expect("it is text");
    assert!(booked.contains("cannot remove 'led.jsonl'"), "{booked}");
}

#[test]
fn a_ledger_that_became_a_link_is_not_written_through_and_makes_no_hook() {
    for to in ["../../outside/bashrc", ".git/hooks/pre-commit"] {
        let person = Person::new();
        let canary = outside(&person);
        person.make_dir(&person.work().join(".git/hooks"));
        // Whose sandbox is off may write the canary himself; the ledger must not do it for him.
        let flags = [&LEDGER[..], &["--sandbox", "full"]].concat();
        let ended = person.run(&flags, &[relink(to), done()]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let said = "warning: the ledger lacks accounts";
        assert!(ended.stderr.contains(said), "{ended:?}");
        assert!(ended.stderr.contains("a symbolic link"), "{ended:?}");
        let resumed = person.bonded(&["resume", "run"]);
        refused(&resumed, 4, "it is a symbolic link");
        let again = person.bonded(&["run", "--model", "script:none", LEDGER[0], LEDGER[1], "go"]);
        assert_ne!(again.code, Some(0), "{again:?}");
        lives(&canary);
        absent(person.work().join(".git/hooks/pre-commit"));
        person.shell("rm led.jsonl");
        let resumed = person.bonded(&["resume", "run"]);
        assert_eq!(resumed.code, Some(0), "{resumed:?}");
        assert_eq!(lines(&person), 4);
    }
}

#[test]
fn a_directory_that_became_a_link_keeps_nothing() {
    let flags = [
        "--billing-file",
        "books/led.jsonl",
        "--sessions-dir",
        "kept/here",
    ];
    let plant = "mv books b; mv kept k; ln -s ../../outside books; ln -s ../../outside kept; true";
    for full in [false, true] {
        let person = Person::new();
        person.make_dir(&person.path("outside"));
        let level = if full { "full" } else { "workspace-write" };
        let flags = [&flags[..], &["--sandbox", level]].concat();
        let ended = person.run(&flags, &[sh(plant), done()]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        // In the process that began it all goes where it was to go.
        let (books, kept) = if full { ("b", "k") } else { ("books", "kept") };
        let work = person.work();
        assert!(work.join(books).join("led.jsonl").is_file(), "{ended:?}");
        assert!(
            work.join(kept).join("here/run.json.gz").is_file(),
            "{ended:?}"
        );
        person.shell(plant);
        let resumed = person.bonded(&["resume", "run"]);
        refused(&resumed, 4, "books is a symbolic link");
        let named = person.run(&flags, &[done()]);
        refused(&named, 4, "books is a symbolic link");
        let script = person.script(&[done()]);
        let only = [
            "run",
            "--model",
            &script,
            "--sessions-dir",
            "kept/new",
            "go",
        ];
        let warned = person.bonded(&only);
        refused(&warned, 0, "kept is a symbolic link");
        let left = std::fs::read_dir(person.path("outside")).expect("it is there");
        assert_eq!(left.count(), 0, "{warned:?}");
    }
}

#[test]
fn a_name_of_another_file_is_not_written_either() {
    let person = Person::new();
    let canary = outside(&person);
    let made = person.shell("ln ../../outside/bashrc led.jsonl");
    assert_eq!(made.code, Some(0), "{made:?}");
    let ended = person.run(&LEDGER, &[done()]);
    refused(&ended, 4, "it has another name");
    lives(&canary);
}

/// A run whose ledger is then replaced by a pipe.
fn piped() -> Person {
    let person = Person::new();
    let ended = person.run(&LEDGER, &[sh("true"), done()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let made = person.shell("rm led.jsonl; mkfifo led.jsonl pipe.json");
    assert_eq!(made.code, Some(0), "{made:?}");
    person
}

#[test]
fn nobody_waits_at_a_pipe_in_the_place_of_what_is_kept() {
    let person = piped();
    let why = "it is not a regular file";
    refused(&person.bonded(&["verify", "run"]), 1, why);
    refused(&person.bonded(&["verify", "--all"]), 1, why);
    refused(&person.bonded(&["resume", "run"]), 4, why);
    refused(&person.run(&LEDGER, &[done()]), 4, why);
    for flag in ["--heads", "--key"] {
        refused(
            &person.bonded(&["verify", "run", flag, "pipe.json"]),
            4,
            why,
        );
    }
    refused(&person.bonded(&["verify", "./pipe.json"]), 4, why);
    let named = person.bonded(&["verify", "run", "--billing-file", "pipe.json"]);
    refused(&named, 1, why);
    person.make_dir(&person.work().join("kept"));
    person.shell("mkfifo kept/run.json.gz");
    let named = person.bonded(&["verify", "run", "--sessions-dir", "kept"]);
    refused(&named, 1, why);
}

#[test]
fn what_never_ends_fills_no_memory() {
    let person = piped();
    person.shell("rm led.jsonl pipe.json");
    symlink("/dev/zero", person.work().join("zero.json")).expect("a link can be made");
    let why = "it is not a regular file";
    for flag in ["--heads", "--key"] {
        refused(
            &person.bonded(&["verify", "run", flag, "zero.json"]),
            4,
            why,
        );
    }
    refused(&person.bonded(&["verify", "./zero.json"]), 4, why);
    // One line without an end, and far more than there is memory.
    let hole = std::fs::File::create(person.work().join("hole.json")).expect("it can be made");
    hole.set_len(1 << 42).expect("a file may have a hole");
    person.own(&person.work().join("hole.json"));
    let why = "it has more than";
    refused(
        &person.bonded(&["verify", "run", "--heads", "hole.json"]),
        4,
        why,
    );
    refused(&person.bonded(&["verify", "./hole.json"]), 4, why);
    let named = person.bonded(&["verify", "run", "--billing-file", "hole.json"]);
    refused(&named, 1, why);
    let ended = person.run(&["--billing-file", "hole.json"], &[done()]);
    refused(&ended, 4, why);
}

/// What a model says is written beside the store for a page that watches. The store lies where others write here, and they
/// say that they watch.
#[test]
fn what_a_model_says_is_not_written_through_what_others_put_beside_the_store() {
    for put in [
        "mkdir s.db.live; touch s.db.live/run.mark; ln -s $out/bashrc s.db.live/run.text",
        "mkdir s.db.live; touch s.db.live/run.mark; mkfifo s.db.live/run.text",
        "touch $out/run.mark; ln -s bashrc $out/run.text; ln -s $out s.db.live",
        "mkdir s.db.live; touch s.db.live/run.mark; ln $out/bashrc s.db.live/run.text",
    ] {
        let person = Person::new();
        let canary = outside(&person);
        let out = person.path("outside");
        let made = person.shell(&format!("set -e; out={}; {put}", out.display()));
        assert_eq!(made.code, Some(0), "{put}: {made:?}");
        let provider = Provider::start();
        provider.say([
            provider::streamed_text("Once upon a time", 1),
            provider::call("done", json!({ "reason": "told" })),
        ]);
        let url = provider.base_url();
        let words = [
            "run",
            "--id",
            "run",
            "--store",
            "s.db",
            "--model",
            "m",
            "--base-url",
        ];
        let ended = person.bonded(&[&words[..], &[&url, "Tell a story."]].concat());
        assert_eq!(ended.code, Some(0), "{put}: {ended:?}");
        lives(&canary);
    }
}
