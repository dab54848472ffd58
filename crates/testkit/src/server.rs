//! A chat completions server on loopback: light enough to stand beside a benchmark, and as unkind as the
//! name of the model asks for (see [`Conduct`]).
//!
//! | request | answer |
//! |---|---|
//! | `POST /v1/chat/completions` | what the conduct says for this point of the conversation |
//! | `GET /v1/models` | one model |
//! | `GET /stats` | requests and bytes so far, and when the last request came |
//! | `GET /wait/N` | the same, as soon as N requests have come |
//! | `GET /last` | the body of the last request |
//! | `POST /release` | answers every request that hangs |
//!
//! It checks nothing of what it is sent, speaks no TLS, and listens on loopback only.

mod conduct;
mod ending;
mod http;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub use conduct::{CallFault, Conduct, RequestFault};

use conduct::{Answer, Asked, Tally};
use http::{Connection, HttpRequest};

/// A running server. Dropping it closes every connection.
#[derive(Debug)]
pub struct ChatServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What the server has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Chat requests that arrived whole.
    pub requests: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// When the last chat request had arrived, in microseconds since the Unix epoch.
    pub last_at_us: u64,
}

#[derive(Debug)]
struct Shared {
    stats: watch::Sender<Stats>,
    /// Counts the releases; a request that hangs waits for the next one.
    releases: watch::Sender<u64>,
    talks: Mutex<Talks>,
}

#[derive(Debug, Default)]
struct Talks {
    /// How often each conversation was heard at the point where it stands.
    tallies: HashMap<u64, Tally>,
    last_body: String,
}

impl ChatServer {
    /// Listens on a port that the system chooses.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            stats: watch::Sender::default(),
            releases: watch::Sender::default(),
            talks: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What a client is given as its base URL.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn stats(&self) -> Stats {
        *self.shared.stats.borrow()
    }

    /// Waits until so many chat requests have arrived.
    pub async fn wait_for(&self, requests: u64) -> Stats {
        self.shared.wait_for(requests).await
    }

    /// Answers every request that hangs.
    pub fn release(&self) {
        self.shared.releases.send_modify(|count| *count += 1);
    }
}

impl Drop for ChatServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The connections are tasks of this one, so that they end with it.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        // A connection that could not be accepted is the client's to notice.
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream, Arc::clone(&shared)));
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection until its client closes it, breaks the protocol, or is cut off.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let Ok(mut connection) = Connection::new(stream) else {
        return;
    };
    while let Ok(Some(request)) = connection.next().await {
        let Some(bytes) = shared.answer(request).await else {
            return;
        };
        let cut = bytes.cut_at.unwrap_or(bytes.whole.len());
        if connection.write(&bytes.whole[..cut]).await.is_err() || bytes.cut_at.is_some() {
            return;
        }
    }
}

/// A whole HTTP answer, and where the connection breaks off, if it does.
struct Sent {
    whole: Vec<u8>,
    cut_at: Option<usize>,
}

impl From<Vec<u8>> for Sent {
    fn from(whole: Vec<u8>) -> Self {
        Self {
            whole,
            cut_at: None,
        }
    }
}

impl Shared {
    async fn answer(&self, request: HttpRequest) -> Option<Sent> {
        let path = request.path.as_str();
        let sent = match (request.method.as_str(), path) {
            ("POST", _) if path.ends_with("/chat/completions") => {
                return self.chat(request.body).await;
            }
            ("GET", _) if path.ends_with("/models") => wire::models(),
            ("GET", "/stats") => wire::stats(&self.stats.borrow()),
            ("GET", "/last") => wire::json(200, &self.lock().last_body),
            ("POST", "/release") => {
                self.releases.send_modify(|count| *count += 1);
                wire::json(200, "{}")
            }
            ("GET", _) => match path.strip_prefix("/wait/").map(str::parse) {
                Some(Ok(requests)) => wire::stats(&self.wait_for(requests).await),
                _ => wire::not_found(),
            },
            _ => wire::not_found(),
        };
        Some(sent.into())
    }

    async fn chat(&self, body: String) -> Option<Sent> {
        // Subscribed before the arrival is told, so that whoever was told of it can release it.
        let mut releases = self.releases.subscribe();
        let asked = Asked::read(&body);
        let bytes_in = body.len() as u64;
        let answer = {
            let mut talks = self.lock();
            let tally = talks.tallies.entry(asked.key).or_default();
            let answer = asked.conduct.answer(tally.hear(asked.outputs));
            talks.last_body = body;
            answer
        };
        self.stats.send_modify(|stats| {
            stats.requests += 1;
            stats.bytes_in += bytes_in;
            stats.last_at_us = now_us();
        });
        let answer = match answer {
            Answer::Hang => {
                releases.changed().await.ok()?;
                asked.conduct.answer_released(asked.outputs)
            }
            answer => answer,
        };
        let sent = render(&answer, &asked, bytes_in);
        let bytes_out = sent.whole.len() as u64;
        self.stats.send_modify(|stats| stats.bytes_out += bytes_out);
        Some(sent)
    }

    async fn wait_for(&self, requests: u64) -> Stats {
        let mut stats = self.stats.subscribe();
        match stats.wait_for(|stats| stats.requests >= requests).await {
            Ok(stats) => *stats,
            // The sender lives in `self`.
            Err(_) => *self.stats.borrow(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Talks> {
        // A panic elsewhere leaves nothing half done in here.
        self.talks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn render(answer: &Answer, asked: &Asked, bytes_in: u64) -> Sent {
    match answer {
        Answer::Call(call) => wire::reply(call, asked, bytes_in).into(),
        Answer::Fault(RequestFault::TooMany) => wire::too_many().into(),
        Answer::Fault(RequestFault::ServerError) => wire::server_error().into(),
        Answer::Fault(RequestFault::NotJson) => wire::html().into(),
        Answer::Fault(RequestFault::Empty) => wire::empty(asked, bytes_in).into(),
        Answer::Fault(RequestFault::Cut) => {
            let call = asked.conduct.good_call(asked.outputs);
            let whole = wire::reply(&call, asked, bytes_in);
            let cut_at = wire::middle_of_body(&whole);
            Sent {
                whole,
                cut_at: Some(cut_at),
            }
        }
        // A hanging request has been turned into another answer by now.
        Answer::Hang => wire::server_error().into(),
    }
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}
