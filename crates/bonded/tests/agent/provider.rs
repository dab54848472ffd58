//! A provider on loopback that answers from a script and records every request.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Index;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::reply::{Reply, Streamed, refusal};

/// A request as it arrived. Indexing looks into the body.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    /// By lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
    pub(crate) at: Instant,
    /// Whether its models are looked at, and nothing is asked of them.
    is_look: bool,
}

impl Index<&str> for Asked {
    type Output = Value;

    fn index(&self, field: &str) -> &Value {
        &self.body[field]
    }
}

impl Asked {
    /// The contents of all messages, one after the other.
    pub(crate) fn said(&self) -> String {
        let messages = self.body["messages"].as_array().into_iter().flatten();
        messages.map(|message| text_of(message) + "\n").collect()
    }

    /// The last message.
    pub(crate) fn last(&self) -> String {
        let messages = self.body["messages"].as_array();
        messages
            .and_then(|all| all.last())
            .map(text_of)
            .unwrap_or_default()
    }

    /// The names of the tools that are offered natively.
    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect()
    }

    pub(crate) fn nonce(&self) -> Option<String> {
        nonce_in(&self.body.to_string())
    }
}

fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The eight hexadecimal digits of the first tag in a text.
fn nonce_in(text: &str) -> Option<String> {
    text.split("ai-agent-").skip(1).find_map(|rest| {
        let nonce = rest.get(..8)?;
        let is_nonce = nonce.bytes().all(|b| b.is_ascii_hexdigit()) && rest[8..].starts_with('-');
        is_nonce.then(|| nonce.to_owned())
    })
}

#[derive(Debug, Default)]
struct Shared {
    replies: VecDeque<Reply>,
    /// What is answered when the script is at its end.
    then: Option<Reply>,
    asked: Vec<Asked>,
    /// What it answers to a look at its models.
    lists: Option<Value>,
    /// The paths that were looked at.
    looks: Vec<String>,
    billed: Vec<Billed>,
}

/// What the provider bills for an answer that it gave whole, by its own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Billed {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Billed {
    fn of(reply: &Reply) -> Option<Self> {
        let body: Value = serde_json::from_slice(&reply.body).ok()?;
        Some(Self {
            input: body.pointer("/usage/prompt_tokens")?.as_u64()?,
            output: body.pointer("/usage/completion_tokens")?.as_u64()?,
        })
    }
}

#[derive(Debug)]
pub(crate) struct Provider {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

impl Provider {
    /// Its threads end with the test's process.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("a bound listener has one");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let heard = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = heard.clone();
                // A client that has heard enough hangs up; that is its right.
                thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn say(&self, replies: impl IntoIterator<Item = Reply>) {
        lock(&self.shared).replies.extend(replies);
    }

    pub(crate) fn then_always(&self, reply: Reply) {
        lock(&self.shared).then = Some(reply);
    }

    /// Says this of its models from now on.
    pub(crate) fn list(&self, models: Value) {
        lock(&self.shared).lists = Some(models);
    }

    pub(crate) fn looks(&self) -> Vec<String> {
        lock(&self.shared).looks.clone()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        lock(&self.shared).asked.clone()
    }

    pub(crate) fn billed(&self) -> Vec<Billed> {
        lock(&self.shared).billed.clone()
    }

    pub(crate) fn asked_count(&self) -> usize {
        lock(&self.shared).asked.len()
    }
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request and closes the connection.
fn serve(mut stream: TcpStream, shared: &Mutex<Shared>) -> std::io::Result<()> {
    let Some(asked) = read_request(&mut stream)? else {
        return Ok(());
    };
    if asked.is_look {
        let lists = {
            let mut shared = lock(shared);
            shared.looks.push(asked.path);
            shared.lists.clone()
        };
        return serve_list(&mut stream, lists.as_ref());
    }
    let nonce = asked.nonce();
    let reply = {
        let mut shared = lock(shared);
        shared.asked.push(asked);
        let next = shared.replies.pop_front();
        // No run goes on after a refused key, so that a script that is too short is noticed at once.
        next.or_else(|| shared.then.clone())
            .unwrap_or_else(|| refusal(401, "the script has no more replies"))
    };
    thread::sleep(reply.delay);
    let body = with_nonce(&reply.body, nonce.as_deref());
    if let Some(streamed) = reply.streamed {
        return serve_events(&mut stream, &String::from_utf8_lossy(&body), streamed);
    }
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let length = body.len();
    if !reply.is_endless {
        head.push_str(&format!("content-length: {length}\r\n"));
    }
    head.push_str("connection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    if reply.is_endless {
        loop {
            stream.write_all(&body)?;
            thread::sleep(reply.endless_pause);
        }
    }
    if !reply.is_cut {
        // Before the last byte is out: whoever has it finds it billed.
        lock(shared).billed.extend(Billed::of(&reply));
    }
    let until = if reply.is_cut { length / 2 } else { length };
    stream.write_all(&body[..until])
}

/// Answers a look at the models, if it has a list of them.
fn serve_list(stream: &mut TcpStream, lists: Option<&Value>) -> std::io::Result<()> {
    let (status, body) = match lists {
        Some(lists) => (200, lists.to_string()),
        None => (404, String::new()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Says a text as events. Every byte is written by itself, so that letters are cut, too.
fn serve_events(stream: &mut TcpStream, said: &str, streamed: Streamed) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let head =
        "HTTP/1.1 200 Scripted\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    let letters: Vec<char> = said.chars().collect();
    let pieces = letters.chunks(streamed.letters).map(String::from_iter);
    let said = pieces.map(|piece| (json!({ "content": piece }), Value::Null));
    for (delta, finish) in said.chain([(json!({}), json!("stop"))]) {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({ "id": "c", "model": "answered", "choices": [choice] });
        for byte in format!("data: {chunk}\n\n").as_bytes() {
            stream.write_all(&[*byte])?;
        }
        thread::sleep(streamed.pause);
    }
    stream.write_all(b"data: [DONE]\n\n")
}

/// Bytes that are no text have no place for a nonce.
fn with_nonce(body: &[u8], nonce: Option<&str>) -> Vec<u8> {
    match (std::str::from_utf8(body), nonce) {
        (Ok(text), Some(nonce)) => text.replace("NONCE", nonce).into_bytes(),
        _ => body.to_vec(),
    }
}

fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<Asked>> {
    let mut bytes = vec![];
    let mut buffer = [0; 16_384];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let headers: BTreeMap<String, String> = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            count => body.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(Some(Asked {
        is_look: head.starts_with("GET "),
        path: head.split(' ').nth(1).unwrap_or_default().to_owned(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        at: Instant::now(),
    }))
}
