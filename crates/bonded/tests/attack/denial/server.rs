//! A server under attack, and the clients that attack it.

use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bonded_testkit::http;
use bonded_testkit::patience::wait_until;
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::person::{Person, call};

pub(crate) use bonded_testkit::http::{Reply, receive_one};
pub(crate) use bonded_testkit::place::{never, report};

pub(crate) struct Server {
    process: Process,
    pub(crate) address: String,
}

/// A reply of a script that delivers JSON.
pub(crate) fn report_json(value: &Value) -> Value {
    let arguments = json!({ "report_format": "json", "content_json": value });
    call("agent__final_report", arguments)
}

pub(crate) fn question(model: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": "why?" }] })
}

/// Writes an agent that plays a script.
pub(crate) fn write_agent(person: &Person, name: &str, lines: &[Value], front_matter: &str) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let script = person.path(&format!("{name}.jsonl"));
    person.write(&script, text);
    let models = format!("models: script:{}", script.display());
    let text = format!("---\n{models}\n{front_matter}\n---\nYou are tested.\n");
    person.write(person.path(&format!("{name}.ai")), text);
}

/// The words that serve agents.
pub(crate) fn words(person: &Person, agents: &[&str], flags: &[&str]) -> Vec<String> {
    let mut words = vec!["serve".to_owned()];
    for name in agents {
        words.push("--agent".into());
        words.push(person.path(&format!("{name}.ai")).display().to_string());
    }
    let usual = ["--tooling-transport", "native", "--stop-after", "1"];
    words.extend(usual.iter().chain(flags).map(|word| (*word).to_owned()));
    words
}

impl Server {
    /// Serves agents of a person that were written before.
    pub(crate) fn start(person: &Person, agents: &[&str], flags: &[&str]) -> Self {
        let words = words(
            person,
            agents,
            &[flags, &["--listen", "127.0.0.1:0"]].concat(),
        );
        Self::of(person, &words)
    }

    pub(crate) fn of(person: &Person, words: &[String]) -> Self {
        let (process, address) = Process::serve(person.command(words).stdout(Stdio::null()));
        Self { process, address }
    }

    /// A server whose stderr is read by nobody.
    pub(crate) fn unheard(process: Process, address: String) -> Self {
        wait_until("the server listens", || {
            TcpStream::connect(&address).is_ok()
        });
        Self { process, address }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        http::connect(&self.address)
    }

    /// One request over a connection of its own.
    pub(crate) fn ask(&self, line: &str, headers: &str, body: &[u8]) -> Reply {
        let mut stream = self.connect();
        let headers = format!("Connection: close\r\n{headers}");
        self.send(&mut stream, line, &headers, body);
        receive_one(&mut stream).expect("the server answers")
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask(&format!("GET {path}"), "", b"")
    }

    /// A chat of whoever has this token.
    pub(crate) fn chat(&self, token: &str, body: &Value) -> Reply {
        let mut stream = self.connect();
        self.begin_chat(&mut stream, token, body);
        receive_one(&mut stream).expect("the server answers")
    }

    /// Asks and does not wait for the answer.
    pub(crate) fn begin_chat(&self, stream: &mut TcpStream, token: &str, body: &Value) {
        let headers = format!("Connection: close\r\nAuthorization: Bearer {token}\r\n");
        let line = "POST /v1/chat/completions";
        self.send(stream, line, &headers, body.to_string().as_bytes());
    }

    /// Asks with this token until the server says that its line is full. Whoever waits does so until he is dropped.
    pub(crate) fn fill(&self, token: &str, body: &Value) -> Vec<TcpStream> {
        let mut waiting = vec![];
        loop {
            let mut stream = self.connect();
            let short = Some(Duration::from_millis(50));
            stream.set_read_timeout(short).expect("it can be set");
            self.begin_chat(&mut stream, token, body);
            match receive_one(&mut stream) {
                Some(reply) => {
                    assert_eq!(reply.status, 429, "{reply:?}");
                    return waiting;
                }
                None => waiting.push(stream),
            }
            assert!(waiting.len() < 1000, "the line is never full");
        }
    }

    /// Sends a request; whether it can be sent whole is for the answer to say.
    pub(crate) fn send(&self, stream: &mut TcpStream, line: &str, headers: &str, body: &[u8]) {
        let headers = format!("Content-Type: application/json\r\n{headers}");
        http::write(stream, &http::head(&self.address, line, &headers), body);
    }

    /// The most memory that the server ever had, in bytes.
    pub(crate) fn memory_max(&self) -> u64 {
        self.process.peak_bytes()
    }

    /// Asks the server to end, and says how long it took and with what it ended.
    pub(crate) fn terminate(self) -> (Duration, Option<i32>) {
        let began = Instant::now();
        let ended = self.process.end(Signal::TERM);
        (began.elapsed(), ended.code)
    }
}

/// Lets this process have as many connections as the machine allows.
pub(crate) fn raise_descriptors() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _as_before = setrlimit(Resource::Nofile, limit);
}
