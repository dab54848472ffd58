//! Servers that queue the runs of their clients, which workers on other machines drive.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use bonded_testkit::http::{self, Reply};
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call, never, of_kind, parse, report, with};
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::shop::Shop;

const CHAT: &str = "POST /v1/chat/completions";
const LEASE_MS: u64 = 2_000;

fn echo(text: &str) -> Value {
    call("run", json!({ "command": format!("echo {text} >> ran") }))
}

/// Serves the agent of the shop, whose runs wait in the queue `web`.
fn serve(shop: &Shop, flags: &[&str]) -> (Process, String) {
    let agent = shop.place.path("agent.ai").display().to_string();
    let words = ["serve", "--agent", &agent, "--listen", "127.0.0.1:0"];
    let usual = ["--queue", "web", "--tooling-transport", "native"];
    let words = [&words[..], &usual, flags].concat();
    Process::serve(&mut shop.place.command(&words))
}

/// A machine that shares nothing with the server but the store and the directories.
fn elsewhere(shop: &Shop) -> Place {
    Place::with_store(&shop.place.store())
}

fn worker(of: &Place) -> Process {
    let worker = Process::begin(&mut of.command(&["worker", "--queue", "web"]));
    worker.wait_until_told("worker of web");
    worker
}

fn begin(address: &str, headers: &str, body: &Value) -> TcpStream {
    let headers = format!("Connection: close\r\nContent-Type: application/json{headers}");
    let head = http::head(address, CHAT, &headers);
    http::send(address, &head, body.to_string().as_bytes())
}

fn ask(address: &str, headers: &str, body: &Value) -> Reply {
    http::receive(begin(address, headers, body))
}

fn question() -> Value {
    json!({ "model": "agent", "messages": [{ "role": "user", "content": "why?" }] })
}

fn run_of(reply: &Reply) -> String {
    reply
        .header("x-bonded-run")
        .expect("the run is named")
        .to_owned()
}

#[test]
fn the_answer_of_a_queued_run_comes_from_a_worker_on_another_machine() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let lines = [echo("once"), report("Because.")];
    shop.place.agent("agent", &lines, "tools: run");
    let (server, address) = serve(&shop, &["--token", "one,two", "--shared-dir"]);
    let of = |token: &str| format!("\r\nAuthorization: Bearer {token}");
    let mut streamed = question();
    streamed["stream"] = json!(true);
    streamed["stream_options"] = json!({ "include_progress": true });
    let whole = begin(&address, &of("one"), &question());
    let pieces = begin(&address, &of("two"), &streamed);
    let queued = "SELECT count(*) FROM bonded.drive WHERE state = 0";
    wait_until("both are queued", || shop.database.sql(queued) == "2");
    let there = elsewhere(&shop);
    let worker = worker(&there);
    let whole = http::receive(whole);
    let answer = &whole.is(200)["choices"][0]["message"]["content"];
    assert_eq!(answer, "Because.");
    let pieces = http::receive(pieces);
    let text = pieces.body.as_str();
    assert!(
        text.contains("Because.") && text.contains("reasoning_content"),
        "{text}"
    );
    for reply in [&whole, &pieces] {
        let run = run_of(reply);
        let entries = shop.place.entries(&run);
        assert_eq!(of_kind(&entries, "run_started")[0]["queued"], true);
        shop.place.passes_the_audit(&run);
    }
    assert_eq!(shop.lines("ran"), ["once", "once"]);
    let submitters =
        "SELECT count(DISTINCT submitter) FROM bonded.lane WHERE submitter LIKE 'client-%'";
    assert_eq!(shop.database.sql(submitters), "2");
    let drove = "SELECT count(*) FROM bonded.worker WHERE name LIKE 'process";
    let drove = format!("{drove} {} %'", server.id());
    assert_eq!(shop.database.sql(&drove), "0", "the server drove none");
    for process in [server, worker] {
        process.end(Signal::TERM).succeeds();
    }
}

#[test]
fn a_client_that_vanishes_cancels_its_run_wherever_that_is() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let sleep = call("run", json!({ "command": "echo begun >> ran; sleep 600" }));
    shop.place
        .agent("agent", &[sleep, report("x")], "tools: run");
    let (server, address) = serve(&shop, &["--no-token"]);
    let waiting = begin(&address, "", &question());
    shop.place.wait_for(&["queued"]);
    drop(waiting);
    shop.place.wait_for(&["cancelled"]);
    let there = elsewhere(&shop);
    let worker = worker(&there);
    let waiting = begin(&address, "", &question());
    wait_until("it is driven", || shop.lines("ran") == ["begun"]);
    drop(waiting);
    shop.place.wait_for(&["cancelled", "cancelled"]);
    worker.line_with("cancelled");
    assert_eq!(shop.open(), 0);
    for process in [server, worker] {
        process.end(Signal::TERM).succeeds();
    }
}

#[test]
fn neither_a_killed_server_nor_a_killed_worker_loses_an_answer_or_repeats_a_call() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let slow = with(echo("second"), "delay_ms", 3_000);
    let lines = [echo("first"), slow, report("Because.")];
    shop.place.agent("agent", &lines, "tools: run");
    let (server, address) = serve(&shop, &["--no-token"]);
    let there = elsewhere(&shop);
    let first = worker(&there);
    let key = "\r\nIdempotency-Key: k";
    let lost = begin(&address, key, &question());
    wait_until("it is driven", || shop.lines("ran") == ["first"]);
    server.end(Signal::KILL);
    first.end(Signal::KILL);
    drop(lost);
    let (server, address) = serve(&shop, &["--no-token"]);
    let waiting = begin(&address, key, &question());
    let second = worker(&there);
    let answer = &http::receive(waiting).is(200)["choices"][0]["message"]["content"];
    assert_eq!(answer, "Because.");
    assert_eq!(shop.lines("ran"), ["first", "second"]);
    assert_eq!(shop.place.statuses(), ["succeeded"]);
    for process in [server, second] {
        process.end(Signal::TERM).succeeds();
    }
}

#[test]
fn a_run_that_was_approved_goes_on_at_a_worker_and_answers_who_asks_again() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let lines = [echo("approved"), report("Because.")];
    shop.place
        .agent("agent", &lines, "tools: run\napprovals: {ask: [run]}");
    let (server, address) = serve(&shop, &["--no-token"]);
    let there = elsewhere(&shop);
    let worker = worker(&there);
    let key = "\r\nIdempotency-Key: k";
    let refused = ask(&address, key, &question());
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (409, "awaiting_review")
    );
    assert!(shop.lines("ran").is_empty());
    let approved = shop.place.approve(&run_of(&refused), &[]);
    approved.says("queued: a worker resumes run");
    let answer = ask(&address, key, &question());
    assert_eq!(
        answer.is(200)["choices"][0]["message"]["content"],
        "Because."
    );
    assert_eq!(shop.lines("ran"), ["approved"]);
    for process in [server, worker] {
        process.end(Signal::TERM).succeeds();
    }
}

#[test]
fn the_places_of_a_server_hold_and_a_stop_leaves_its_runs_to_the_workers() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    shop.place.agent("agent", &[never()], "");
    let (server, address) = serve(
        &shop,
        &["--no-token", "--concurrency", "1", "--stop-after", "0s"],
    );
    let both = [0, 1].map(|_| begin(&address, "", &question()));
    let there = elsewhere(&shop);
    let worker = worker(&there);
    shop.place.wait_for(&["running"]);
    let [first, second] = both;
    server.end(Signal::TERM).succeeds();
    let replies = [first, second].map(http::receive);
    assert!(replies.iter().all(|it| it.status == 503), "{replies:?}");
    assert_eq!(shop.place.statuses(), ["running"], "it is the worker's");
    worker.end(Signal::KILL);
}

#[test]
fn a_call_of_an_mcp_client_is_answered_by_a_worker() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let front = "tools: run\ndescription: Answers.";
    let agent = shop
        .place
        .agent("agent", &[echo("once"), report("Because.")], front);
    let agent = agent.display().to_string();
    let words = [
        "mcp",
        "--agent",
        &agent,
        "--queue",
        "web",
        "--tooling-transport",
        "native",
    ];
    let mut command = shop.place.command(&words);
    let server = Process::begin(command.stdin(Stdio::piped()));
    let there = elsewhere(&shop);
    let worker = worker(&there);
    let mut stdin = server.stdin();
    let greeting = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let call = json!({ "name": "agent", "arguments": { "prompt": "why?" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ] {
        writeln!(stdin, "{message}").expect("it reads");
    }
    let lines = BufReader::new(server.stdout()).lines();
    let mut messages = lines.map(|line| parse(&line.expect("it writes")));
    let answer = messages.find(|it| it["id"] == 2).expect("it answers");
    assert_eq!(
        answer["result"]["content"][0]["text"], "Because.",
        "{answer}"
    );
    worker.line_with("succeeded");
    assert_eq!(shop.lines("ran"), ["once"]);
    drop(stdin);
    server.finish().succeeds();
    worker.end(Signal::TERM).succeeds();
}
