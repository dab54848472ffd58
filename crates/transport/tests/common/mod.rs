//! Requests to send, and a server that says exactly what it is told.
#![expect(dead_code, reason = "each test file uses its own part")]

use std::sync::Arc;

use bonded_kernel::{Catalog, Message, MessageCall, Request, Target, ToolEffect, ToolSpec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Everything that a request borrows.
pub(crate) struct Conversation {
    pub(crate) target: Target,
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
    pub(crate) notices: Vec<Arc<str>>,
    pub(crate) catalog: Catalog,
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
        };
        Self {
            target: Target {
                provider: provider.into(),
                endpoint: endpoint.into(),
                model: "m-1".into(),
                key_env: None,
                stream: false,
                timeout_ms: 10_000,
                price: None,
            },
            system: "Be brief.".into(),
            messages: vec![user("Look at a.txt")],
            notices: vec![],
            catalog: Catalog::new([read]).expect("a good catalogue"),
            temperature: None,
            ordinal: 0,
        }
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            target: &self.target,
            system: &self.system,
            messages: &self.messages,
            notices: &self.notices,
            catalog: &self.catalog,
            output_tokens_max: 256,
            temperature: self.temperature,
            turn: 1,
            attempt: 1,
            ordinal: self.ordinal,
        }
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message::User { text: text.into() }
}

pub(crate) fn assistant(text: &str, calls: &[(&str, &str, &str)]) -> Message {
    Message::Assistant {
        text: text.into(),
        reasoning: "not sent back".into(),
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

pub(crate) fn tool(call_id: &str, text: &str) -> Message {
    Message::Tool {
        call_id: call_id.into(),
        text: text.into(),
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
