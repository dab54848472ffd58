//! Requests to send, and a server that says exactly what it is told.
//!
//! The server is not the testkit's provider: what is tested here lies below HTTP (heads that never end, chunks that are
//! cut, connections that are closed between two bytes), in one process and one runtime with the client.
#![expect(dead_code, reason = "each test file uses its own part")]

pub(crate) mod sdk;

use std::sync::Arc;

use bonded_kernel::{
    Catalog, Dialect, FoundTools, Image, Message, MessageCall, Offer, Reply, Request, Target,
    ToolEffect, ToolSpec,
};
use bonded_transport::dialect;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The dialects, and what their directories are called.
pub(crate) const DIALECTS: [(Dialect, &str); dialect::DIALECTS.len()] = dialect::DIALECTS;

/// Compares with a file; with `BLESS` set in the environment, writes the file instead.
pub(crate) fn check_file(path: &std::path::Path, got: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, got).expect("writable");
    }
    let want = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        got == want,
        "{}\n--- got\n{got}--- want\n{want}",
        path.display()
    );
}

/// Everything that a request borrows.
pub(crate) struct Conversation {
    pub(crate) target: Target,
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
    pub(crate) notices: Vec<Arc<str>>,
    pub(crate) catalog: Catalog,
    pub(crate) offer: Offer,
    pub(crate) output_tokens_max: u32,
    pub(crate) temperature: Option<f64>,
    pub(crate) ordinal: u32,
}

impl Conversation {
    pub(crate) fn with(provider: &str, endpoint: &str) -> Self {
        let read = ToolSpec {
            name: "read".into(),
            description: "Reads a \"file\".".into(),
            schema: serde_json::json!({
                "type": "object",
                "properties": { "path": { "type": "string" } }
            }),
            effect: ToolEffect::Read,
            sandbox: None,
            resource: None,
            deferred: false,
        };
        Self {
            target: Target {
                timeout_ms: 10_000,
                ..Target::new(provider, endpoint, "m-1")
            },
            system: "Be brief.".into(),
            messages: vec![user("Look at a.txt")],
            notices: vec![],
            catalog: Catalog::new([read]).expect("a good catalogue"),
            offer: Offer::All,
            output_tokens_max: 256,
            temperature: None,
            ordinal: 0,
        }
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            target: &self.target,
            system: &self.system,
            messages: &self.messages,
            notices: self.notices.clone(),
            catalog: &self.catalog,
            offer: self.offer,
            found: FoundTools::NONE,
            output_tokens_max: self.output_tokens_max,
            temperature: self.temperature,
            turn: 1,
            attempt: 1,
            ordinal: self.ordinal,
        }
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message::user(text)
}

/// One pixel as a GIF and as a PNG, without its checksums.
pub(crate) const GIF: &[u8] = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01\0\0;";
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0....\0\0\0\x01IDAT.....\0\0\0\0IEND....";

/// A message of a person or a tool with images.
pub(crate) fn with_images(mut message: Message, files: &[&[u8]]) -> Message {
    let read = |file: &&[u8]| Image::read(*file).expect("a pixel");
    match &mut message {
        Message::User { images, .. } | Message::Tool { images, .. } => {
            images.extend(files.iter().map(read));
        }
        Message::Assistant { .. } => {}
    }
    message
}

pub(crate) fn assistant(text: &str, calls: &[(&str, &str, &str)]) -> Message {
    Message::Assistant {
        text: text.into(),
        reasoning: "only a thought".into(),
        signed: None,
        calls: calls
            .iter()
            .map(|(id, tool, arguments)| MessageCall {
                id: (*id).into(),
                tool: (*tool).into(),
                arguments: (*arguments).into(),
            })
            .collect(),
    }
}

/// What the model said, with what its provider wants back.
pub(crate) fn signed(text: &str, signed: &str, calls: &[(&str, &str, &str)]) -> Message {
    match assistant(text, calls) {
        Message::Assistant {
            text,
            reasoning,
            calls,
            ..
        } => Message::Assistant {
            text,
            reasoning,
            signed: Some(signed.into()),
            calls,
        },
        other => other,
    }
}

/// A reply as a run puts it into the conversation: a call without an id gets one.
pub(crate) fn said(reply: Reply) -> Message {
    let calls = reply.calls.into_iter().enumerate().map(|(nth, call)| {
        let own = format!("call_1_{nth}");
        MessageCall {
            id: if call.id.is_empty() { own } else { call.id }.into(),
            tool: call.tool.into(),
            arguments: call.arguments.into(),
        }
    });
    Message::Assistant {
        text: reply.text.into(),
        reasoning: reply.reasoning.into(),
        signed: reply.signed.map(Into::into),
        calls: calls.collect(),
    }
}

/// A whole reply as it is read.
pub(crate) fn decoded(dialect: Dialect, whole: &Value) -> Reply {
    dialect::decode(dialect, whole.to_string().as_bytes()).expect("a reply")
}

/// The body of a conversation's next request, which has the type that the official SDK gives it.
#[track_caller]
pub(crate) fn encoded(conversation: &Conversation) -> Value {
    let body = unchecked(conversation);
    sdk::hold(&conversation.target, &body);
    body
}

/// The body of a conversation's next request, for whoever has a judge of their own.
pub(crate) fn unchecked(conversation: &Conversation) -> Value {
    serde_json::from_slice(&dialect::encode(&conversation.request())).expect("JSON")
}

pub(crate) fn tool(call_id: &str, text: &str) -> Message {
    Message::Tool {
        call_id: call_id.into(),
        text: text.into(),
        images: vec![],
    }
}

/// A connection to the server, request by request.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
}

impl Connection {
    /// Reads one request, head and body; `None` when the client has closed.
    pub(crate) async fn request(&mut self) -> Option<String> {
        let mut seen = Vec::new();
        loop {
            if let Some(request) = complete(&seen) {
                return Some(request);
            }
            let mut piece = [0; 4096];
            match self.stream.read(&mut piece).await {
                Ok(n) if n > 0 => seen.extend_from_slice(&piece[..n]),
                _ => return None,
            }
        }
    }

    /// Writes what it can: a client that has had enough closes early.
    pub(crate) async fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok()
    }
}

fn complete(seen: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(seen);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    (body.len() >= length.unwrap_or(0)).then(|| text.clone().into_owned())
}

/// Serves connections one after the other; gives the endpoint and the task.
pub(crate) async fn serve<F, Fut, T>(mut serve_one: F) -> (String, JoinHandle<T>)
where
    F: FnMut(Connection) -> Fut + Send + 'static,
    Fut: Future<Output = Option<T>> + Send,
    T: Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let task = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            if let Some(seen) = serve_one(Connection { stream }).await {
                return seen;
            }
        }
    });
    (format!("http://{address}/v1"), task)
}

/// Answers one request with these bytes, then closes; gives the request.
pub(crate) async fn serve_once(answer: Vec<u8>) -> (String, JoinHandle<String>) {
    serve(move |mut connection| {
        let answer = answer.clone();
        async move {
            let request = connection.request().await?;
            connection.say(&answer).await;
            connection.stream.shutdown().await.ok();
            Some(request)
        }
    })
    .await
}

/// A complete answer with a length.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}").into_bytes()
}

pub(crate) const GOOD: &str =
    r#"{"id":"x","model":"m-1","choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;
