//! A client of HTTP to whom everything may happen: an answer is whole, or there is none.

use std::io::{self, Error, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A server that is silent for this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The data of each event.
    pub(crate) fn events(&self) -> Vec<Value> {
        let lines = self.body.lines();
        let data = lines.filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok())
            .collect()
    }

    /// What an error is called, in the shapes of all servers; nothing where the answer is none.
    pub(crate) fn code(&self) -> Option<String> {
        let whole = self.json();
        let events = self.events();
        let mut shapes = std::iter::once(&whole).chain(&events);
        shapes.find_map(|shape| {
            let places = [
                &shape["error"]["code"],
                &shape["code"],
                &shape["response"]["error"]["code"],
                &shape["result"]["_meta"]["bonded/code"],
            ];
            places
                .into_iter()
                .find_map(Value::as_str)
                .map(str::to_owned)
        })
    }
}

pub(crate) fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A whole request as it goes over the wire; each further header begins with a line break.
pub(crate) fn request(line: &str, headers: &str, body: Option<&Value>) -> String {
    let body = body.map_or(String::new(), Value::to_string);
    format!(
        "{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json{headers}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Asks, and reads the answer to the end of the connection.
pub(crate) fn ask(
    address: &str,
    line: &str,
    headers: &str,
    body: Option<&Value>,
) -> io::Result<Reply> {
    let mut stream = connect(address)?;
    stream.write_all(request(line, headers, body).as_bytes())?;
    let mut bytes = vec![];
    stream.read_to_end(&mut bytes)?;
    parsed(&bytes).ok_or_else(|| {
        let heard = String::from_utf8_lossy(&bytes).into_owned();
        Error::new(
            ErrorKind::UnexpectedEof,
            format!("no whole answer: {heard:?}"),
        )
    })
}

/// `None` where a part is missing.
fn parsed(bytes: &[u8]) -> Option<Reply> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut reply = Reply {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_owned(),
        body: body.to_owned(),
    };
    if reply.header("transfer-encoding") == Some("chunked") {
        reply.body = joined(body)?;
    } else if let Some(length) = reply.header("content-length") {
        (body.len() >= length.parse().ok()?).then_some(())?;
    }
    Some(reply)
}

/// Joins the chunks of a body that came to its end.
fn joined(mut chunks: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (size, rest) = chunks.split_once("\r\n")?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.push_str(rest.get(..size)?);
        chunks = rest.get(size..)?.strip_prefix("\r\n")?;
    }
}
