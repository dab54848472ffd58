//! Servers that are reached over the older stream of events or over a web socket, good ones and bad ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bonded_kernel::{Limits, Mask, Outcome, ToolOutput};
use bonded_tools::Registry;
use bonded_tools::mcp::{HttpEndpoint, McpServer, McpServers, McpTransport};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio_websockets::{Message, ServerBuilder};

use crate::web::{Heard, Says, good, read};
use crate::world::{invocation, pool, registry, until};

/// What a server does otherwise than a good one.
#[derive(Clone, Debug, Default)]
struct Conduct {
    /// Where it wants messages, in place of a path of its own.
    endpoint: Option<String>,
    /// What it answers to the first request, in place of a stream or a socket.
    refusal: Option<&'static str>,
    /// Ends the session at the first call of a tool.
    leaves_once: bool,
    /// Sends so many bytes without an end of a message.
    floods: bool,
}

#[derive(Default)]
struct State {
    heard: Vec<Heard>,
    /// Where events go.
    stream: Option<OwnedWriteHalf>,
    has_left: bool,
}

struct Server {
    port: u16,
    state: Arc<tokio::sync::Mutex<State>>,
    /// How many sessions have ended.
    ended: Arc<Mutex<usize>>,
}

impl Server {
    async fn new(conduct: Conduct) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::<tokio::sync::Mutex<State>>::default();
        let ended = Arc::<Mutex<usize>>::default();
        let (shared, over) = (Arc::clone(&state), Arc::clone(&ended));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, conduct) = (Arc::clone(&shared), conduct.clone());
                let over = Arc::clone(&over);
                tokio::spawn(async move { serve(stream, &state, &conduct, &over).await });
            }
        });
        Self { port, state, ended }
    }

    fn transport(&self, kind: Kind) -> McpTransport {
        let (scheme, path) = match kind {
            Kind::Sse => ("http", "sse"),
            Kind::Socket => ("ws", "ws"),
        };
        let endpoint = HttpEndpoint {
            url: format!("{scheme}://127.0.0.1:{}/{path}", self.port),
            headers: BTreeMap::from([("X-Token".to_owned(), "t-1".to_owned())]),
            oauth: None,
        };
        match kind {
            Kind::Sse => McpTransport::Sse(endpoint),
            Kind::Socket => McpTransport::Websocket(endpoint),
        }
    }

    async fn heard(&self) -> Vec<Heard> {
        self.state.lock().await.heard.clone()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Sse,
    Socket,
}

const KINDS: [Kind; 2] = [Kind::Sse, Kind::Socket];

async fn serve(
    mut stream: TcpStream,
    state: &tokio::sync::Mutex<State>,
    conduct: &Conduct,
    ended: &Mutex<usize>,
) -> Option<()> {
    let mut first = [0; 8];
    stream.peek(&mut first).await.ok()?;
    let is_post = first.starts_with(b"POST");
    if let Some(refusal) = conduct.refusal.filter(|_| !is_post) {
        read(&mut stream).await?;
        stream.write_all(refusal.as_bytes()).await.ok()?;
        return Some(());
    }
    let mut head = [0; 512];
    let length = stream.peek(&mut head).await.ok()?;
    if String::from_utf8_lossy(&head[..length]).contains("/ws ") {
        socket(stream, state, conduct).await;
        *ended.lock().expect("nobody panics") += 1;
        return Some(());
    }
    let heard = read(&mut stream).await?;
    if !is_post {
        state.lock().await.heard.push(heard);
        let (mut reader, mut writer) = stream.into_split();
        let endpoint = conduct.endpoint.as_deref().unwrap_or("/messages?id=s-1");
        let head = "HTTP/1.1 200 So\r\ncontent-type: text/event-stream\r\n\r\n";
        let begun = format!("{head}: hi\n\nevent: endpoint\ndata: {endpoint}\n\n");
        writer.write_all(begun.as_bytes()).await.ok()?;
        if conduct.floods {
            while writer.write_all(&[b'x'; 65536]).await.is_ok() {}
        }
        state.lock().await.stream = Some(writer);
        let mut rest = [0; 64];
        while let Ok(1..) = tokio::io::AsyncReadExt::read(&mut reader, &mut rest).await {}
        *ended.lock().expect("nobody panics") += 1;
        return Some(());
    }
    let answer = b"HTTP/1.1 202 So\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(answer).await.ok()?;
    let mut state = state.lock().await;
    match said(&mut state, heard, conduct)? {
        Some(body) => {
            let event = format!("event: message\ndata: {body}\n\n");
            let writer = state.stream.as_mut()?;
            writer.write_all(event.as_bytes()).await.ok()
        }
        None => {
            state.stream = None;
            Some(())
        }
    }
}

/// What a good server says to a message; `Some(None)` is the end of the session.
fn said(state: &mut State, heard: Heard, conduct: &Conduct) -> Option<Option<String>> {
    let is_call = heard.method() == "tools/call";
    let says = good(&heard);
    state.heard.push(heard);
    if is_call && conduct.leaves_once && !state.has_left {
        state.has_left = true;
        return Some(None);
    }
    match says {
        Says::Whole(200, _, body) => Some(Some(body)),
        _ => None,
    }
}

async fn socket(stream: TcpStream, state: &tokio::sync::Mutex<State>, conduct: &Conduct) {
    let Ok((request, mut socket)) = ServerBuilder::new().accept(stream).await else {
        return;
    };
    let headers = request.headers().iter();
    let headers: BTreeMap<String, String> = headers
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();
    if conduct.floods {
        let _ = socket.send(Message::text("x".repeat(40 << 20))).await;
    }
    while let Some(Ok(message)) = socket.next().await {
        let Some(text) = message.as_text() else {
            continue;
        };
        let heard = Heard {
            verb: "POST".into(),
            headers: headers.clone(),
            body: serde_json::from_str(text).unwrap_or_default(),
        };
        match said(&mut *state.lock().await, heard, conduct) {
            Some(Some(body)) => drop(socket.send(Message::text(body)).await),
            Some(None) => return drop(socket.close().await),
            None => {}
        }
    }
}

struct Site {
    server: Server,
    pool: McpServers,
    registry: Registry,
}

impl Site {
    async fn new(kind: Kind, conduct: Conduct) -> Result<Self, String> {
        let server = Server::new(conduct).await;
        let pool = pool(4);
        let mut wanted = McpServer::new("srv", server.transport(kind));
        wanted.start_timeout_ms = 20_000;
        let started = pool.start(&[wanted]).await;
        let started = started.map_err(|error| error.to_string())?;
        Ok(Self {
            server,
            pool,
            registry: registry(started),
        })
    }

    async fn call(&self, tool: &str) -> ToolOutput {
        let name = format!("srv__{tool}");
        let limits = Limits::default();
        let call = invocation(&self.registry, &limits, &name, &json!({ "text": "t" }));
        self.registry.invoke(&call, &Mask::default()).await
    }
}

#[tokio::test]
async fn calls_are_answered_with_the_headers_of_the_server_and_the_session_is_ended() {
    for kind in KINDS {
        let site = Site::new(kind, Conduct::default())
            .await
            .expect("it starts");
        for _ in 0..2 {
            let output = site.call("json").await;
            assert_eq!(
                (output.outcome, &*output.text),
                (Outcome::Ok, "\"t\""),
                "{kind:?}"
            );
        }
        site.pool.stop().await;
        let heard = site.server.heard().await;
        for heard in &heard {
            assert_eq!(heard.header("x-token"), "t-1", "{heard:?}");
        }
        let verbs = |verb: &str| heard.iter().filter(|heard| heard.verb == verb).count();
        match kind {
            Kind::Sse => assert!(verbs("GET") == 1 && verbs("POST") >= 4, "{heard:?}"),
            Kind::Socket => assert_eq!(heard[0].header("sec-websocket-protocol"), "mcp"),
        }
        until("the session has ended", || {
            *site.server.ended.lock().expect("ok") == 1
        })
        .await;
    }
}

#[tokio::test]
async fn a_session_that_the_server_ends_is_begun_anew_and_only_what_may_repeat_is_repeated() {
    for kind in KINDS {
        let leaves = || Conduct {
            leaves_once: true,
            ..Conduct::default()
        };
        let site = Site::new(kind, leaves()).await.expect("it starts");
        let output = site.call("json").await;
        assert_eq!(output.outcome, Outcome::Failed, "{kind:?}");
        assert!(output.text.contains("unknown"), "{}", output.text);
        let reads = Site::new(kind, leaves()).await.expect("it starts");
        let output = reads.call("look").await;
        assert_eq!(
            (output.outcome, &*output.text),
            (Outcome::Ok, "\"t\""),
            "{kind:?}"
        );
        let calls = reads.server.heard().await;
        let calls = calls.iter().filter(|heard| heard.method() == "tools/call");
        assert_eq!(calls.count(), 2, "{kind:?}");
    }
}

#[tokio::test]
async fn messages_go_to_no_other_place_than_the_one_that_was_named() {
    let other = Server::new(Conduct::default()).await;
    for endpoint in [
        format!("http://127.0.0.1:{}/messages", other.port),
        format!("//127.0.0.1:{}/messages", other.port),
        "http://evil.example/messages".to_owned(),
        "https://127.0.0.1/messages".to_owned(),
        "ftp://127.0.0.1/".to_owned(),
    ] {
        let conduct = Conduct {
            endpoint: Some(endpoint.clone()),
            ..Conduct::default()
        };
        let refused = Site::new(Kind::Sse, conduct)
            .await
            .err()
            .expect("it is refused");
        assert!(refused.contains("another place"), "{endpoint}: {refused}");
        assert!(!refused.contains("t-1"), "{refused}");
    }
    assert_eq!(other.heard().await.len(), 0);
}

#[tokio::test]
async fn a_server_that_refuses_redirects_or_speaks_otherwise_is_told_of_in_words() {
    let rows = [
        (
            KINDS.as_slice(),
            "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n",
            "authorisation",
        ),
        (
            &KINDS,
            "HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n",
            "404",
        ),
        (
            &KINDS,
            "HTTP/1.1 302 Go\r\nlocation: http://evil.example/?t-1\r\ncontent-length: 0\r\n\r\n",
            "redirects are not followed",
        ),
        (
            &KINDS,
            "HTTP/1.1 200 So\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n",
            "text/html",
        ),
        (
            &[Kind::Socket],
            "HTTP/1.1 101 So\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: no\r\n\r\n",
            "web sockets",
        ),
    ];
    for (kinds, refusal, said) in rows {
        for kind in kinds {
            let conduct = Conduct {
                refusal: Some(refusal),
                ..Conduct::default()
            };
            let refused = Site::new(*kind, conduct)
                .await
                .err()
                .expect("it is refused");
            assert!(refused.contains(said), "{kind:?}: {said} in {refused}");
        }
    }
}

#[tokio::test]
async fn a_message_without_an_end_is_not_kept() {
    for kind in KINDS {
        let conduct = Conduct {
            floods: true,
            ..Conduct::default()
        };
        let refused = Site::new(kind, conduct).await.err().expect("it is refused");
        assert!(refused.contains("more than"), "{kind:?}: {refused}");
    }
}
