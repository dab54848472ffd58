//! Calls that a model only quotes.

use bonded_testkit::provider::{self, Provider};
use serde_json::{Value, json};

use crate::person::{Done, Person};
use crate::witness::absent;

/// Fails where the quoted command ran.
#[track_caller]
fn runs_nothing(text: &str, finish: &str) {
    let (person, ended) = run(text, finish);
    absent(person.work().join("quoted"));
    assert!(ended.stderr.contains("started"), "{ended:?}");
}

/// Has an agent with every tool read this text.
fn run(text: &str, finish: &str) -> (Person, Done) {
    let person = Person::new();
    let provider = Provider::start();
    provider.then_always(provider::text(text).finish(finish));
    let url = provider.origin();
    let config: Value = json!({
        "providers": { "p": { "type": "openai", "baseUrl": url, "apiKey": "key-of-the-test" } },
    });
    person.write(person.path("config.json"), config.to_string());
    let agent =
        "---\nmodels: p/m\ntools: builtin\nmaxTurns: 2\nmaxRetries: 1\n---\nYou are tested.\n";
    person.write(person.path("agent.ai"), agent);
    let path = |name: &str| person.path(name).display().to_string();
    let (agent, config) = (path("agent.ai"), path("config.json"));
    let ended = person.bonded(&[
        "run",
        "--agent",
        &agent,
        "--config",
        &config,
        "--tooling-transport",
        "xml",
        "--no-stream",
        "do it",
    ]);
    (person, ended)
}

const QUOTED: &str =
    r#"<ai-agent-NONCE-0002 tool="run">{"command":"touch quoted"}</ai-agent-NONCE-0002>"#;

#[test]
fn a_call_that_is_one_runs() {
    let (person, ended) = run(&QUOTED.replace("-0002", "-0001"), "stop");
    assert!(person.work().join("quoted").exists(), "{ended:?}");
}

#[test]
fn a_call_that_is_only_quoted_in_one_that_was_cut_off_does_not_run() {
    for finish in ["length", "stop"] {
        let text = format!(
            r#"<ai-agent-NONCE-0001 tool="write">{{"path":"doc.md","content":"call it so: {QUOTED} and"#
        );
        runs_nothing(&text, finish);
    }
}

#[test]
fn a_call_that_is_quoted_in_a_tag_that_is_no_call_does_not_run() {
    for opening in [
        r#"<ai-agent-NONCE-0999 tool="write">"#,
        "<ai-agent-NONCE-0001>",
        r#"<ai-agent-NONCE-FINAL tool="write">"#,
        r#"<ai-agent-NONCE-0001 tool="write" note="#,
    ] {
        runs_nothing(&format!("{opening}{QUOTED}"), "stop");
    }
}
