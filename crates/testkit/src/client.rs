//! A client of a server, and how it authenticates.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::http::{self, Reply};
use crate::socket::Socket;

/// So many keys have been given out: no two requests of a test have the same.
static KEYS: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Debug)]
pub struct Client {
    pub address: String,
    /// Header lines, each beginning with a line break.
    headers: String,
}

impl Client {
    pub fn with(address: &str, headers: &str) -> Self {
        Self {
            address: address.to_owned(),
            headers: headers.to_owned(),
        }
    }

    pub fn with_token(address: &str, token: &str) -> Self {
        Self::with(address, &format!("\r\nAuthorization: Bearer {token}"))
    }

    /// The same client with one more header.
    pub fn and(&self, header: &str) -> Self {
        let headers = format!("{}\r\n{header}", self.headers);
        Self::with(&self.address, &headers)
    }

    pub fn headers(&self) -> &str {
        &self.headers
    }

    /// A socket of theirs.
    #[track_caller]
    pub fn socket(&self) -> Socket {
        Socket::open(&self.address, &self.headers)
    }

    #[track_caller]
    pub fn send(&self, line: &str, headers: &str, body: &[u8]) -> Reply {
        let headers = format!("Connection: close{}{headers}", self.headers);
        let head = http::head(&self.address, line, &headers);
        http::receive(http::send(&self.address, &head, body))
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Reply {
        self.send(&format!("GET {path}"), "", b"")
    }

    /// Sends JSON with a key of its own.
    #[track_caller]
    pub fn json(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.keyed(method, path, &new_key(), body)
    }

    /// Sends JSON with headers, each beginning with a line break.
    #[track_caller]
    pub fn keyed(&self, method: &str, path: &str, headers: &str, body: &Value) -> Reply {
        let headers = format!("{headers}\r\nContent-Type: application/json");
        let line = format!("{method} {path}");
        self.send(&line, &headers, body.to_string().as_bytes())
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.json("POST", path, body)
    }

    #[track_caller]
    pub fn patch(&self, path: &str, body: &Value) -> Reply {
        self.json("PATCH", path, body)
    }

    #[track_caller]
    pub fn put(&self, path: &str, body: &Value) -> Reply {
        self.json("PUT", path, body)
    }

    #[track_caller]
    pub fn delete(&self, path: &str) -> Reply {
        self.send(&format!("DELETE {path}"), &new_key(), b"")
    }
}

/// A header with a key that no other request has.
fn new_key() -> String {
    let number = KEYS.fetch_add(1, Ordering::Relaxed);
    format!("\r\nIdempotency-Key: key-{}-{number}", std::process::id())
}
