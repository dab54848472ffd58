//! Requests over bare connections.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::fault::Fault;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Sends a request and leaves the answer to be read.
pub(super) fn request(
    port: u16,
    line: &str,
    headers: &str,
    body: &str,
) -> Result<TcpStream, Fault> {
    let send = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let length = body.len();
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        Ok(stream)
    };
    send().map_err(|error: std::io::Error| Fault::unmeasured(format!("{line}: {error}")))
}

/// The body of an answer, which must be a success.
pub(super) fn ask(port: u16, line: &str, headers: &str, body: &str) -> Result<String, Fault> {
    let headers = format!("{headers}Connection: close\r\n");
    let stream = request(port, line, &headers, body)?;
    let read = || {
        let mut reader = BufReader::new(stream);
        let mut status = String::new();
        reader.read_line(&mut status)?;
        let mut rest = vec![];
        reader.read_to_end(&mut rest)?;
        Ok((status, String::from_utf8_lossy(&rest).into_owned()))
    };
    let (status, rest) =
        read().map_err(|error: std::io::Error| Fault::unmeasured(format!("{line}: {error}")))?;
    match status.split(' ').nth(1) {
        Some(code) if code.starts_with('2') => Ok(rest),
        _ => Err(Fault::unmeasured(format!("{line}: {status}{rest}"))),
    }
}

/// The first text of this name in an answer.
pub(super) fn text_of(answer: &str, name: &str) -> Result<String, Fault> {
    let (_, rest) = answer
        .split_once(&format!("\"{name}\":\""))
        .ok_or_else(|| Fault::unmeasured(format!("no {name} in {answer}")))?;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}

/// The header of a token.
pub(super) fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}
