//! A running server with its agents, each of which plays a script.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use serde_json::{Value, json};

use crate::http::{self, Reply};
use crate::place::{Done, Place, call, finish, parse, start};

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Served {
    pub(crate) place: Place,
    child: Option<Child>,
    pub(crate) address: String,
    told: Receiver<String>,
}

/// A line of a script: the reply that delivers the report.
pub(crate) fn report(text: &str) -> Value {
    let arguments = json!({ "report_format": "markdown", "report_content": text });
    let mut line = call("agent__final_report", arguments);
    line["usage"] = json!({ "input": 11, "output": 7 });
    line
}

/// A line of a script: a reply that takes so long that nobody waits for it.
pub(crate) fn never() -> Value {
    let mut line = report("too late");
    line["delay_ms"] = 600_000.into();
    line
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

/// Writes an agent whose front matter says more than its model.
pub(crate) fn write_agent(place: &Place, name: &str, lines: &[Value], front_matter: &str) {
    let script = place.path(&format!("{name}.jsonl"));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&script, text).expect("the script can be written");
    let models = format!("models: script:{}", script.display());
    let text = format!("---\n{models}\n{front_matter}\n---\nYou are tested.\n");
    std::fs::write(place.path(&format!("{name}.ai")), text).expect("the agent can be written");
}

impl Served {
    /// Serves agents, each with a script, on a port that the system chooses.
    pub(crate) fn start(agents: &[(&str, Vec<Value>)], flags: &[&str]) -> Self {
        let place = Place::new();
        for (name, lines) in agents {
            write_agent(&place, name, lines, "");
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
        let program = env!("CARGO_BIN_EXE_bonded");
        let before = ["-c", &shell, "sh", program].map(str::to_owned);
        let words = [&before[..], &words].concat();
        let mut child = start(&mut place.command_of(Path::new("sh"), &words));
        let lines = lines_of(&mut child);
        let address = loop {
            let line = lines.recv_timeout(PATIENCE).expect("the server starts");
            if let Some(address) = line.strip_prefix("listening on http://") {
                break address.to_owned();
            }
        };
        Self {
            place,
            child: Some(child),
            address,
            told: lines,
        }
    }

    /// Waits until the server has said something that begins so on stderr.
    pub(crate) fn wait_until_told(&self, beginning: &str) {
        while !self
            .told
            .recv_timeout(PATIENCE)
            .expect("the server says it")
            .starts_with(beginning)
        {}
    }

    /// The head of a request, up to its length.
    pub(crate) fn head(&self, line: &str, headers: &str) -> String {
        let address = &self.address;
        format!("{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close{headers}")
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        http::receive(http::send(
            &self.address,
            &self.head(&format!("GET {path}"), ""),
            b"",
        ))
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

    /// The status of every run in the store, the newest first.
    pub(crate) fn statuses(&self) -> Vec<String> {
        self.place.statuses()
    }

    /// Waits until the runs stand so.
    pub(crate) fn wait_for(&self, expected: &[&str]) {
        self.place.wait_for(expected);
    }

    /// As full as a disk can be: no file may grow any more.
    pub(crate) fn fill_disk(&self) {
        self.limit(Resource::Fsize, 0);
    }

    /// Lets the running server have no more of something; gives what it might have before.
    pub(crate) fn limit(&self, resource: Resource, most: u64) -> Rlimit {
        let child = self.child.as_ref().expect("the server runs");
        let pid = Some(Pid::from_child(child));
        // The hard limit is that of this process, from which the server has it.
        let limit = Rlimit {
            current: Some(most),
            ..getrlimit(resource)
        };
        let before = prlimit(pid, resource, limit);
        before.expect("a person may limit their own processes")
    }

    /// A file of the system about the server.
    pub(crate) fn about(&self, name: &str) -> String {
        let child = self.child.as_ref().expect("the server runs");
        let path = format!("/proc/{}/{name}", child.id());
        std::fs::read_to_string(path).expect("it runs")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("the server runs");
        kill_process(Pid::from_child(child), signal).expect("the server can be signalled");
    }

    /// Waits for the server's end.
    pub(crate) fn finish(&mut self) -> Done {
        finish(self.child.take().expect("the server runs"))
    }

    /// Kills the server and leaves what it made.
    pub(crate) fn crash(mut self) -> Place {
        self.signal(Signal::KILL);
        self.finish();
        std::mem::replace(&mut self.place, Place::new())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // A server that has ended by itself needs no end.
            let _ended = child.kill().and_then(|()| child.wait());
        }
    }
}

/// The runs of a store that somebody else drives.
impl Place {
    /// Their statuses, the newest first.
    pub(crate) fn statuses(&self) -> Vec<String> {
        let listed = self.bonded(&["runs", "--json", "--limit", "100"]);
        let lines = listed.stdout.lines().map(parse);
        lines
            .map(|run| run["status"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Waits until they stand so.
    pub(crate) fn wait_for(&self, expected: &[&str]) {
        let began = Instant::now();
        loop {
            let statuses = self.statuses();
            if statuses == expected {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{statuses:?}, not {expected:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The lines of the server's stderr. They are read to the end, so that it never waits for a reader.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let stderr = child.stderr.take().expect("stderr is a pipe");
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // The test may have heard enough.
            let _unheard = sender.send(line);
        }
    });
    receiver
}
