//! A running server with its agents, each of which plays a script.

use std::net::TcpStream;
use std::path::Path;

use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::{self, Reply};
use crate::place::Place;

pub(crate) use bonded_testkit::place::{never, report};

pub(crate) struct Served {
    pub(crate) place: Place,
    pub(crate) process: Process,
    pub(crate) address: String,
}

/// A chat with one message of the user's.
pub(crate) fn question(model: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": "why?" }] })
}

/// The same question, with a field more.
pub(crate) fn question_with(model: &str, field: &str, value: impl Into<Value>) -> Value {
    let mut question = question(model);
    question[field] = value.into();
    question
}

impl Served {
    /// Serves agents, each with a script, on a port that the system chooses.
    pub(crate) fn start(agents: &[(&str, Vec<Value>)], flags: &[&str]) -> Self {
        let place = Place::new();
        for (name, lines) in agents {
            place.agent(name, lines, "");
        }
        let names: Vec<&str> = agents.iter().map(|(name, _)| *name).collect();
        Self::start_in(place, &names, flags)
    }

    pub(crate) fn start_in(place: Place, names: &[&str], flags: &[&str]) -> Self {
        Self::start_under(place, names, flags, ":")
    }

    /// The same in a shell that has said this before, such as a limit.
    pub(crate) fn start_under(place: Place, names: &[&str], flags: &[&str], said: &str) -> Self {
        let mut words = vec!["serve".to_owned()];
        for name in names {
            words.push("--agent".into());
            words.push(place.path(&format!("{name}.ai")).display().to_string());
        }
        let listen = ["--listen", "127.0.0.1:0"];
        let elsewhere = flags.contains(&listen[0]);
        words.extend(
            listen
                .iter()
                .filter(|_| !elsewhere)
                .map(|word| (*word).to_owned()),
        );
        let has_tokens = flags.iter().any(|flag| flag.starts_with("--token"));
        if !has_tokens {
            words.push("--no-token".into());
        }
        let usual = ["--tooling-transport", "native"];
        words.extend(usual.iter().chain(flags).map(|word| (*word).to_owned()));
        let shell = format!("{said}; exec \"$@\"");
        let before = ["-c", &shell, "sh", env!("CARGO_BIN_EXE_bonded")].map(str::to_owned);
        let words = [&before[..], &words].concat();
        let (process, address) = Process::serve(&mut place.command_of(Path::new("sh"), &words));
        Self {
            place,
            process,
            address,
        }
    }

    /// The head of a request, up to its length.
    pub(crate) fn head(&self, line: &str, headers: &str) -> String {
        let headers = format!("Connection: close{headers}");
        http::head(&self.address, line, &headers)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        let head = self.head(&format!("GET {path}"), "");
        http::receive(http::send(&self.address, &head, b""))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_with(path, "", body)
    }

    /// Posts with more headers, each beginning with a line break.
    pub(crate) fn post_with(&self, path: &str, headers: &str, body: &Value) -> Reply {
        http::receive(self.begin(path, headers, body))
    }

    pub(crate) fn chat(&self, body: &Value) -> Reply {
        self.post("/v1/chat/completions", body)
    }

    /// Posts and does not wait for the answer.
    pub(crate) fn begin(&self, path: &str, headers: &str, body: &Value) -> TcpStream {
        let headers = format!("\r\nContent-Type: application/json{headers}");
        let head = self.head(&format!("POST {path}"), &headers);
        http::send(&self.address, &head, body.to_string().as_bytes())
    }

    /// Kills the server and leaves what it made.
    pub(crate) fn crash(self) -> Place {
        self.process.end(Signal::KILL);
        self.place
    }
}
