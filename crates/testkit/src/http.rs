//! A plain HTTP client: it sends what it is told, also what no library would send.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use crate::patience::PATIENCE;

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
    /// Whether all of the body came that was announced.
    is_whole: bool,
    /// Whether it ends within a chunk, which no server means to.
    is_torn: bool,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{self:?} is not JSON: {error}"))
    }

    /// The body, or null where it is no JSON.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Asserts that the status is this one, and gives the body.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.value()
    }

    /// The code of an error, in the shape of either kind of server.
    pub fn code(&self) -> String {
        let body = self.json();
        let code = [&body["error"]["code"], &body["code"]];
        let code = code.into_iter().find_map(Value::as_str);
        code.unwrap_or_default().to_owned()
    }

    /// The data of each event.
    pub fn events(&self) -> Vec<Value> {
        let lines = self.body.lines();
        let data = lines.filter_map(|line| line.strip_prefix("data: "));
        let data = data.filter(|data| !["", "[DONE]"].contains(data));
        data.map(|data| serde_json::from_str(data).expect("the data of an event is JSON"))
            .collect()
    }
}

#[track_caller]
pub fn connect(address: &str) -> TcpStream {
    try_connect(address).expect("the server listens")
}

/// A connection over which nobody waits for ever.
pub fn try_connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// The head of a request up to its length: a method with a path, and more headers. Whether these have line breaks
/// before or after them does not matter.
pub fn head(address: &str, line: &str, headers: &str) -> String {
    let head = format!("{line} HTTP/1.1\r\nHost: {address}");
    match headers.trim() {
        "" => head,
        headers => format!("{head}\r\n{headers}"),
    }
}

/// Writes a request and leaves its connection open.
#[track_caller]
pub fn send(address: &str, head: &str, body: &[u8]) -> TcpStream {
    let mut stream = connect(address);
    write(&mut stream, head, body);
    stream
}

/// Writes a request over a connection. A server that refuses may close before it has read everything: whether it was
/// heard is for the answer to say.
pub fn write(stream: &mut TcpStream, head: &str, body: &[u8]) {
    let _closed = try_write(stream, head, body);
}

fn try_write(stream: &mut TcpStream, head: &str, body: &[u8]) -> io::Result<()> {
    let request = format!("{head}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(request.as_bytes())?;
    stream.write_all(body)
}

/// Writes all of a request but the last byte of its body.
#[track_caller]
pub fn send_almost(address: &str, head: &str, body: &[u8]) -> TcpStream {
    let mut stream = connect(address);
    let request = format!("{head}\r\nContent-Length: {}\r\n\r\n", body.len() + 1);
    let sent = stream.write_all(request.as_bytes());
    sent.and_then(|()| stream.write_all(body))
        .expect("the server takes it in");
    stream
}

/// Reads an answer up to the end of its connection.
#[track_caller]
pub fn receive(mut stream: TcpStream) -> Reply {
    let mut bytes = vec![];
    stream
        .read_to_end(&mut bytes)
        .expect("the server answers in time");
    assert!(
        std::str::from_utf8(&bytes).is_ok(),
        "the server answers in UTF-8"
    );
    let reply = parsed(&bytes).filter(|reply| !reply.is_torn);
    reply.unwrap_or_else(|| panic!("{:?} is no answer", String::from_utf8_lossy(&bytes)))
}

/// Reads one answer whole and leaves the connection as it is; `None` where it ends before.
pub fn receive_one(stream: &mut TcpStream) -> Option<Reply> {
    let (mut bytes, mut piece) = (vec![], [0; 16_384]);
    loop {
        let count = stream.read(&mut piece).ok()?;
        bytes.extend_from_slice(&piece[..count]);
        let reply = parsed(&bytes);
        let has_end = |reply: &Reply| count == 0 || reply.announces_its_end();
        match reply.filter(|reply| reply.is_whole && has_end(reply)) {
            Some(reply) => return Some(reply),
            None if count == 0 => return None,
            None => {}
        }
    }
}

/// Asks with a connection of its own, to whom everything may happen: an answer is whole, or there is none.
pub fn ask(address: &str, line: &str, headers: &str, body: Option<&Value>) -> io::Result<Reply> {
    let mut stream = try_connect(address)?;
    let headers = format!(
        "Connection: close\r\nContent-Type: application/json\r\n{}",
        headers.trim()
    );
    let body = body.map_or(String::new(), Value::to_string);
    try_write(&mut stream, &head(address, line, &headers), body.as_bytes())?;
    let mut bytes = vec![];
    stream.read_to_end(&mut bytes)?;
    parsed(&bytes)
        .filter(|reply| reply.is_whole && reply.announces_its_end())
        .ok_or_else(|| {
            let heard = String::from_utf8_lossy(&bytes).into_owned();
            let what = format!("no whole answer: {heard:?}");
            io::Error::new(io::ErrorKind::UnexpectedEof, what)
        })
}

/// An answer, as far as it has come; `None` before its head is whole.
fn parsed(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, body) = (&bytes[..end], &bytes[end + 4..]);
    let head = String::from_utf8_lossy(head).into_owned();
    let mut reply = Reply {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head,
        body: String::new(),
        is_whole: true,
        is_torn: false,
    };
    if reply.header("transfer-encoding") == Some("chunked") {
        let joined = joined(body, &mut reply);
        reply.body = String::from_utf8_lossy(&joined).into_owned();
        return Some(reply);
    }
    let length: Option<usize> = reply
        .header("content-length")
        .and_then(|it| it.parse().ok());
    reply.is_whole = length.is_none_or(|length| body.len() >= length);
    reply.body = String::from_utf8_lossy(body).into_owned();
    Some(reply)
}

impl Reply {
    fn announces_its_end(&self) -> bool {
        self.status == 204
            || self.header("content-length").is_some()
            || self.header("transfer-encoding").is_some()
    }
}

/// Joins the chunks of a body as far as they came, and takes down how they end.
fn joined(mut chunks: &[u8], reply: &mut Reply) -> Vec<u8> {
    let mut body = vec![];
    reply.is_whole = false;
    while let Some(end) = chunks.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&chunks[..end]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("a chunk has a size");
        if size == 0 {
            reply.is_whole = true;
            break;
        }
        let rest = &chunks[end + 2..];
        let Some(chunk) = rest.get(..size) else {
            body.extend_from_slice(rest);
            reply.is_torn = true;
            break;
        };
        body.extend_from_slice(chunk);
        chunks = rest.get(size + 2..).unwrap_or_default();
    }
    body
}
