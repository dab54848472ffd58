//! Requests and answers as they stand on the wire.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::reply::Manner;
use super::{Asked, Reply, Shared};

/// Answers one request, or as many as come where connections are kept.
pub(super) fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream)? {
        let mut reply = shared.hear(&asked);
        thread::sleep(reply.delay);
        if let Some(nonce) = asked.nonce() {
            reply.body = with_nonce(reply.body, &nonce);
        }
        if let Manner::Echoes = reply.manner {
            reply.body = asked.whole().into_bytes();
        }
        let keeps = shared.lock().keeps_connections && reply.is_whole();
        let tell = || shared.answered(&asked, &reply);
        answer(stream.get_mut(), &reply, keeps, &tell)?;
        if !keeps {
            break;
        }
    }
    Ok(())
}

/// The next request; `None` where the client went away before it was whole.
fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Asked>> {
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut head)? == 0 {
            return Ok(None);
        }
    }
    let head = String::from_utf8_lossy(&head).trim_end().to_owned();
    let (line, rest) = head.split_once("\r\n").unwrap_or((&head, ""));
    let headers: BTreeMap<String, String> = rest
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length");
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![];
    if stream.by_ref().take(length).read_to_end(&mut body)? as u64 != length {
        return Ok(None);
    }
    Ok(Some(Asked {
        line: line.trim_end_matches(" HTTP/1.1").to_owned(),
        path: line.split(' ').nth(1).unwrap_or_default().to_owned(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        text: String::from_utf8_lossy(&body).into_owned(),
        head,
        at: Instant::now(),
    }))
}

/// Bytes that are no text have no place for a nonce.
fn with_nonce(body: Vec<u8>, nonce: &str) -> Vec<u8> {
    match String::from_utf8(body) {
        Ok(text) => text.replace("NONCE", nonce).into_bytes(),
        Err(other) => other.into_bytes(),
    }
}

/// Tells when the answer is on its way.
fn answer(stream: &mut TcpStream, reply: &Reply, keeps: bool, tell: &dyn Fn()) -> io::Result<()> {
    let body = &*reply.body;
    match reply.manner {
        Manner::Closes => return Ok(()),
        Manner::Silent => return wait_for_farewell(stream),
        Manner::Streamed { letters, pause } => {
            stream.write_all(head(reply, false, None).as_bytes())?;
            say_events(stream, &String::from_utf8_lossy(body), letters, pause)?;
            tell();
        }
        Manner::Whole | Manner::Echoes => {
            stream.write_all(head(reply, keeps, Some(body.len())).as_bytes())?;
            // Before the last byte is out: whoever has it finds it booked.
            tell();
            stream.write_all(body)?;
        }
        Manner::Cut => {
            stream.write_all(head(reply, false, Some(body.len())).as_bytes())?;
            stream.write_all(&body[..body.len() / 2])?;
            tell();
        }
        Manner::Hangs => {
            stream.write_all(head(reply, false, None).as_bytes())?;
            stream.write_all(body)?;
            tell();
            wait_for_farewell(stream)?;
        }
        Manner::Endless(pause) => {
            stream.write_all(head(reply, false, None).as_bytes())?;
            loop {
                stream.write_all(body)?;
                thread::sleep(pause);
            }
        }
    }
    Ok(())
}

/// Everything before the body. Without a length the body ends with the connection.
fn head(reply: &Reply, keeps: bool, length: Option<usize>) -> String {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(length) = length {
        head.push_str(&format!("content-length: {length}\r\n"));
    }
    if !keeps {
        head.push_str("connection: close\r\n");
    }
    head + "\r\n"
}

/// Nothing comes: it ends when the client goes away.
fn wait_for_farewell(stream: &mut TcpStream) -> io::Result<()> {
    stream.read(&mut [0]).map(drop)
}

/// Says a text as events. Every byte is written by itself, so that letters are cut, too.
fn say_events(
    stream: &mut TcpStream,
    said: &str,
    letters: usize,
    pause: Duration,
) -> io::Result<()> {
    let all: Vec<char> = said.chars().collect();
    let pieces = all.chunks(letters).map(String::from_iter);
    let said = pieces.map(|piece| (json!({ "content": piece }), Value::Null));
    for (delta, finish) in said.chain([(json!({}), json!("stop"))]) {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({ "id": "c", "model": "answered", "choices": [choice] });
        for byte in format!("data: {chunk}\n\n").as_bytes() {
            stream.write_all(&[*byte])?;
        }
        thread::sleep(pause);
    }
    stream.write_all(b"data: [DONE]\n\n")
}
