//! A server of one agent.

use std::process::Command;

use bonded_testkit::http::{self, Reply};
use bonded_testkit::place::{Place, call, report};
use bonded_testkit::process::Process;
use serde_json::json;

pub(crate) const TOKEN: &str = "the-token-of-the-agents";
pub(crate) const METRICS_TOKEN: &str = "the-token-of-the-figures";

pub(crate) struct Served {
    /// It is removed with this.
    _place: Place,
    pub(crate) process: Process,
    pub(crate) address: String,
}

impl Served {
    /// An agent whose provider fails once, and that calls a tool and reports.
    pub(crate) fn start(flags: &[&str]) -> Self {
        let place = Place::new();
        let lines = [
            json!({ "fail": "rate_limit", "retry_after_ms": 1 }),
            call("list", json!({ "path": "." })),
            report("all is well"),
        ];
        let agent = place.agent("lead", &lines, "tools: list");
        place.write("tokens", format!("{TOKEN}\n"));
        place.write(
            "metrics-tokens",
            format!("# of Prometheus\n{METRICS_TOKEN}\n"),
        );
        let mut command = Self::command(&place, &agent.display().to_string(), flags);
        let (process, address) = Process::serve(&mut command);
        Self {
            _place: place,
            process,
            address,
        }
    }

    fn command(place: &Place, agent: &str, flags: &[&str]) -> Command {
        let path = |name: &str| place.path(name).display().to_string();
        let (tokens, figures) = (path("tokens"), path("metrics-tokens"));
        let words = [
            "serve",
            "--agent",
            agent,
            "--listen",
            "127.0.0.1:0",
            "--tooling-transport",
            "native",
            "--token-file",
            &tokens,
            "--metrics-token-file",
            &figures,
        ];
        place.command(&[&words, flags].concat())
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> Reply {
        get(&self.address, path, token)
    }

    /// Has the agent answer a question.
    pub(crate) fn ask(&self) -> Reply {
        let body = json!({ "model": "lead", "messages": [{ "role": "user", "content": "why?" }] });
        let headers = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: application/json");
        let line = "POST /v1/chat/completions";
        let asked = http::ask(&self.address, line, &headers, Some(&body));
        asked.expect("the server answers")
    }
}

pub(crate) fn get(address: &str, path: &str, token: &str) -> Reply {
    let headers = match token {
        "" => String::new(),
        token => format!("Authorization: Bearer {token}"),
    };
    let asked = http::ask(address, &format!("GET {path}"), &headers, None);
    asked.expect("the server answers")
}
