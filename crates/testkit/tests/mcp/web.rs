//! A tool server over HTTP whose answers a test decides.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server was sent.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) verb: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

impl Heard {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn answer(&self, result: &Value) -> String {
        json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result }).to_string()
    }

    fn text(&self, text: &str) -> String {
        self.answer(&json!({ "content": [{ "type": "text", "text": text }] }))
    }
}

/// What it answers.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    /// A status, a kind and a body.
    Whole(u16, &'static str, String),
    /// The beginning of a stream of events, which ends then.
    Events(String),
    /// As `Events`, and the stream stays open.
    OpenEvents(String),
    /// A head and a piece that is sent again and again.
    Endless(&'static str, Vec<u8>),
    /// Closes the connection.
    Nothing,
    /// Reads and never answers.
    Silence,
}

type Decide = Arc<dyn Fn(&Heard) -> Option<Says> + Send + Sync>;

pub(crate) struct Web {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    /// How many of those that were never answered have gone away.
    gone: Arc<AtomicUsize>,
}

impl Web {
    /// Answers as a good server does, except where `decide` knows better.
    pub(crate) async fn new(
        decide: impl Fn(&Heard) -> Option<Says> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heard = Arc::<Mutex<Vec<Heard>>>::default();
        let (log, decide): (_, Decide) = (Arc::clone(&heard), Arc::new(decide));
        let gone = Arc::<AtomicUsize>::default();
        let left = Arc::clone(&gone);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, decide) = (Arc::clone(&log), Arc::clone(&decide));
                let left = Arc::clone(&left);
                tokio::spawn(async move { serve(stream, &log, &*decide, &left).await });
            }
        });
        Self {
            url: format!("http://127.0.0.1:{port}/mcp"),
            heard,
            gone,
        }
    }

    pub(crate) fn gone(&self) -> usize {
        self.gone.load(Ordering::Relaxed)
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("nobody panics").clone()
    }

    /// How often a method was called.
    pub(crate) fn count(&self, method: &str) -> usize {
        let heard = self.heard();
        heard
            .iter()
            .filter(|heard| heard.method() == method)
            .count()
    }
}

async fn serve(
    mut stream: TcpStream,
    log: &Mutex<Vec<Heard>>,
    decide: &(dyn Fn(&Heard) -> Option<Says> + Send + Sync),
    gone: &AtomicUsize,
) -> Option<()> {
    let heard = read(&mut stream).await?;
    let says = decide(&heard).unwrap_or_else(|| good(&heard));
    log.lock().expect("nobody panics").push(heard);
    let head = |status: u16, rest: &str| {
        format!("HTTP/1.1 {status} So\r\nconnection: close\r\n{rest}\r\n")
    };
    let events = "content-type: text/event-stream\r\n";
    match says {
        Says::Whole(status, rest, body) => {
            let rest = format!("{rest}content-length: {}\r\n", body.len());
            let whole = format!("{}{body}", head(status, &rest));
            stream.write_all(whole.as_bytes()).await.ok()?;
        }
        Says::Events(text) => {
            let whole = format!("{}{text}", head(200, events));
            stream.write_all(whole.as_bytes()).await.ok()?;
        }
        Says::OpenEvents(text) => {
            let whole = format!("{}{text}", head(200, events));
            stream.write_all(whole.as_bytes()).await.ok()?;
            wait_for_end(&mut stream).await;
        }
        Says::Endless(rest, piece) => {
            stream.write_all(head(200, rest).as_bytes()).await.ok()?;
            while stream.write_all(&piece).await.is_ok() {}
        }
        Says::Nothing => {}
        Says::Silence => {
            wait_for_end(&mut stream).await;
            gone.fetch_add(1, Ordering::Relaxed);
        }
    }
    Some(())
}

async fn wait_for_end(stream: &mut TcpStream) {
    while let Ok(1..) = stream.read(&mut [0; 64]).await {}
}

pub(crate) async fn read(stream: &mut TcpStream) -> Option<Heard> {
    let mut bytes = vec![];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let verb = lines.next()?.split(' ').next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap_or(0));
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[head_end..]).unwrap_or_default();
    Some(Heard {
        verb,
        headers,
        body,
    })
}

pub(crate) fn json_says(body: String) -> Says {
    Says::Whole(200, "content-type: application/json\r\n", body)
}

/// What a good server answers.
pub(crate) fn good(heard: &Heard) -> Says {
    if heard.verb != "POST" {
        let status = if heard.verb == "DELETE" { 200 } else { 405 };
        return Says::Whole(status, "", String::new());
    }
    let arguments = &heard.body["params"]["arguments"];
    match heard.method() {
        "initialize" => {
            let version = &heard.body["params"]["protocolVersion"];
            let result = json!({ "protocolVersion": version, "capabilities": { "tools": {} },
                "serverInfo": { "name": "web", "version": "1" } });
            let head = "content-type: application/json\r\nmcp-session-id: s-1\r\n";
            Says::Whole(200, head, heard.answer(&result))
        }
        "tools/list" => {
            let tool = |name: &str, hints: Value| {
                json!({ "name": name, "annotations": hints,
                "description": name, "inputSchema": { "type": "object" } })
            };
            let read = json!({ "readOnlyHint": true });
            let tools = json!([
                tool("json", json!({})),
                tool("events", json!({})),
                tool("look", read)
            ]);
            json_says(heard.answer(&json!({ "tools": tools })))
        }
        "tools/call" if heard.body["params"]["name"] == "events" => {
            let notice = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
            let answer = heard.text(&arguments["text"].to_string());
            Says::OpenEvents(format!(
                ": hi\n\nid: 1\ndata: {notice}\n\ndata: {answer}\n\n"
            ))
        }
        "tools/call" => json_says(heard.text(&arguments["text"].to_string())),
        "ping" => json_says(heard.answer(&json!({}))),
        _ => Says::Whole(202, "", String::new()),
    }
}
