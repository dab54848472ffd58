//! The chat server beside which both programs are measured.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::fault::Fault;

/// Longer than any single measurement takes.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    port: u16,
}

/// What the server has seen so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) bytes_in: u64,
    /// When the last request had arrived.
    pub(crate) last_at_us: u64,
}

impl Server {
    pub(crate) fn start(program: &Path) -> Result<Self, Fault> {
        let mut process = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Fault::file(program))?;
        let mut line = String::new();
        if let Some(stdout) = &mut process.stdout {
            let read = BufReader::new(stdout).read_line(&mut line);
            read.map_err(Fault::file(program))?;
        }
        let port = line
            .trim()
            .parse()
            .map_err(|_| Fault::unmeasured("the chat server did not tell its port"))?;
        Ok(Self { process, port })
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn seen(&self) -> Result<Seen, Fault> {
        seen(&self.ask("GET", "/stats")?)
    }

    /// Waits until so many requests have come.
    pub(crate) fn wait_for(&self, requests: u64) -> Result<Seen, Fault> {
        seen(&self.ask("GET", &format!("/wait/{requests}"))?)
    }

    /// The body of the last request.
    pub(crate) fn last(&self) -> Result<String, Fault> {
        self.ask("GET", "/last")
    }

    /// Has all requests answered that hang.
    pub(crate) fn release(&self) -> Result<(), Fault> {
        self.ask("POST", "/release").map(drop)
    }

    fn ask(&self, method: &str, path: &str) -> Result<String, Fault> {
        self.exchange(method, path)
            .map_err(|error| Fault::unmeasured(format!("the chat server, {path}: {error}")))
    }

    fn exchange(&self, method: &str, path: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\n\r\n")?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            match line.trim() {
                "" => break,
                header => {
                    let value = header.strip_prefix("content-length: ");
                    length = value.and_then(|value| value.parse().ok()).unwrap_or(length);
                }
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends when its stdin closes.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn seen(body: &str) -> Result<Seen, Fault> {
    let number = |key: &str| {
        let (_, rest) = body.split_once(&format!("\"{key}\":"))?;
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let read = || {
        Some(Seen {
            requests: number("requests")?,
            bytes_in: number("bytes_in")?,
            last_at_us: number("last_at_us")?,
        })
    };
    read().ok_or_else(|| Fault::unmeasured(format!("not understood: {body}")))
}

/// The time as the server tells it.
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}
