//! A client whose server may die at any moment: an answer is whole, or there is none.

use std::io::{self, Error, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Long enough for a busy machine; a server that is silent for this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Something to ask. Sent again, it is the same to the byte.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// Names the request, for the server and in the events that it leaves.
    pub(crate) key: String,
    pub(crate) body: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// Sends a request. An error means that nobody knows whether it was heard.
pub(crate) fn ask(address: &str, token: &str, request: &Request) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let body = request
        .body
        .as_ref()
        .map_or(String::new(), Value::to_string);
    let Request {
        method, path, key, ..
    } = request;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
         Idempotency-Key: {key}\r\nX-Request-Id: {key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut bytes = vec![];
    stream.read_to_end(&mut bytes)?;
    parsed(&bytes).ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))
}

/// `None` where a part is missing.
fn parsed(bytes: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_meant = name.eq_ignore_ascii_case("content-length");
        is_meant.then(|| value.trim().parse::<usize>().ok())?
    });
    if status != 204 && body.len() < length? {
        return None;
    }
    let body = serde_json::from_str(body).unwrap_or(Value::Null);
    Some(Answer { status, body })
}
