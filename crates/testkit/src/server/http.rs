//! Just enough HTTP/1.1: requests with a Content-Length on a connection that stays open.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const HEAD_BYTES_MAX: usize = 64 << 10;
const BODY_BYTES_MAX: usize = 256 << 20;
const READ_BYTES: usize = 16 << 10;
const HEAD_END: &[u8] = b"\r\n\r\n";

pub(super) struct Connection {
    stream: TcpStream,
    /// What was read and not yet taken.
    buffer: Vec<u8>,
}

pub(super) struct HttpRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: String,
}

struct Head {
    method: String,
    path: String,
    body_bytes: usize,
    expects_continue: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: vec![],
        })
    }

    /// The next request; `None` when the client has closed the connection between two requests.
    pub(super) async fn next(&mut self) -> io::Result<Option<HttpRequest>> {
        let Some(head_bytes) = self.read_head().await? else {
            return Ok(None);
        };
        let head = Head::parse(&self.buffer[..head_bytes])?;
        if head.expects_continue {
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let whole = head_bytes + head.body_bytes;
        self.buffer.reserve(whole.saturating_sub(self.buffer.len()));
        while self.buffer.len() < whole {
            self.read_more().await?;
        }
        let body = self.buffer[head_bytes..whole].to_vec();
        self.buffer.drain(..whole);
        Ok(Some(HttpRequest {
            method: head.method,
            path: head.path,
            body: String::from_utf8(body).map_err(io::Error::other)?,
        }))
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads until a head is whole and tells its length.
    async fn read_head(&mut self) -> io::Result<Option<usize>> {
        let mut searched = 0;
        loop {
            let found = self.buffer[searched..]
                .windows(HEAD_END.len())
                .position(|window| window == HEAD_END);
            if let Some(at) = found {
                return Ok(Some(searched + at + HEAD_END.len()));
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(bad("the head of the request is too long"));
            }
            searched = self.buffer.len().saturating_sub(HEAD_END.len() - 1);
            match self.read_more().await {
                Ok(()) => {}
                Err(_) if self.buffer.is_empty() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    async fn read_more(&mut self) -> io::Result<()> {
        if self.buffer.capacity() == self.buffer.len() {
            self.buffer.reserve(READ_BYTES);
        }
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl Head {
    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(bad("the first line is not METHOD PATH VERSION"));
        };
        let mut head = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            body_bytes: 0,
            expects_continue: false,
        };
        for line in lines {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            if name.eq_ignore_ascii_case("content-length") {
                let length: usize = value.trim().parse().map_err(io::Error::other)?;
                head.body_bytes = length;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(bad("a body without a length is not understood here"));
            } else if name.eq_ignore_ascii_case("expect") {
                head.expects_continue = true;
            }
        }
        if head.body_bytes > BODY_BYTES_MAX {
            return Err(bad("the body is too long"));
        }
        Ok(head)
    }
}

fn bad(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
