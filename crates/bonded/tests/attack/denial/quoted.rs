//! Calls that a model only quotes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

use crate::person::{Done, Person};
use crate::witness::absent;

/// A provider that says the same text to every request, with the mark of the run's tags put in.
fn provider(text: &str, finish: &str) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", socket.local_addr().expect("it is bound"));
    let (text, finish) = (text.to_owned(), finish.to_owned());
    thread::spawn(move || {
        for mut client in socket.incoming().flatten() {
            answer(&mut client, &text, &finish);
        }
    });
    url
}

fn answer(client: &mut TcpStream, text: &str, finish: &str) {
    let mut asked = vec![];
    let mut piece = [0; 65_536];
    let is_whole = |asked: &[u8]| {
        let asked = String::from_utf8_lossy(asked);
        let length = asked.to_ascii_lowercase();
        let length = length.split("content-length: ").nth(1);
        let length = length.and_then(|it| it.split("\r\n").next()?.parse::<usize>().ok());
        asked
            .split_once("\r\n\r\n")
            .is_some_and(|(_, body)| body.len() >= length.unwrap_or(0))
    };
    while !is_whole(&asked) {
        match client.read(&mut piece) {
            Ok(read) if read > 0 => asked.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
    let asked = String::from_utf8_lossy(&asked).into_owned();
    let nonces = asked.split("ai-agent-").filter_map(|rest| rest.get(..8));
    let mut nonces = nonces.filter(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let nonce = nonces.next().unwrap_or("00000000");
    let said = text.replace("NONCE", nonce);
    let body = json!({
        "id": "x", "object": "chat.completion", "model": "m",
        "choices": [{ "index": 0, "finish_reason": finish,
                      "message": { "role": "assistant", "content": said } }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1 },
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let _gone = client.write_all(format!("{head}{body}").as_bytes());
}

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
    let url = provider(text, finish);
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
