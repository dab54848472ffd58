//! Tokens that a server chose: whoever runs it decides what text a person's login is from then on.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use super::read;
use crate::issuer::{Issuer, browse};
use crate::person::{Done, Person, call, finish, sh, start};
use crate::witness::Canary;

/// What others write every day, and what was drawn.
const WORDS: [&str; 5] = [
    "--interactive=always",
    "postgres",
    "the",
    "application/json",
    "text-embedding-3-small",
];
const DRAWN: &str = "9f86d081884c7d659a2feaa0c55ad015";

/// A person who logged in once, to a server that chose what its token is.
fn logged_in(token: &str) -> (Person, Issuer) {
    let issuer = Issuer::start();
    issuer.state().chosen = Some(token.to_owned());
    let person = Person::new();
    let config = json!({ "mcpServers": { "docs": { "url": issuer.url() } } });
    let file = person.home().join(".ai-agent/ai-agent.json");
    person.write(file, config.to_string());
    let agent = "---\ntools: [builtin, docs]\nmodels: script/x\n---\nBe brief.\n";
    person.write(person.home().join("mine.ai"), agent);
    let mut child = start(&mut person.command(&["login", "docs"]));
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut url = String::new();
    stdout.read_line(&mut url).expect("it prints an address");
    let page = browse(url.trim_end());
    assert!(page.contains("Logged in"), "{page}");
    let told = finish(child);
    assert_eq!(told.code, Some(0), "{told:?}");
    let kept = person.shell(&format!(
        "grep -rlF -e '{token}' ~/.local/share/bonded/tokens"
    ));
    assert_eq!(
        kept.stdout.lines().count(),
        1,
        "the login is that text: {kept:?}"
    );
    (person, issuer)
}

/// Calls that write, edit and run a text with the token in it.
fn using(token: &str) -> [Value; 3] {
    let written = json!({ "path": "written.txt", "content": text(token) });
    let (old, new) = (format!("<{token}>"), format!("<<{token}>>"));
    [
        call("write", written),
        call(
            "edit",
            json!({ "path": "there.txt", "old": old, "new": new }),
        ),
        sh(&format!(
            "printf '%s' '{}' > ran.txt; echo no | rm --interactive=always precious.txt",
            text(token)
        )),
    ]
}

fn text(token: &str) -> String {
    format!("image: {token}:16 {token}")
}

/// Fails where anything that was written, edited or run is not what the model wrote.
#[track_caller]
fn nothing_was_changed(person: &Person, token: &str, run: impl FnOnce() -> Done) -> Done {
    let work = person.work();
    let precious = Canary::put(person, work.join("precious.txt"), "precious");
    person.write(work.join("there.txt"), format!("<{token}>"));
    let ran = run();
    assert_eq!(ran.code, Some(0), "{token}: {ran:?}");
    assert_eq!(read(work.join("written.txt")), text(token));
    assert_eq!(read(work.join("ran.txt")), text(token));
    assert_eq!(read(work.join("there.txt")), format!("<<{token}>>"));
    precious.lives();
    person.shell("rm written.txt ran.txt");
    ran
}

/// A run that has nothing to do with the server.
#[track_caller]
fn plain_run_is_untouched(person: &Person, token: &str) {
    let answer = call("done", json!({ "reason": text(token) }));
    let lines = [&using(token)[..], &[answer]].concat();
    let ran = nothing_was_changed(person, token, || person.run(&[], &lines));
    assert_eq!(ran.stdout.trim_end(), text(token), "{ran:?}");
    let log = person.bonded(&["show", "run", "--json"]).stdout;
    assert!(
        log.contains(&text(token)) && !log.contains("[secret "),
        "{log}"
    );
}

/// A run that uses the server, which says its token. Gives the log.
#[track_caller]
fn run_with_the_server(person: &Person, token: &str) -> String {
    let report = json!({ "report_format": "pipe", "report_content": "said" });
    let (asks, ends) = (
        call("docs__token", json!({})),
        call("agent__final_report", report),
    );
    let script = person.script(&[&[asks], &using(token)[..], &[ends]].concat());
    let words = [
        "run",
        "--trust",
        "--id",
        "used",
        "--agent",
        "../mine.ai",
        "--tooling-transport",
        "native",
        "--model",
        &script,
        "go",
    ];
    nothing_was_changed(person, token, || person.bonded(&words));
    person.bonded(&["show", "used", "--json"]).stdout
}

#[test]
fn a_token_that_is_a_word_hides_that_word_nowhere() {
    for token in WORDS {
        let (person, issuer) = logged_in(token);
        let log = run_with_the_server(&person, token);
        assert!(log.contains(&format!("you sent {token}")), "{log}");
        assert!(!log.contains("[secret "), "{log}");
        plain_run_is_untouched(&person, token);
        drop(issuer);
    }
}

#[test]
fn a_token_that_was_drawn_is_hidden_from_what_is_kept_and_changes_nothing_that_runs() {
    let (person, _issuer) = logged_in(DRAWN);
    let log = run_with_the_server(&person, DRAWN);
    assert!(log.contains("you sent [secret "), "{log}");
    assert!(!log.contains(DRAWN), "{log}");
    // Who does not use the server has nothing of it.
    plain_run_is_untouched(&person, DRAWN);
}
