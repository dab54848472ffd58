//! One connection to the server: as much of HTTP/1.1 as its answers need.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::Fault;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    answered_at: Option<Instant>,
}

/// What is known when the head of an answer has come.
struct Head {
    /// Where the body begins.
    body: usize,
    is_success: bool,
    body_bytes: usize,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Result<Self, Fault> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: Vec::with_capacity(32 << 10),
            answered_at: None,
        })
    }

    /// Whether an answer had not come yet at that time.
    pub(crate) fn was_busy_at(&self, time: Instant) -> bool {
        self.answered_at.is_some_and(|answered| answered > time)
    }

    /// Sends a request and reads its whole answer, which must be a success.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<(), Fault> {
        self.stream.write_all(request).await?;
        self.received.clear();
        let head = loop {
            self.more().await?;
            if let Some(head) = head(&self.received) {
                break head;
            }
        };
        while self.received.len() < head.body + head.body_bytes {
            self.more().await?;
        }
        self.answered_at = Some(Instant::now());
        if head.is_success {
            return Ok(());
        }
        let asked = String::from_utf8_lossy(request);
        let asked = asked.lines().next().unwrap_or_default();
        let said = String::from_utf8_lossy(&self.received);
        Err(format!("{asked}: {said}").into())
    }

    async fn more(&mut self) -> Result<(), Fault> {
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err("the server closed the connection".into()),
            _ => Ok(()),
        }
    }
}

fn head(received: &[u8]) -> Option<Head> {
    let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&received[..end]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_it = name.eq_ignore_ascii_case("content-length");
        is_it.then(|| value.trim().parse().ok())?
    });
    Some(Head {
        body: end + 4,
        is_success: text.starts_with("HTTP/1.1 2"),
        body_bytes: length.unwrap_or(0),
    })
}
