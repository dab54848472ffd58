//! One client of a server against another: token B against token A.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Reply, Server, never, question, raise_descriptors, report, write_agent};
use crate::person::{Person, call};
use crate::witness::holds_no;

const BOTH: [&str; 4] = ["--token", "alpha", "--token", "beta"];

/// A message of MCP from whoever has this token.
fn speak(server: &Server, token: &str, session: Option<&str>, message: &Value) -> Reply {
    let session = session.map_or_else(String::new, |id| format!("Mcp-Session-Id: {id}\r\n"));
    let headers = format!(
        "Authorization: Bearer {token}\r\nAccept: application/json, text/event-stream\r\n{session}"
    );
    server.ask("POST /mcp", &headers, message.to_string().as_bytes())
}

fn greet(server: &Server, token: &str) -> String {
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {},
                    "clientInfo": { "name": "attack", "version": "1" } },
    });
    let reply = speak(server, token, None, &hello);
    let id = reply.header("mcp-session-id");
    id.unwrap_or_else(|| panic!("{reply:?}")).to_owned()
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params })
}

#[test]
fn the_requests_of_one_token_use_up_none_of_anothers_places() {
    let person = Person::new();
    write_agent(&person, "slow", &[never()], "");
    write_agent(&person, "agent", &[report("Because.")], "");
    let flags = [&BOTH[..], &["--concurrency", "2"]].concat();
    let server = Server::start(&person, &["slow", "agent"], &flags);
    let _waiting = server.fill("beta", &question("slow"));
    for _ in 0..3 {
        let began = Instant::now();
        let reply = server.chat("alpha", &question("agent"));
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn eleven_hundred_sessions_of_one_token_end_none_of_anothers() {
    let person = Person::new();
    write_agent(&person, "agent", &[report("Because.")], "");
    let server = Server::start(&person, &["agent"], &[&BOTH[..], &["--mcp"]].concat());
    let session = greet(&server, "alpha");
    for _ in 0..1100 {
        greet(&server, "beta");
    }
    let reply = speak(
        &server,
        "alpha",
        Some(&session),
        &request("ping", &json!({})),
    );
    assert_eq!(reply.status, 200, "{reply:?}");
    let stolen = speak(
        &server,
        "beta",
        Some(&session),
        &request("ping", &json!({})),
    );
    assert_eq!(stolen.status, 404, "{stolen:?}");
}

/// As many streams as a server has connections, all of them asked for by somebody who may ask.
#[test]
fn the_streams_of_one_token_take_not_all_connections() {
    let person = Person::new();
    write_agent(&person, "agent", &[report("Because.")], "");
    let server = Server::start(&person, &["agent"], &[&BOTH[..], &["--mcp"]].concat());
    raise_descriptors();
    let mut streams = vec![];
    for _ in 0..1024 {
        let session = greet(&server, "beta");
        let mut stream = server.connect();
        let headers = format!(
            "Authorization: Bearer beta\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n"
        );
        server.send(&mut stream, "GET /mcp", &headers, b"");
        streams.push(stream);
    }
    let began = Instant::now();
    let reply = server.chat("alpha", &question("agent"));
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(began.elapsed() < Duration::from_secs(30));
}

/// The directories of clients below the working directory.
fn directories(person: &Person) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(person.work()).expect("it is there");
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

#[test]
fn the_runs_of_one_token_do_not_find_the_files_of_another() {
    let person = Person::new();
    let write = json!({ "path": "note.txt", "content": "alpha's own words" });
    let lines = [call("write", write), report("Written.")];
    write_agent(&person, "writer", &lines, "tools: builtin");
    let search =
        "cat note.txt ../note.txt ../*/note.txt; ls -R .. ; find / -name note.txt 2>/dev/null";
    let lines = [
        call("read", json!({ "path": "note.txt" })),
        call("run", json!({ "command": search })),
        report("Looked."),
    ];
    write_agent(&person, "reader", &lines, "tools: builtin");
    let server = Server::start(&person, &["writer", "reader"], &BOTH);
    let written = server.chat("alpha", &question("writer"));
    assert_eq!(written.status, 200, "{written:?}");
    let looked = server.chat("beta", &question("reader"));
    assert_eq!(looked.status, 200, "{looked:?}");
    let run = looked
        .header("x-bonded-run")
        .expect("it is named")
        .to_owned();

    let directories = directories(&person);
    assert_eq!(directories.len(), 2, "{directories:?}");
    let with_note = directories
        .iter()
        .filter(|dir| dir.join("note.txt").exists());
    assert_eq!(with_note.count(), 1);
    assert!(!person.work().join("note.txt").exists());
    let shown = person.bonded(&["show", &run, "--json"]).stdout;
    assert!(shown.contains("tool_finished"), "{shown}");
    holds_no("alpha's own words", &[&shown]);
}

#[test]
fn clients_share_a_directory_where_the_person_says_so() {
    let person = Person::new();
    let write = json!({ "path": "note.txt", "content": "for all" });
    let lines = [call("write", write), report("Written.")];
    write_agent(&person, "writer", &lines, "tools: builtin");
    let server = Server::start(
        &person,
        &["writer"],
        &[&BOTH[..], &["--shared-dir"]].concat(),
    );
    assert_eq!(server.chat("alpha", &question("writer")).status, 200);
    assert!(person.work().join("note.txt").exists());
    assert_eq!(directories(&person), Vec::<PathBuf>::new());
}

#[test]
fn the_runs_of_one_token_are_not_shown_to_another() {
    let person = Person::new();
    write_agent(&person, "agent", &[report("Because.")], "");
    let own = person.run(&[], &[crate::person::done()]);
    assert_eq!(own.code, Some(0), "{own:?}");
    let server = Server::start(&person, &["agent"], &[&BOTH[..], &["--mcp"]].concat());
    let asked = server.chat("alpha", &question("agent"));
    let run = asked
        .header("x-bonded-run")
        .expect("it is named")
        .to_owned();
    let uri = format!("bonded://runs/{run}");

    for (token, sees) in [("alpha", true), ("beta", false)] {
        let session = greet(&server, token);
        let ask = |method: &str, params: Value| {
            let reply = speak(&server, token, Some(&session), &request(method, &params));
            reply.json()
        };
        let listed = ask("resources/list", json!({})).to_string();
        assert_eq!(listed.contains(&run), sees, "{listed}");
        let all = ask("resources/read", json!({ "uri": "bonded://runs" })).to_string();
        assert_eq!(all.contains(&run), sees, "{all}");
        holds_no("bonded://runs/run\"", &[&listed]);
        for (method, uri) in [
            ("resources/read", uri.as_str()),
            ("resources/subscribe", &uri),
        ] {
            let answer = ask(method, json!({ "uri": uri }));
            assert_eq!(answer.get("result").is_some(), sees, "{method}: {answer}");
        }
        let persons = ask("resources/read", json!({ "uri": "bonded://runs/run" }));
        assert!(persons.get("error").is_some(), "{persons}");
    }
}
