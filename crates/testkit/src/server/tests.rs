//! The server, heard through a plain socket and through the real driver.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bonded_host::{CancellationToken, Clock, Goal, Host, WorkdirTools};
use bonded_kernel::{Limits, Millis, Run, RunConfig, Target};
use bonded_state::MemoryStore;
use bonded_transport::Providers;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::ChatServer;

/// A client that stays connected.
struct Client(TcpStream);

impl Client {
    async fn connect(server: &ChatServer) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).await;
        Self(stream.expect("the server listens"))
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) {
        let length = body.len();
        let request = format!("{method} {path} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}");
        let sent = self.0.write_all(request.as_bytes()).await;
        sent.expect("the connection stands");
    }

    async fn ask(&mut self, model: &str, goal: &str, outputs: usize) {
        let body = conversation(model, goal, outputs);
        self.send("POST", "/v1/chat/completions", &body).await;
    }

    /// The status and the body of an answer with a length; the body is shorter if the server cut it.
    async fn receive(&mut self) -> (u16, String) {
        let mut head = vec![];
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.expect("an answer"));
        }
        let head = String::from_utf8(head).expect("a head in ASCII");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: u64 = length.expect("a length").parse().expect("a number");
        let mut body = String::new();
        let mut rest = (&mut self.0).take(length);
        // A connection that was reset gives an error after what had come.
        let _ = rest.read_to_string(&mut body).await;
        (head[9..12].parse().expect("a status"), body)
    }

    async fn call(&mut self) -> (String, String) {
        let (status, body) = self.receive().await;
        assert_eq!(status, 200, "{body}");
        let reply: Value = serde_json::from_str(&body).expect("JSON");
        let function = &reply["choices"][0]["message"]["tool_calls"][0]["function"];
        let text = |key: &str| function[key].as_str().expect("a text").to_owned();
        (text("name"), text("arguments"))
    }
}

/// A request as the chat dialect writes it: the role before the content.
fn conversation(model: &str, goal: &str, outputs: usize) -> String {
    let tool = r#",{"role":"tool","content":"x"}"#.repeat(outputs);
    let user = format!(r#"{{"role":"user","content":"{goal}"}}"#);
    format!(r#"{{"model":"{model}","messages":[{user}{tool}]}}"#)
}

async fn server() -> ChatServer {
    ChatServer::start().await.expect("a port is free")
}

#[tokio::test]
async fn a_plain_conversation_reads_ten_notes_and_ends() {
    let server = server().await;
    let mut client = Client::connect(&server).await;
    for outputs in 0..10 {
        client.ask("any", "goal", outputs).await;
        let arguments = format!("{{\"path\":\"note-{outputs}.txt\"}}");
        assert_eq!(client.call().await, ("read".to_owned(), arguments));
    }
    client.ask("any", "goal", 10).await;
    assert_eq!(client.call().await.0, "done");
    assert_eq!(server.stats().requests, 11);
}

#[tokio::test]
async fn faults_are_counted_for_each_conversation_alone() {
    let server = server().await;
    let mut client = Client::connect(&server).await;
    let mut seen = vec![];
    for goal in ["a", "b", "a", "b", "a", "b"] {
        client.ask("429x2", goal, 0).await;
        seen.push(client.receive().await.0);
    }
    assert_eq!(seen, [429, 429, 429, 429, 200, 200]);
}

#[tokio::test]
async fn a_cut_connection_ends_within_the_body() {
    let server = server().await;
    let mut client = Client::connect(&server).await;
    client.ask("cut", "goal", 0).await;
    let (status, body) = client.receive().await;
    assert_eq!(status, 200);
    assert!(body.starts_with('{') && !body.ends_with('}'), "{body:?}");
    let mut again = Client::connect(&server).await;
    again.ask("cut", "goal", 0).await;
    assert_eq!(again.call().await.0, "read");
}

#[tokio::test]
async fn a_hanging_request_is_counted_and_answered_when_released() {
    let server = server().await;
    let mut client = Client::connect(&server).await;
    client.ask("hang-at-1", "goal", 0).await;
    assert_eq!(client.call().await.0, "read");
    client.ask("hang-at-1", "goal", 1).await;
    assert_eq!(server.wait_for(2).await.requests, 2);
    let nothing = tokio::time::timeout(Duration::from_millis(50), client.receive());
    assert!(nothing.await.is_err());
    server.release();
    assert_eq!(client.call().await.0, "read");
}

#[tokio::test]
async fn an_agent_ends_with_its_report_as_the_request_asks_for_it() {
    let server = server().await;
    let mut client = Client::connect(&server).await;
    client.ask("turns-0+report", "goal", 0).await;
    assert_eq!(client.call().await.0, "agent__final_report");
    let explained = r#"write <ai-agent-1a2b-FINAL tool=\"agent__final_report\">"#;
    client.ask("turns-0+report", explained, 0).await;
    let (_, body) = client.receive().await;
    let reply: Value = serde_json::from_str(&body).expect("JSON");
    let message = &reply["choices"][0]["message"];
    let tag = r#"<ai-agent-1a2b-FINAL tool="agent__final_report" format="pipe">"#;
    let text = message["content"].as_str().expect("a text");
    assert!(text.starts_with(tag), "{text}");
    assert!(message["tool_calls"].is_null());
}

#[tokio::test]
async fn what_was_seen_is_told_over_http() {
    let server = server().await;
    let mut client = Client::connect(&server).await;
    client.ask("any", "the goal", 0).await;
    client.call().await;
    for (path, expected) in [
        ("/stats", "\"requests\":1"),
        ("/wait/1", "\"requests\":1"),
        ("/last", "the goal"),
        ("/v1/models", "custom-model"),
    ] {
        client.send("GET", path, "").await;
        let (status, body) = client.receive().await;
        assert!(status == 200 && body.contains(expected), "{path}: {body}");
    }
    client.send("GET", "/nothing", "").await;
    assert_eq!(client.receive().await.0, 404);
}

/// A clock that goes a hundred times as fast, so that nobody waits long for a provider that has failed.
struct Hurried(Instant);

impl Clock for Hurried {
    fn now(&self) -> Millis {
        Millis(self.0.elapsed().as_millis() as u64 * 100)
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let wait = Duration::from_millis((at - self.now()) / 100 + 1);
        Box::pin(tokio::time::sleep(wait))
    }
}

/// Drives one run with the real driver, tools and transport.
async fn drive(server: &ChatServer, model: &str, stream: bool) -> Run {
    let dir = tempfile::tempdir().expect("a directory");
    for number in 0..10 {
        let note = dir.path().join(format!("note-{number}.txt"));
        std::fs::write(note, format!("note {number}\n")).expect("a note");
    }
    let host = Host {
        store: Arc::new(MemoryStore::new()),
        transport: Arc::new(Providers::from_variables(|_: &str| None)),
        tools: Arc::new(WorkdirTools::default()),
        clock: Arc::new(Hurried(Instant::now())),
        children: None,
        secrets: Arc::default(),
        live: None,
        watch: None,
        interrupt: CancellationToken::new(),
        drain: CancellationToken::new(),
    };
    let target = Target {
        stream,
        timeout_ms: 10_000,
        ..Target::new("custom", server.base_url(), model)
    };
    let goal = Goal {
        text: "read the notes".into(),
        system: "be brief".into(),
        images: vec![],
        config: RunConfig {
            output_tokens_max: 1000,
            limits: Limits {
                elapsed_ms_max: None,
                ..Limits::default()
            },
            ..RunConfig::new(dir.path().to_str().expect("UTF-8"), vec![target])
        },
    };
    let ended = host.run(Host::draw_id(), goal, CancellationToken::new());
    Box::pin(ended).await.expect("the run ends")
}

#[tokio::test]
async fn a_run_comes_to_its_answer_through_every_fault_at_every_turn() {
    let server = server().await;
    for stream in [false, true] {
        for model in ["plain", "all"] {
            let run = drive(&server, model, stream).await;
            let termination = run.termination().expect("it has ended");
            let case = format!("{model}, stream {stream}: {termination:?}");
            assert!(termination.is_success(), "{case}");
            assert_eq!(
                termination.reason().as_str(),
                "all 10 notes are read",
                "{case}"
            );
            let turns = if model == "all" { 33 } else { 11 };
            assert_eq!(run.turn(), turns, "{case}");
        }
    }
}
