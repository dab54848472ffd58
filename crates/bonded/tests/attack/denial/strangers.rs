//! Other users of the machine.

use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;

use super::server::{Server, question, report, write_agent};
use crate::person::Person;
use crate::witness::holds_no;

/// One request of somebody else on the machine, by a program of theirs.
fn asks(stranger: &Person, server: &Server, line: &str, headers: &str, body: &str) -> String {
    let (host, port) = server.address.split_once(':').expect("it has a port");
    let length = body.len();
    let script = format!(
        "import socket\n\
         s = socket.create_connection(('{host}', {port}))\n\
         s.sendall({:?}.encode())\n\
         print(s.makefile('rb').read().decode())\n",
        format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n{headers}\r\n{body}",
            server.address
        )
    );
    stranger.write(stranger.path("ask.py"), script);
    let path = stranger.path("ask.py").display().to_string();
    let done = stranger.shell(&format!("python3 {path}"));
    assert!(done.stdout.starts_with("HTTP/1.1 "), "{done:?}");
    done.stdout
}

#[test]
fn another_user_of_the_machine_gets_nothing_without_the_token() {
    let (person, stranger) = (Person::new(), Person::new());
    write_agent(&person, "agent", &[report("Because.")], "");
    let secret_run = person.run(&[], &[crate::person::done()]);
    assert_eq!(secret_run.code, Some(0), "{secret_run:?}");
    let server = Server::start(&person, &["agent"], &["--mcp"]);

    let chat = question("agent").to_string();
    let listed = r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"_meta":{}}}"#;
    let both = "Accept: application/json, text/event-stream\r\n";
    for (line, headers, body) in [
        ("GET /v1/models", "", ""),
        ("POST /v1/chat/completions", "", chat.as_str()),
        (
            "POST /v1/chat/completions",
            "Authorization: Bearer none\r\n",
            &chat,
        ),
        ("POST /v1/responses", "Authorization: Bearer \r\n", &chat),
        ("POST /mcp", both, listed),
        ("GET /mcp", both, ""),
    ] {
        let answer = asks(&stranger, &server, line, headers, body);
        assert!(answer.starts_with("HTTP/1.1 401 "), "{line}: {answer}");
        holds_no("bonded://runs/", &[&answer]);
    }
    let runs = person.bonded(&["runs", "--json"]).stdout;
    assert_eq!(runs.lines().count(), 1, "the stranger began none: {runs}");
}

#[test]
fn the_token_is_for_its_owner_and_lets_him_in_again_and_again() {
    let (person, stranger) = (Person::new(), Person::new());
    write_agent(&person, "agent", &[report("Because.")], "");
    let path = person.home().join(".local/share/bonded/serve-token");
    let mut tokens = vec![];
    for _ in 0..2 {
        let server = Server::start(&person, &["agent"], &[]);
        let token = std::fs::read_to_string(&path).expect("it was made");
        let token = token.trim().to_owned();
        assert!(token.len() >= 32, "{token}");
        assert_eq!(server.chat(&token, &question("agent")).status, 200);
        assert_eq!(server.chat("none", &question("agent")).status, 401);
        tokens.push(token);
    }
    assert_eq!(tokens[0], tokens[1]);
    let about = std::fs::metadata(&path).expect("it is there");
    assert_eq!(about.mode() & 0o077, 0);
    if rustix::process::geteuid().is_root() {
        let stolen = stranger.shell(&format!("cat {}", path.display()));
        holds_no(&tokens[0], &[&stolen.stdout]);
    }
    // Where others could have read it, it is none any more.
    let loosened = person.shell(&format!("chmod 644 {}", path.display()));
    assert_eq!(loosened.code, Some(0));
    let agent = person.path("agent.ai").display().to_string();
    let refused = person.bonded(&["serve", "--agent", &agent, "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("other users"), "{}", refused.stderr);
}

#[test]
fn a_server_without_a_token_is_what_somebody_asked_for_and_pages_do_not_reach_it() {
    let person = Person::new();
    write_agent(&person, "agent", &[report("Because.")], "");
    let agent = person.path("agent.ai").display().to_string();
    let beyond = [
        "serve",
        "--agent",
        &agent,
        "--listen",
        "0.0.0.0:0",
        "--no-token",
    ];
    let refused = person.bonded(&beyond);
    assert_eq!(refused.code, Some(4), "{refused:?}");

    let server = Server::start(&person, &["agent"], &["--no-token", "--mcp"]);
    assert_eq!(server.chat("", &question("agent")).status, 200);
    let evil = format!("Host: evil.example\r\nX-Real-Host: {}\r\n", server.address);
    let mut stream = server.connect();
    let asked = format!("GET /v1/models HTTP/1.1\r\n{evil}Connection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).expect("it can be sent");
    let reply = super::server::receive_one(&mut stream).expect("it is answered");
    assert_eq!(reply.status, 403, "{reply:?}");
    let origin = "Origin: http://evil.example\r\nAccept: application/json, text/event-stream\r\n";
    assert_eq!(server.ask("POST /mcp", origin, b"{}").status, 403);
    let text = "Content-Type: text/plain\r\n";
    let mut stream = server.connect();
    let body = question("agent").to_string();
    let asked = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\n{text}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    stream.write_all(asked.as_bytes()).expect("it can be sent");
    let reply = super::server::receive_one(&mut stream).expect("it is answered");
    assert_eq!(reply.status, 415, "{reply:?}");
}
