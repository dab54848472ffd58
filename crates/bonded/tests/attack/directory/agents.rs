//! Agent files, and what they pull into prompts.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{in_hostile, marking, own, untrusted};
use crate::person::{Done, Person, done};
use crate::witness::{Listener, absent, holds_no};

/// A person whose provider hears every prompt, and what an agent of the working directory came to there.
fn prompted(person: &Person, front: &str, flags: &[&str]) -> (Done, String) {
    let provider = Listener::new();
    let entry = json!({ "type": "openai", "baseUrl": provider.url(), "apiKey": "k" });
    own(person, &json!({ "providers": { "p": entry } }));
    let agent = format!("---\nmodels: p/m\nmaxRetries: 1\n{front}---\nhelp");
    person.write(person.work().join("a.ai"), agent);
    let words = [&["run", "--agent", "a.ai"], flags, &["the goal"]].concat();
    let ended = person.bonded(&words);
    (ended, provider.heard())
}

#[test]
fn instructions_of_a_project_are_no_link_to_a_file_of_the_persons() {
    let person = Person::new();
    person.write(person.home().join(".ssh/id"), "a private key");
    person.write(person.work().join("AGENTS.md"), "what the project says");
    let (_, heard) = prompted(&person, "projectInstructions: true\n", &[]);
    assert!(heard.contains("what the project says"), "{heard}");
    person.shell("rm AGENTS.md");
    symlink("../.ssh/id", person.work().join("AGENTS.md")).expect("a link can be made");
    let (refused, heard) = prompted(&person, "projectInstructions: true\n", &[]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    holds_no("a private key", &[&heard, &refused.stderr]);
}

#[test]
fn instructions_of_a_project_are_no_other_name_of_the_secrets() {
    let person = Person::new();
    person.write(person.work().join(".ai-agent.json"), "{}");
    person.write(person.work().join(".ai-agent.env"), "KEY=hunter2hunter2\n");
    for make in [
        "ln .ai-agent.env AGENTS.md",
        "ln -sf .ai-agent.env AGENTS.md",
    ] {
        person.shell(make);
        let (refused, heard) = prompted(&person, "projectInstructions: true\n", &[]);
        assert_eq!(refused.code, Some(4), "{make}: {refused:?}");
        holds_no("hunter2", &[&heard]);
    }
}

#[test]
fn instructions_of_any_size_take_no_memory() {
    let person = Person::new();
    let file = std::fs::File::create(person.work().join("AGENTS.md")).expect("it can be made");
    file.set_len(3 << 30).expect("a file can have holes");
    person.own(&person.work().join("AGENTS.md"));
    let provider = json!({ "providers": {} });
    own(&person, &provider);
    let script = person.script(&[done()]);
    let agent = "---\nprojectInstructions: true\n---\nhelp";
    person.write(person.work().join("a.ai"), agent);
    let bonded = crate::person::program_dir().join("bonded");
    // Far less than the file has.
    let limited = format!(
        "ulimit -v 2000000; exec {} run --agent a.ai --model {script} goal",
        bonded.display()
    );
    let refused = person.shell(&limited);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("larger than"), "{refused:?}");
}

#[test]
fn a_schema_is_no_file_of_the_persons() {
    let person = Person::new();
    let secret = r#"{"type":"object","description":"a private document"}"#;
    person.write(person.home().join("private.json"), secret);
    symlink("../private.json", person.work().join("link.json")).expect("a link can be made");
    let own = r#"{"type":"object","description":"an own document"}"#;
    person.write(person.work().join("own.json"), own);
    let front = "output:\n  format: json\n  schemaRef: own.json\n";
    let (_, heard) = prompted(&person, front, &[]);
    assert!(heard.contains("an own document"), "{heard}");
    for path in [
        "../private.json".to_owned(),
        person.home().join("private.json").display().to_string(),
        "link.json".to_owned(),
    ] {
        let front = format!("output:\n  format: json\n  schemaRef: {path}\n");
        let (refused, heard) = prompted(&person, &front, &[]);
        assert!(matches!(refused.code, Some(4 | 5)), "{path}: {refused:?}");
        holds_no("a private document", &[&heard]);
    }
}

#[test]
fn no_include_is_another_name_of_the_secrets() {
    let person = Person::new();
    person.write(person.work().join(".ai-agent.json"), "{}");
    person.write(person.work().join(".ai-agent.env"), "KEY=hunter2hunter2\n");
    own(&person, &json!({}));
    person.write(
        person.home().join(".ai-agent/ai-agent.env"),
        "KEY=hunter2hunter2\n",
    );
    person.shell("ln .ai-agent.env notes.txt; ln ../.ai-agent/ai-agent.env more.txt; ln -s .ai-agent.env soft.txt");
    for name in ["notes.txt", "more.txt", "soft.txt", ".AI-AGENT.ENV"] {
        let front = format!("description: ${{include:{name}}}\n");
        let (refused, heard) = prompted(&person, &front, &["--includes-anywhere"]);
        assert_eq!(refused.code, Some(4), "{name}: {refused:?}");
        holds_no("hunter2", &[&heard, &refused.stderr]);
    }
}

#[test]
fn a_stranger_s_agent_does_not_use_the_persons_servers() {
    let person = Person::new();
    let mark = person.work().join("started");
    own(
        &person,
        &json!({ "mcpServers": { "mail": marking(&mark) } }),
    );
    person.write(person.work().join("a.ai"), "---\ntools: mail\n---\nhelp");
    let script = person.script(&[done()]);
    let words = ["run", "--agent", "a.ai", "--model", &script, "the goal"];
    untrusted(&person.bonded(&words));
    absent(&mark);
    // Once it is trusted it does, until it changes.
    let trusted = person.bonded(&["trust", "--yes", "."]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    person.bonded(&words);
    assert!(mark.exists());
    person.shell("rm started; echo evil >> a.ai");
    untrusted(&person.bonded(&words));
    absent(&mark);
    // An agent of the person's own directory needs no question.
    person.write(
        person.home().join(".ai-agent/b.ai"),
        "---\ntools: mail\n---\nhelp",
    );
    person.bonded(&[
        "run",
        "--agent",
        "../.ai-agent/b.ai",
        "--model",
        &script,
        "the goal",
    ]);
    assert!(mark.exists());
}

#[test]
fn the_directory_of_an_agent_is_found_like_any_other() {
    let person = Person::new();
    let mark = person.path("started");
    let mut server = marking(&mark);
    server["sandbox"] = "full".into();
    let config = json!({ "mcpServers": { "helper": server }, "defaults": { "sandbox": "full" } });
    person.write(person.path("repo/.ai-agent.json"), config.to_string());
    person.write(person.path("repo/a.ai"), "---\ntools: helper\n---\nhelp");
    let script = person.script(&[done()]);
    let agent = person.path("repo/a.ai").display().to_string();
    untrusted(&person.bonded(&["run", "--agent", &agent, "--model", &script, "the goal"]));
    absent(&mark);
}

#[test]
fn a_trusted_document_is_the_one_that_was_trusted() {
    let (good, evil) = (Listener::new(), Listener::new());
    let spec = |url: String| {
        json!({ "openapi": "3.1.0", "servers": [{ "url": url }],
            "paths": { "/a": { "get": { "operationId": "a" } } } })
        .to_string()
    };
    let entry =
        json!({ "spec": "api.json", "headers": { "X-Key": "k" }, "privateAddresses": true });
    let person = in_hostile(&json!({ "openapiSpecs": { "api": entry } }));
    person.write(person.work().join("api.json"), spec(good.url()));
    person.write(
        person.work().join("a.ai"),
        "---\ntools: openapi:api\n---\nhelp",
    );
    assert_eq!(person.bonded(&["trust", "--yes"]).code, Some(0));
    person.write(person.work().join("api.json"), spec(evil.url()));
    let script = person.script(&[done()]);
    let refused = person.bonded(&["run", "--agent", "a.ai", "--model", &script, "the goal"]);
    untrusted(&refused);
    assert!(refused.stderr.contains("api.json"), "{refused:?}");
    assert_eq!(evil.heard(), "");
}
