//! A plain WebSocket client: it sends what it is told, also what no library would send.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};

use crate::http;
use crate::patience::PATIENCE;

/// What a server makes of the key that every client here shows.
const ACCEPTED: &str = "s3pplmbitxaq9kygzzhzrbk+xoo=";

#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    /// What has been read and not been asked for yet.
    waiting: VecDeque<Value>,
    requests: u32,
}

/// What a socket brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Text(String),
    Closed(Option<u16>),
}

/// Asks for a socket and gives the head of the answer.
pub fn upgrade(address: &str, headers: &str) -> io::Result<(TcpStream, String)> {
    let mut stream = http::try_connect(address)?;
    let request = format!(
        "GET /ws HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=={headers}\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut head = vec![];
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).map_err(io::Error::other)?;
    Ok((stream, head))
}

/// Sends a whole frame, masked as a client's must be.
pub fn send_frame(stream: &mut TcpStream, opcode: u8, payload: &[u8]) -> io::Result<()> {
    let mut frame = vec![0x80 | opcode];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    let mask = [1, 2, 3, 4];
    frame.extend(mask);
    let masked = payload.iter().enumerate();
    frame.extend(masked.map(|(at, byte)| byte ^ mask[at % 4]));
    stream.write_all(&frame)
}

/// The next frame. A silence is an error only where no frame has begun.
pub fn read_frame(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head[..1])?;
    read(stream, &mut head[1..])?;
    assert_eq!(head[0] & 0x80, 0x80, "the server sends whole messages");
    assert_eq!(head[1] & 0x80, 0, "a server masks nothing");
    let length = match head[1] {
        126 => {
            let mut length = [0; 2];
            read(stream, &mut length)?;
            u64::from(u16::from_be_bytes(length))
        }
        127 => {
            let mut length = [0; 8];
            read(stream, &mut length)?;
            u64::from_be_bytes(length)
        }
        length => u64::from(length),
    };
    let mut payload = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    read(stream, &mut payload)?;
    Ok((head[0] & 0x0f, payload))
}

/// Whether nothing came for as long as somebody listened.
pub fn is_silence(error: &io::Error) -> bool {
    [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut].contains(&error.kind())
}

/// Reads all of it, whatever pauses there are.
fn read(stream: &mut TcpStream, mut into: &mut [u8]) -> io::Result<()> {
    let began = Instant::now();
    while !into.is_empty() {
        match stream.read(into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => into = &mut into[length..],
            Err(error) if is_silence(&error) && began.elapsed() < PATIENCE => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Socket {
    #[track_caller]
    pub fn open(address: &str, headers: &str) -> Self {
        let upgraded = upgrade(address, headers);
        let (stream, head) = upgraded.expect("the server answers");
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        assert!(head.to_ascii_lowercase().contains(ACCEPTED), "{head}");
        Self {
            stream,
            waiting: VecDeque::new(),
            requests: 0,
        }
    }

    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    pub fn send(&mut self, message: &Value) {
        self.send_frame(1, message.to_string().as_bytes());
    }

    /// A server that has closed takes no more.
    pub fn send_frame(&mut self, opcode: u8, payload: &[u8]) {
        let _closed = send_frame(&mut self.stream, opcode, payload);
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _closed = self.stream.write_all(bytes);
    }

    /// The next text or the end; pings are answered on the way.
    pub fn hear(&mut self) -> Heard {
        loop {
            let Ok((opcode, payload)) = read_frame(&mut self.stream) else {
                return Heard::Closed(None);
            };
            match opcode {
                1 => return Heard::Text(String::from_utf8(payload).expect("texts are UTF-8")),
                8 => {
                    let code = payload
                        .get(..2)
                        .map(|code| u16::from_be_bytes([code[0], code[1]]));
                    return Heard::Closed(code);
                }
                9 => self.send_frame(10, &payload),
                _ => {}
            }
        }
    }

    /// The next message.
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "a socket has no end that a test would wait for"
    )]
    pub fn next(&mut self) -> Value {
        if let Some(message) = self.waiting.pop_front() {
            return message;
        }
        self.read()
    }

    #[track_caller]
    fn read(&mut self) -> Value {
        match self.hear() {
            Heard::Text(text) => serde_json::from_str(&text).expect("messages are JSON"),
            Heard::Closed(code) => panic!("the socket was closed: {code:?}"),
        }
    }

    /// Whether nothing that has come waits to be asked for.
    pub fn has_nothing(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Asks, and gives the answer; what comes before it waits.
    #[track_caller]
    pub fn ask(&mut self, mut message: Value) -> Value {
        self.requests += 1;
        let name = format!("r{}", self.requests);
        message["request_id"] = json!(name);
        self.send(&message);
        loop {
            let heard = self.read();
            if heard["request_id"] == name.as_str() {
                return heard;
            }
            self.waiting.push_back(heard);
        }
    }

    #[track_caller]
    pub fn follow_workspace(&mut self, workspace: &str, cursor: Option<u64>) -> Value {
        self.ask(
            json!({ "type": "subscribe_workspace", "workspace_id": workspace, "cursor": cursor }),
        )
    }

    #[track_caller]
    pub fn follow_note(&mut self, note: &Value, cursor: Option<u64>) -> Value {
        self.ask(json!({ "type": "subscribe_note", "note_id": note["note_id"], "cursor": cursor }))
    }

    /// The sequence numbers of so many events.
    #[track_caller]
    pub fn seqs(&mut self, count: usize) -> Vec<u64> {
        let mut seq = || {
            let event = self.next();
            let seq = event["event_seq"].as_u64();
            seq.unwrap_or_else(|| panic!("{event}"))
        };
        (0..count).map(|_| seq()).collect()
    }
}
