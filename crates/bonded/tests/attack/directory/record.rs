//! The record of what is trusted.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{ended, in_hostile, marking, untrusted};
use crate::person::{Person, call, done, sh};
use crate::terminal::{answering, at_terminal};
use crate::witness::{Canary, absent, rounds};

fn wanting() -> Person {
    in_hostile(&json!({ "defaults": { "sandboxNetwork": true } }))
}

#[test]
fn what_is_trusted_is_a_content_and_not_a_place() {
    let person = wanting();
    let trusted = person.bonded(&["trust", "--yes"]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    let good = person.run(&[], &[done()]);
    assert_eq!(good.code, Some(0), "{good:?}");
    let record = person.home().join(".config/bonded/trust.json");
    let mode = |path: &Path| {
        let about = std::fs::metadata(path).expect("it is there");
        about.permissions().mode() & 0o777
    };
    assert_eq!(mode(&record), 0o600);
    assert_eq!(mode(&person.home().join(".config/bonded")), 0o700);
    // Another content, also of the file beside it, is another thing.
    person.write(person.work().join(".ai-agent.env"), "A=b\n");
    let changed = person.run(&[], &[done()]);
    untrusted(&changed);
    assert!(
        changed.stderr.contains("changed since it was trusted"),
        "{changed:?}"
    );
    assert!(changed.stderr.contains(".ai-agent.env"), "{changed:?}");
    person.shell("rm .ai-agent.env");
    assert!(
        person
            .bonded(&["trust", "--list"])
            .stdout
            .contains(".ai-agent.json")
    );
    person.bonded(&["trust", "--revoke"]);
    untrusted(&person.run(&[], &[done()]));
}

#[test]
fn nobody_is_asked_where_nobody_can_answer() {
    let person = wanting();
    let refused = person.bonded(&["trust"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    untrusted(&person.run(&[], &[done()]));
}

/// What a person is asked at a terminal, and what each answer does: a server that starts leaves a mark.
#[test]
fn at_a_terminal_each_answer_to_the_question_does_what_it_says() {
    for (answer, starts, asks_again) in [("t", true, false), ("w", false, true), ("s", false, true)]
    {
        let person = Person::new();
        let mark = person.work().join("started");
        let config = json!({ "mcpServers": { "helper": marking(&mark) } });
        person.write(person.work().join(".ai-agent.json"), config.to_string());
        person.write(
            person.work().join("one.ai"),
            "---\ntools: helper\nmodels: script/x\n---\nBe brief.\n",
        );
        let script = person.script(&[done()]);
        let words = ["run", "--agent", "one.ai", "--model", &script, "go"];
        let sent = at_terminal(&mut person.command(&words), "[t] trust it", answer);
        assert!(
            sent.text.contains("started"),
            "what it would start: {sent:?}"
        );
        assert_eq!(mark.exists(), starts, "{answer}: {sent:?}");
        let refused = person.bonded(&words).stderr.contains("error[untrusted]");
        assert_eq!(refused, asks_again, "{answer}");
    }
}

/// A directory whose configuration starts one server, and a file with another one to put in its place.
struct Changing {
    person: Person,
    shown: PathBuf,
    hidden: PathBuf,
}

impl Changing {
    fn new() -> Self {
        let person = Person::new();
        let (shown, hidden) = (
            person.work().join("mark-of-shown"),
            person.work().join("mark-of-hidden"),
        );
        let agent = "---\ntools: helper\nmodels: script/x\n---\nBe brief.\n";
        person.write(person.work().join("one.ai"), agent);
        for (name, mark) in [("shown.json", &shown), ("hidden.json", &hidden)] {
            let config = json!({ "mcpServers": { "helper": marking(mark) } });
            person.write(person.path(name), config.to_string());
        }
        let changing = Self {
            person,
            shown,
            hidden,
        };
        put(&changing.person.path("shown.json"), &changing.config());
        changing
    }

    fn config(&self) -> PathBuf {
        self.person.work().join(".ai-agent.json")
    }

    fn run(&self) -> Command {
        let script = self.person.script(&[done()]);
        let words = ["run", "--agent", "one.ai", "--model", &script, "go"];
        self.person.command(&words)
    }
}

/// Puts a copy of a file in the place of another, as whole as a rename makes it. The copy is made elsewhere: what appears
/// beside a configuration while a server runs is taken for the server's and put aside.
fn put(from: &Path, to: &Path) {
    let beside = from.with_extension("new");
    std::fs::copy(from, &beside).expect("it can be copied");
    std::fs::rename(beside, to).expect("it can be renamed");
}

/// Nobody goes on for longer, also where a test has failed.
const PATIENCE: Duration = Duration::from_secs(90);

/// Each way of trusting at a terminal: the words that it takes, the question, and the answer that trusts.
const TRUSTING: [(bool, &str, &str); 2] = [
    (true, "[t] trust it", "t"),
    (false, "trust this? [y/N]", "y"),
];

#[test]
fn what_changes_between_the_question_and_the_answer_is_not_trusted() {
    for (runs, question, answer) in TRUSTING {
        let it = Changing::new();
        let (hidden, config) = (it.person.path("hidden.json"), it.config());
        let mut command = match runs {
            true => it.run(),
            false => it.person.command(&["trust"]),
        };
        let sent = answering(&mut command, question, move |_| {
            put(&hidden, &config);
            answer.to_owned()
        });
        let (before, _) = sent.text.split_once(question).expect("it is asked");
        assert!(before.contains("mark-of-shown"), "{sent:?}");
        assert!(!before.contains("mark-of-hidden"), "{sent:?}");
        absent(&it.hidden);
        untrusted(&ended(&mut it.run()));
        absent(&it.hidden);
        put(&it.person.path("shown.json"), &it.config());
        ended(&mut it.run());
        assert!(it.shown.exists(), "what was shown is trusted");
        absent(&it.hidden);
    }
}

/// Somebody puts one configuration in the place of the other all the time, while it is read, shown, asked about and
/// run. A person who trusts the one that he is shown never runs the other.
#[test]
fn what_changes_all_the_time_is_what_was_shown_or_is_not_run() {
    // Until each of them was shown once.
    let (mut trusted, mut refused) = (0, 0);
    for round in 0.. {
        if round >= rounds(4).min(40) && trusted > 0 && refused > 0 {
            break;
        }
        assert!(round < 100, "one of them is never shown");
        let (runs, question, answer) = TRUSTING[round % 2];
        let it = Changing::new();
        let over = AtomicBool::new(false);
        let is_trusted = std::thread::scope(|scope| {
            scope.spawn(|| {
                let began = Instant::now();
                while !over.load(Ordering::Relaxed) && began.elapsed() < PATIENCE {
                    put(&it.person.path("hidden.json"), &it.config());
                    put(&it.person.path("shown.json"), &it.config());
                }
            });
            let mut command = match runs {
                true => it.run(),
                false => it.person.command(&["trust"]),
            };
            let (tell, told) = channel();
            answering(&mut command, question, move |shown| {
                let is_good = !shown.contains("mark-of-hidden");
                tell.send(is_good).expect("somebody waits for it");
                if is_good { answer } else { "s" }.to_owned()
            });
            // Trusted or not, what comes now was read anew.
            for _ in 0..2 {
                ended(&mut it.run());
            }
            over.store(true, Ordering::Relaxed);
            told.recv().unwrap_or(false)
        });
        absent(&it.hidden);
        put(&it.person.path("hidden.json"), &it.config());
        untrusted(&ended(&mut it.run()));
        absent(&it.hidden);
        put(&it.person.path("shown.json"), &it.config());
        ended(&mut it.run());
        assert_eq!(it.shown.exists(), is_trusted, "what was shown is trusted");
        trusted += usize::from(is_trusted);
        refused += usize::from(!is_trusted);
    }
}

#[test]
fn a_damaged_record_trusts_nothing_and_is_not_overwritten() {
    let person = wanting();
    assert_eq!(person.bonded(&["trust", "--yes"]).code, Some(0));
    let record = person.home().join(".config/bonded/trust.json");
    for damage in [
        "{\"version\":1,\"trusted\":{",
        "",
        "[]",
        "{\"version\":9,\"trusted\":{}}",
    ] {
        let canary = Canary::put(&person, &record, damage);
        let script = person.script(&[done()]);
        let refused = person.bonded(&["run", "--model", &script, "the goal"]);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert!(refused.stderr.contains("damaged"), "{refused:?}");
        for words in [
            &["trust", "--yes"][..],
            &["trust", "--list"],
            &["trust", "--revoke"],
        ] {
            let refused = person.bonded(words);
            assert_eq!(refused.code, Some(4), "{refused:?}");
            assert!(
                refused.stderr.contains("error[trust-record]"),
                "{refused:?}"
            );
        }
        canary.lives();
        let once = person.bonded(&["run", "--trust", "--model", &script, "the goal"]);
        assert_eq!(once.code, Some(0), "{once:?}");
    }
}

#[test]
fn a_record_that_others_may_write_trusts_nothing() {
    let person = wanting();
    assert_eq!(person.bonded(&["trust", "--yes"]).code, Some(0));
    person.shell("chmod 666 ~/.config/bonded/trust.json");
    let script = person.script(&[done()]);
    let refused = person.bonded(&["run", "--model", &script, "the goal"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("others may write it"),
        "{refused:?}"
    );
}

#[test]
fn without_a_home_nothing_is_trusted_and_that_is_said() {
    let person = wanting();
    let script = person.script(&[done()]);
    let store = person.path("store.db").display().to_string();
    let run = |flags: &[&str]| {
        let words = [
            &["--store", &store, "run"],
            flags,
            &["--model", &script, "goal"],
        ]
        .concat();
        let mut command = person.command(&words);
        command.env_remove("HOME");
        ended(&mut command)
    };
    let refused = run(&[]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    let once = run(&["--trust"]);
    assert_eq!(once.code, Some(0), "{once:?}");
    let mut command = person.command(&["trust", "--yes"]);
    command.env("HOME", "");
    let refused = ended(&mut command);
    assert_eq!(refused.code, Some(4), "{refused:?}");
}

#[test]
fn a_home_that_cannot_be_written_is_said() {
    let person = wanting();
    person.write(person.home().join(".config"), "no directory");
    let refused = person.bonded(&["trust", "--yes"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("error[trust-record]"),
        "{refused:?}"
    );
}

#[test]
fn a_configuration_that_is_a_link_does_not_count() {
    let person = Person::new();
    let config = json!({ "defaults": { "sandbox": "full" } });
    person.write(person.path("repo/.ai-agent.json"), config.to_string());
    person.bonded(&["trust", "--yes", &person.path("repo").display().to_string()]);
    person.shell("ln -s ../../repo/.ai-agent.json .ai-agent.json");
    let outside = person.path("made");
    let attempt = format!("echo evil > {}", outside.display());
    for flags in [&[][..], &["--trust"]] {
        let refused = person.run(flags, &[sh(&attempt), done()]);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert!(refused.stderr.contains("symbolic link"), "{refused:?}");
        absent(&outside);
    }
}

#[test]
fn no_agent_writes_the_record() {
    let person = Person::new();
    let record = person.home().join(".config/bonded/trust.json");
    let forged = json!({ "version": 1, "trusted": {} }).to_string();
    let canary = Canary::put(&person, &record, &forged);
    let command =
        "echo x > ~/.config/bonded/trust.json; rm -rf ~/.config/bonded; mv ~/.config ~/gone";
    let write = |path: &str| call("write", json!({ "path": path, "content": "x" }));
    let lines = [
        sh(command),
        write(".config/bonded/trust.json"),
        write("../.config/bonded/trust.json"),
        write(&record.display().to_string()),
        done(),
    ];
    let script = person.script(&lines);
    let home = person.home().display().to_string();
    for dir in [".", &home] {
        let ended = person.bonded(&["run", "-C", dir, "--model", &script, "the goal"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        canary.lives();
    }
}
