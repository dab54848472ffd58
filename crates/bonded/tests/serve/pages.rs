//! The pages of a server as a browser meets them, whichever server it is.

use std::io::{BufRead as _, BufReader};
use std::process::Command;

use bonded_testkit::place::Place;
use bonded_testkit::process::Process;
use serde_json::{Value, json};

use crate::http::{self, Reply};

/// A server that has pages.
pub(crate) struct Pages {
    pub(crate) process: Process,
    pub(crate) address: String,
    /// That of the link, where it printed one.
    pub(crate) secret: String,
}

impl Pages {
    /// The pages of a place's store.
    pub(crate) fn open(place: &Place) -> Self {
        Self::begin(&mut place.command(&["ui", "--no-open", "--listen", "127.0.0.1:0"]))
    }

    pub(crate) fn begin(command: &mut Command) -> Self {
        let (process, address) = Process::serve(command);
        let mut link = String::new();
        let read = BufReader::new(process.stdout()).read_line(&mut link);
        read.expect("the link is printed");
        Self::behind(&link, process, address)
    }

    /// A server whose link is a part of this line.
    pub(crate) fn behind(line: &str, process: Process, address: String) -> Self {
        let (_, secret) = line.trim().split_once("#enter=").expect("it has a secret");
        Self {
            secret: secret.to_owned(),
            process,
            address,
        }
    }

    pub(crate) fn ask(&self, line: &str, headers: &str, body: Option<&Value>) -> Reply {
        http::ask(&self.address, line, headers, body).expect("it answers")
    }

    pub(crate) fn sign_in(&self, with: &Value) -> Reply {
        self.ask("POST /api/session", "", Some(with))
    }

    /// Opens the link.
    pub(crate) fn enter(&self) -> Reply {
        self.sign_in(&json!({ "link": self.secret }))
    }
}

/// A browser that has signed in.
pub(crate) struct Browser<'a> {
    pub(crate) address: &'a str,
    pub(crate) header: String,
}

impl<'a> Browser<'a> {
    /// By the link of its pages.
    pub(crate) fn of(pages: &'a Pages) -> Self {
        Self::with(&pages.address, &pages.enter().is(200))
    }

    /// By what the server gave for a link or a token.
    pub(crate) fn with(address: &'a str, session: &Value) -> Self {
        let token = session["token"].as_str().expect("a token");
        Self {
            address,
            header: format!("Authorization: Bearer {token}"),
        }
    }

    pub(crate) fn ask(&self, line: &str, body: Option<&Value>) -> Reply {
        http::ask(self.address, line, &self.header, body).expect("it answers")
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.ask(&format!("GET {path}"), None).is(200)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask(&format!("POST {path}"), Some(body))
    }

    /// The lines of the stream, as they come.
    pub(crate) fn stream(&self, query: &str) -> impl Iterator<Item = Value> + use<> {
        let line = format!("GET /api/stream?{query}");
        let headers = format!("{}\r\nConnection: close", self.header);
        let head = http::head(self.address, &line, &headers);
        let lines = BufReader::new(http::send(self.address, &head, b"")).lines();
        let lines = lines.map_while(Result::ok);
        // Between them stand the head and the lengths of chunks.
        lines.filter_map(|line| serde_json::from_str(&line).ok().filter(Value::is_object))
    }
}

/// Every address of the pages' API that needs somebody, for a run of this id, and what is sent to it.
pub(crate) fn closed_routes(run: &str) -> Vec<(String, Option<Value>)> {
    let reads = [
        "/api/runs".to_owned(),
        format!("/api/runs/{run}"),
        format!("/api/runs/{run}/entries"),
        format!("/api/runs/{run}/entries/1/text?at=/goal"),
        format!("/api/runs/{run}/saw/1"),
        format!("/api/runs/{run}/log"),
        "/api/inbox".to_owned(),
        "/api/stream".to_owned(),
        format!("/api/stream?run={run}"),
        "/api/plans".to_owned(),
        "/api/plans/aaaaaaaaaaaa".to_owned(),
        "/api/plans/aaaaaaaaaaaa/items/a".to_owned(),
        "/api/plans/aaaaaaaaaaaa/items/a/text?at=/tests/output".to_owned(),
    ];
    let reads = reads.map(|path| (format!("GET {path}"), None));
    let verdict = json!({ "turn": 1, "call": 0, "digest": "0" });
    let actions = [
        ("approve", verdict.clone()),
        ("deny", verdict),
        ("cancel", json!({})),
        ("resume", json!({})),
        ("fork", json!({ "turn": 1 })),
        ("verify", json!({})),
        ("replay", json!({})),
    ];
    let actions = actions.map(|(it, body)| (format!("POST /api/runs/{run}/{it}"), Some(body)));
    reads.into_iter().chain(actions).collect()
}
