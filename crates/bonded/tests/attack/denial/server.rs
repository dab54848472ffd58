//! A server under attack, and the clients that attack it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::person::{Person, call, start};

/// Long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

/// What a client was answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn code(&self) -> String {
        let code = &self.json()["error"]["code"];
        code.as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }
}

/// A reply of a script that delivers a report.
pub(crate) fn report(text: &str) -> Value {
    let arguments = json!({ "report_format": "markdown", "report_content": text });
    call("agent__final_report", arguments)
}

/// A reply of a script that delivers JSON.
pub(crate) fn report_json(value: &Value) -> Value {
    let arguments = json!({ "report_format": "json", "content_json": value });
    call("agent__final_report", arguments)
}

/// A reply that nobody waits for.
pub(crate) fn never() -> Value {
    let mut line = report("too late");
    line["delay_ms"] = 600_000.into();
    line
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
        let mut child = start(person.command(words).stdout(Stdio::null()));
        let stderr = child.stderr.take().expect("stderr is a pipe");
        let mut lines = BufReader::new(stderr).lines();
        let address = loop {
            let line = lines
                .next()
                .expect("the server starts")
                .expect("it is text");
            if let Some(address) = line.strip_prefix("listening on http://") {
                break address.to_owned();
            }
        };
        thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// A server whose stderr is read by nobody.
    pub(crate) fn unheard(child: Child, address: String) -> Self {
        let began = Instant::now();
        while TcpStream::connect(&address).is_err() {
            assert!(began.elapsed() < PATIENCE, "the server does not start");
            thread::sleep(Duration::from_millis(20));
        }
        Self { child, address }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        let patience = Some(PATIENCE);
        stream.set_read_timeout(patience).expect("it can be set");
        stream
    }

    /// One request over a connection of its own.
    pub(crate) fn ask(&self, line: &str, headers: &str, body: &[u8]) -> Reply {
        let mut stream = self.connect();
        let headers = format!("Connection: close\r\n{headers}");
        self.send(&mut stream, line, &headers, body);
        receive(&mut stream).expect("the server answers")
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask(&format!("GET {path}"), "", b"")
    }

    /// A chat of whoever has this token.
    pub(crate) fn chat(&self, token: &str, body: &Value) -> Reply {
        let mut stream = self.connect();
        self.begin_chat(&mut stream, token, body);
        receive(&mut stream).expect("the server answers")
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
            match receive(&mut stream) {
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
        let address = &self.address;
        let length = body.len();
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n{headers}\r\n"
        );
        let _refused = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body));
    }

    /// The most memory that the server ever had, in bytes.
    pub(crate) fn memory_max(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("the server lives");
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kilobytes.expect("the kernel says it") * 1024
    }

    /// Asks the server to end, and says how long it took and with what it ended.
    pub(crate) fn terminate(mut self) -> (Duration, Option<i32>) {
        let began = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it can be signalled");
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                return (began.elapsed(), status.code());
            }
            assert!(began.elapsed() < PATIENCE, "the server does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Lets this process have as many connections as the machine allows.
pub(crate) fn raise_descriptors() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _as_before = setrlimit(Resource::Nofile, limit);
}

/// Reads one answer whole; `None` where the connection ends before it.
pub(crate) fn receive(stream: &mut TcpStream) -> Option<Reply> {
    let mut head = vec![];
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut reply = Reply {
        status,
        head,
        body: String::new(),
    };
    let length = reply
        .header("content-length")
        .and_then(|it| it.parse().ok());
    match length {
        Some(length) => {
            let mut body = vec![0; length];
            stream.read_exact(&mut body).ok()?;
            reply.body = String::from_utf8(body).ok()?;
        }
        None => {
            stream.read_to_string(&mut reply.body).ok()?;
        }
    }
    Some(reply)
}
