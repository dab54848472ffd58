//! A provider of chat completions that answers as it is told, and remembers what it was asked.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::Value;

/// An answer as it stands on the wire.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Status, header lines that each end with a line break, and a body.
    Says(u16, &'static str, String),
    /// Nothing, until the client has had enough.
    Silent,
    /// What it was asked, as an error.
    Echoes,
}

impl Answer {
    pub(crate) fn json(body: &Value) -> Self {
        Self::Says(200, "Content-Type: application/json\r\n", body.to_string())
    }

    pub(crate) fn refusal(status: u16, body: &Value) -> Self {
        Self::Says(
            status,
            "Content-Type: application/json\r\n",
            body.to_string(),
        )
    }
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Method and path.
    pub(crate) line: String,
    /// By lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

#[derive(Default)]
struct State {
    /// What is answered each time, by method and path.
    always: BTreeMap<String, Answer>,
    /// What is answered one after the other to whatever else is asked.
    replies: VecDeque<Answer>,
    asked: Vec<Asked>,
}

pub(crate) struct ChatServer {
    address: String,
    state: Arc<Mutex<State>>,
}

impl ChatServer {
    /// Its threads end with the test's process.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("a bound address").to_string();
        let state = Arc::new(Mutex::new(State::default()));
        let serving = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = serving.clone();
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { address, state }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers this line so from now on.
    pub(crate) fn always(self, line: &str, answer: Answer) -> Self {
        self.now_always(line, answer);
        self
    }

    pub(crate) fn now_always(&self, line: &str, answer: Answer) {
        lock(&self.state).always.insert(line.into(), answer);
    }

    /// Says these to requests for completions, one after the other.
    pub(crate) fn replies(self, replies: impl IntoIterator<Item = Answer>) -> Self {
        lock(&self.state).replies.extend(replies);
        self
    }

    pub(crate) fn asked(&self, line: &str) -> Vec<Asked> {
        let state = lock(&self.state);
        let asked = state.asked.iter().filter(|asked| asked.line == line);
        asked.cloned().collect()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("nobody panics with it")
}

/// Answers one request and closes.
fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let Some((asked, text)) = read(&mut stream) else {
        return;
    };
    let answer = {
        let mut state = lock(state);
        let always = state.always.get(&asked.line).cloned();
        let answer = always.or_else(|| match asked.line.starts_with("POST ") {
            true => state.replies.pop_front(),
            false => None,
        });
        state.asked.push(asked);
        answer.unwrap_or_else(|| Answer::Says(404, "", "there is nothing here".into()))
    };
    let (status, headers, body) = match answer {
        Answer::Says(status, headers, body) => (status, headers, body),
        Answer::Echoes => (401, "", text),
        Answer::Silent => {
            let _closed = stream.read(&mut [0]);
            return;
        }
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} As told\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    // A client that has had enough closes early.
    let _unheard = stream.write_all(answer.as_bytes());
}

/// The request, and the text of it.
fn read(stream: &mut TcpStream) -> Option<(Asked, String)> {
    let mut bytes = vec![];
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let mut lines = head.lines();
        let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
        let headers: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.get("content-length").map(|it| it.parse());
        if body.len() < length.unwrap_or(Ok(0)).unwrap_or(0) {
            continue;
        }
        let body = serde_json::from_str(body).unwrap_or_default();
        let asked = Asked {
            line,
            headers,
            body,
        };
        return Some((asked, text));
    }
}
