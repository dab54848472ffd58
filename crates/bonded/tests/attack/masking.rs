//! Secrets, and what is put in their place: nothing that is executed, written or asked is changed by it, and nothing
//! that is kept or shown holds one.

mod given;

use std::io::Read;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::person::{Done, Person, call, done, finish, sh, start};
use crate::witness::holds_no;

/// What people have in their environment under names that say secret, and what is none.
const WEAK: [&str; 26] = [
    "none",
    "EMPTY",
    "vllm",
    "ollama",
    "lm-studio",
    "changeme",
    "postgres",
    "password",
    "test",
    "localhost",
    "europe",
    "europe-west3",
    "us-east-1",
    "true",
    "12345678",
    "1234567890",
    "hunter2",
    "admin",
    "secret",
    "Password123",
    "root",
    "default",
    "no-key-required",
    "your-api-key-here",
    "--interactive=always",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
];

/// What was drawn, or at least chosen with care.
const STRONG: [&str; 24] = [
    "9f86d081884c7d659a2feaa0c55ad015",
    "550e8400-e29b-41d4-a716-446655440000",
    "xK9#mP2$vL5nQ8",
    "sk-proj-Zt7Qm2Lk9Xv4Rb8Wn3Yc6",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
    "qzjxkvwpmrtbnghlcd",
    "S3cr3tP4ssW0rd",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ3kV8pL1m",
    "Tr0ub4dor&3xQ9",
    "correct-horse-battery-staple-lamp",
    "AKIA4QZ7XW2MN9TRL5VB",
    "glpat-Xq2Zr7Lm4Tn9Wb5Vc1Yk",
    "hf_QwErTyZxCvBnMaSdFgHj12",
    "AIzaSyD4xQ7wE2rT9yU5iO1pA",
    "xoxb-2917364850-Zk7Qw3Rt9Yb",
    "npm_8KqW2nZ5tL9mX4vR7bJ1",
    "a8f5f167f44f4964e6c998dee827110c",
    "Zr4!tY8@uI2#oP6$",
    "kJ8vN2mQ5xW9",
    "7Gh2Kp9Lm4Qr6Tx",
    "p%22a/ss+W0rd9xQ",
    "rT5yU8iO1pA4sD7f",
    "gsk_Vb3Nm6Qw9Er2Ty5Ui8Op",
];

/// A person whose environment holds all of them.
fn with_all(command: &mut Command) {
    for (at, value) in WEAK.iter().enumerate() {
        command.env(format!("WEAK_{at}_PASSWORD"), value);
    }
    for (at, value) in STRONG.iter().enumerate() {
        command.env(format!("STRONG_{at}_TOKEN"), value);
    }
}

fn bonded(person: &Person, words: &[&str]) -> Done {
    let mut command = person.command(words);
    with_all(&mut command);
    finish(start(&mut command))
}

fn run(person: &Person, flags: &[&str], goal: &str, lines: &[Value]) -> Done {
    let script = person.script(lines);
    let mut words = vec!["run", "--id", "run", "--model", &script];
    words.extend(flags);
    words.push(goal);
    bonded(person, &words)
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Everything below a directory, with what is packed unpacked.
fn everything_below(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            everything_below(&path, found);
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap_or_default();
        if path.extension().is_some_and(|it| it == "gz") {
            let mut unpacked = vec![];
            let packed = Command::new("gzip").args(["-dc"]).arg(&path).output();
            let mut packed = &packed.expect("gzip is there").stdout[..];
            packed.read_to_end(&mut unpacked).expect("it is in memory");
            bytes = unpacked;
        }
        found.push((path.display().to_string(), bytes));
    }
}

/// Fails where anything that is kept holds a secret.
#[track_caller]
fn kept_without(person: &Person, secrets: &[&str]) {
    let mut kept = vec![];
    everything_below(&person.home().join(".local"), &mut kept);
    everything_below(&person.path("kept"), &mut kept);
    assert!(
        kept.iter().any(|(_, bytes)| bytes.len() > 1000),
        "a store was found"
    );
    for secret in secrets {
        let in_json = json!(secret).to_string();
        for form in [*secret, in_json.trim_matches('"')] {
            for (file, bytes) in &kept {
                let found = bytes
                    .windows(form.len())
                    .any(|part| part == form.as_bytes());
                assert!(!found, "{form} in {file}");
            }
        }
    }
}

#[test]
fn weak_values_in_the_environment_change_nothing_that_is_written_edited_or_run() {
    let person = Person::new();
    let text: String = WEAK.map(|value| format!("image: {value}:16\n")).concat();
    let shown: String = WEAK.map(|value| format!("a {value} b; ")).concat();
    let lines = [
        call("write", json!({ "path": "compose.yml", "content": text })),
        call("append", json!({ "path": "compose.yml", "content": shown })),
        call(
            "edit",
            json!({ "path": "compose.yml", "old": "image: postgres:16", "new": "image: changeme:17" }),
        ),
        sh(&format!("printf '%s\\n' '{shown}' > ran.txt")),
        call("done", json!({ "reason": text })),
    ];
    let ran = run(&person, &[], &shown, &lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = format!("{text}{shown}").replace("image: postgres:16", "image: changeme:17");
    assert_eq!(read(person.work().join("compose.yml")), expected);
    assert_eq!(read(person.work().join("ran.txt")), format!("{shown}\n"));
    assert_eq!(
        ran.stdout.trim_end(),
        text.trim_end(),
        "the answer is what was answered"
    );
    let log = bonded(&person, &["show", "run", "--json"]).stdout;
    assert!(!log.contains("[secret WEAK"), "{log}");
    assert!(
        log.contains(
            &format!("{:?}", shown.trim_end())
                .trim_matches('"')
                .to_owned()
        )
    );
}

#[test]
fn no_strong_value_is_kept_or_shown_whoever_says_it() {
    let person = Person::new();
    let all = STRONG.join(" | ");
    person.write(person.work().join("leak.txt"), format!("{all}\n"));
    let kept = person.path("kept");
    person.make_dir(&kept);
    let (bill, sessions) = (kept.join("bill.jsonl"), kept.join("sessions"));
    let flags = [
        "--billing-file",
        bill.to_str().expect("a path"),
        "--sessions-dir",
        sessions.to_str().expect("a path"),
    ];
    let lines = [
        json!({ "text": format!("I think {all}"), "reasoning": all, "signed": { "dialect": "x", "items": [all] }, "calls": [
            { "tool": "read", "arguments": { "path": "leak.txt" } },
            { "tool": "run", "arguments": { "command": "cat leak.txt; cat leak.txt >&2; exit 3" } },
            { "tool": "write", "arguments": { "path": "copy.txt", "content": all } },
            { "tool": "read", "arguments": { "path": format!("{}/x", STRONG[0]) } },
        ] }),
        json!({ "fail": "model", "message": format!("the provider says {all}") }),
        call("done", json!({ "reason": format!("found {all}") })),
    ];
    let ran = run(&person, &flags, &format!("use {all}"), &lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        read(person.work().join("copy.txt")),
        all,
        "what is written is what the model wrote"
    );
    let mut shown = vec![ran.stdout, ran.stderr];
    for words in [
        &["show", "run"][..],
        &["show", "run", "--json"],
        &["show", "run", "--turn", "1"],
        &["runs"],
        &["runs", "--json"],
        &["replay", "run"],
        &["verify", "run"],
        &["doctor"],
        &["config", "show"],
    ] {
        let told = bonded(&person, words);
        shown.extend([told.stdout, told.stderr]);
    }
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    for secret in STRONG {
        holds_no(secret, &shown);
    }
    kept_without(&person, &STRONG);
    let audit = bonded(&person, &["replay", "run"]);
    assert_eq!(audit.code, Some(0), "the log passes its audit: {audit:?}");
}

#[test]
fn a_strong_value_in_a_command_runs_as_it_was_written() {
    let person = Person::new();
    let secret = STRONG[2];
    let lines = [
        sh(&format!(
            "printf %s '{secret}' > out.txt; printf %s '{secret}' | wc -c > size.txt"
        )),
        done(),
    ];
    let ran = run(&person, &[], "go", &lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(read(person.work().join("out.txt")), secret);
    assert_eq!(
        read(person.work().join("size.txt")).trim(),
        secret.len().to_string()
    );
    kept_without(&person, &[secret]);
}

#[test]
fn an_edit_finds_a_strong_value_that_stands_in_the_file() {
    let person = Person::new();
    let secret = STRONG[0];
    person.write(person.work().join("env"), format!("KEY={secret}\n"));
    let lines = [
        call(
            "edit",
            json!({ "path": "env", "old": format!("KEY={secret}"), "new": "KEY=gone" }),
        ),
        done(),
    ];
    let ran = run(&person, &[], "go", &lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(read(person.work().join("env")), "KEY=gone\n");
}

#[test]
fn a_model_that_writes_the_name_of_a_secret_does_not_get_the_secret() {
    let person = Person::new();
    let lines = [sh("printf %s '[secret STRONG_0_TOKEN]' > out.txt"), done()];
    run(&person, &[], "go", &lines);
    assert_eq!(
        read(person.work().join("out.txt")),
        "[secret STRONG_0_TOKEN]"
    );
}

#[test]
fn a_value_is_hidden_as_a_whole_token_and_left_inside_of_a_longer_word() {
    let person = Person::new();
    // Hard enough to guess to be hidden, and short enough to stand inside of something else.
    let secret = "kJ8vN2mQ5xW9";
    let lines = [call(
        "done",
        json!({ "reason": format!("<{secret}> and {secret}") }),
    )];
    let ran = run(&person, &[], "go", &lines);
    assert!(!ran.stdout.contains(secret), "{ran:?}");
    assert_eq!(ran.stdout.matches("[secret STRONG_19_TOKEN]").count(), 2);
    let person = Person::new();
    let script = person.script(&[call(
        "done",
        json!({ "reason": "blue-horse-7 and blue-horse-78" }),
    )]);
    let mut command = person.command(&["run", "--id", "run", "--model", &script, "go"]);
    command.env("DOOR_PASSWORD", "blue-horse-7");
    let ran = finish(start(&mut command));
    assert!(ran.stdout.contains("blue-horse-78"), "{ran:?}");
}

#[test]
fn a_key_that_a_command_encodes_is_not_kept_either() {
    let person = Person::new();
    let secret = STRONG[0];
    person.write(person.work().join("leak.txt"), secret);
    let lines = [
        sh(
            "base64 leak.txt; printf 'user:%s' \"$(cat leak.txt)\" | base64 -w0; xxd -p -c 99 leak.txt || true",
        ),
        done(),
    ];
    let ran = run(&person, &[], "go", &lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let log = bonded(&person, &["show", "run", "--json"]).stdout;
    assert!(log.contains("[secret STRONG_0_TOKEN]"), "{log}");
    holds_no("OWY4NmQwODE4ODRjN2Q2NTlhMmZlYWEwYzU1YWQwMTU", &[&log]);
    // The same after five letters that stand before it.
    holds_no("ZjODZkMDgxODg0YzdkNjU5YTJmZWFhMGM1NWFkMDE1", &[&log]);
    holds_no("3966383664303831383834633764363539613266", &[&log]);
}

#[test]
fn a_call_with_a_secret_is_not_executed_with_its_name_after_a_crash() {
    let person = Person::new();
    let secret = STRONG[3];
    let script = person.script(&[
        json!({ "calls": [
            { "tool": "run", "arguments": { "command": "touch begun; sleep 60" } },
            { "tool": "write", "arguments": { "path": "after.txt", "content": secret } },
        ] }),
        done(),
    ]);
    let mut command = person.command(&["run", "--id", "run", "--model", &script, "go"]);
    with_all(&mut command);
    let mut child = start(&mut command);
    let began = std::time::Instant::now();
    while !person.work().join("begun").exists() {
        assert!(began.elapsed().as_secs() < 60, "the command has begun");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("a killed process ends");
    let resumed = bonded(&person, &["resume", "run"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    crate::witness::absent(person.work().join("after.txt"));
    let log = bonded(&person, &["show", "run", "--json"]).stdout;
    assert!(log.contains("secret_not_kept"), "{log}");
    let audit = bonded(&person, &["replay", "run"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
}

#[test]
fn doctor_names_what_is_too_weak_and_shows_none_of_it() {
    let person = Person::new();
    let mut command = person.command(&["doctor"]);
    command
        .env("DB_PASSWORD", "hunter2-x")
        .env("GOOD_TOKEN", STRONG[1]);
    let told = finish(start(&mut command));
    assert!(
        told.stdout.contains("DB_PASSWORD is too easy to guess"),
        "{told:?}"
    );
    assert!(!told.stdout.contains("GOOD_TOKEN"), "{told:?}");
    holds_no("hunter2-x", &[&told.stdout, &told.stderr]);
    holds_no(STRONG[1], &[&told.stdout, &told.stderr]);
}

#[test]
fn what_lies_in_an_env_file_is_hidden_only_if_it_was_drawn_or_is_called_a_secret() {
    let person = Person::new();
    person.write(
        person.home().join(".ai-agent/ai-agent.env"),
        format!(
            "REGION=europe-west3\nMODEL=text-embedding-3-small\nPLAIN={}\n",
            STRONG[1]
        ),
    );
    person.write(
        person.work().join(".ai-agent.env"),
        format!("REGION=europe\nDRAWN={}\n", STRONG[0]),
    );
    person.write(person.work().join(".ai-agent.json"), "{}");
    person.write(person.home().join(".ai-agent/ai-agent.json"), "{}");
    let said = format!(
        "europe, europe-west3, text-embedding-3-small, <{}> and <{}>",
        STRONG[0], STRONG[1]
    );
    let script = person.script(&[call("done", json!({ "reason": said }))]);
    let ran = person.bonded(&["run", "--trust", "--id", "run", "--model", &script, "go"]);
    assert_eq!(
        ran.stdout.trim_end(),
        "europe, europe-west3, text-embedding-3-small, <[secret DRAWN]> and <[secret PLAIN]>",
        "{ran:?}"
    );
    kept_without(&person, &[STRONG[0], STRONG[1]]);
}

#[test]
fn what_is_kept_can_be_read_by_its_owner_alone_under_any_umask() {
    let person = Person::new();
    let script = person.script(&[sh("echo hi"), done()]);
    let ran = person.shell(&format!(
        "umask 0; exec {} run --id run --model {script} --billing-file kept/bill.jsonl --sessions-dir sessions/in go",
        crate::person::program_dir().join("bonded").display()
    ));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let loose = person.shell("find ../.local kept sessions -perm /077");
    assert_eq!(loose.stdout, "", "{loose:?}");
    let there = person.shell("find kept/bill.jsonl sessions/in/*.gz");
    assert_eq!(there.stdout.lines().count(), 2, "{there:?}");
}

#[test]
fn a_ledger_that_others_could_read_is_closed_to_them() {
    let person = Person::new();
    person.write(person.work().join("bill.jsonl"), "");
    person.shell("chmod 666 bill.jsonl");
    person.run(&["--billing-file", "bill.jsonl"], &[done()]);
    let mode = person.shell("stat -c %a bill.jsonl");
    assert_eq!(mode.stdout.trim(), "600");
}
