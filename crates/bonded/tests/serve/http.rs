//! A plain HTTP client: it sends what it is told, also what no library would send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(90);

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{self:?} is not JSON: {error}"))
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> String {
        let code = self.json()["error"]["code"].clone();
        code.as_str().unwrap_or_default().to_owned()
    }

    /// The data of each event.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let data = data.filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).expect("the data of an event is JSON"))
            .collect()
    }
}

pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a timeout can be set");
    stream
}

/// Writes a request and leaves its connection open.
pub(crate) fn send(address: &str, head: &str, body: &[u8]) -> TcpStream {
    let mut stream = connect(address);
    let request = format!("{head}\r\nContent-Length: {}\r\n\r\n", body.len());
    // A server that refuses may close before it has read everything.
    let _closed = stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.write_all(body));
    stream
}

/// Reads an answer up to the end of its connection.
pub(crate) fn receive(mut stream: TcpStream) -> Reply {
    let mut bytes = vec![];
    stream
        .read_to_end(&mut bytes)
        .expect("the server answers in time");
    let text = String::from_utf8(bytes).expect("the server answers in UTF-8");
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{text:?} is no answer"));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    let mut reply = Reply {
        status: status.expect("an answer has a status"),
        head: head.to_owned(),
        body: body.to_owned(),
    };
    if reply.header("transfer-encoding") == Some("chunked") {
        reply.body = joined(body);
    }
    reply
}

/// Joins the chunks of a body.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk has a size");
        body.push_str(&rest[..size]);
        chunks = rest[size..].trim_start_matches("\r\n");
    }
    body
}
