//! A plain WebSocket client: it sends what it is told, also what no library would send.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::http;
use crate::server::{Client, Server};

pub(crate) struct Socket {
    stream: TcpStream,
    /// What has been read and not been asked for yet.
    waiting: VecDeque<Value>,
    requests: u32,
}

/// How a socket ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Text(String),
    Closed(Option<u16>),
}

/// Asks for a socket and gives the head of the answer.
pub(crate) fn upgrade(server: &Server, headers: &str) -> (TcpStream, String) {
    upgrade_at(&server.address, headers)
}

pub(crate) fn upgrade_at(address: &str, headers: &str) -> (TcpStream, String) {
    let mut stream = http::connect(address);
    let request = format!(
        "GET /ws HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=={headers}\r\n\r\n"
    );
    stream
        .write_all(request.as_bytes())
        .expect("the server listens");
    let mut head = vec![];
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("the server answers");
        head.push(byte[0]);
    }
    (stream, String::from_utf8(head).expect("a head is text"))
}

impl Socket {
    pub(crate) fn open(server: &Server, client: &Client) -> Self {
        Self::opened(upgrade(server, client.headers()))
    }

    pub(crate) fn opened((stream, head): (TcpStream, String)) -> Self {
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        assert!(
            head.to_ascii_lowercase()
                .contains("s3pplmbitxaq9kygzzhzrbk+xoo="),
            "{head}"
        );
        Self {
            stream,
            waiting: VecDeque::new(),
            requests: 0,
        }
    }

    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_frame(1, message.to_string().as_bytes());
    }

    /// Sends a whole frame, masked as a client's must be.
    pub(crate) fn send_frame(&mut self, opcode: u8, payload: &[u8]) {
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
        frame.extend(
            payload
                .iter()
                .enumerate()
                .map(|(at, byte)| byte ^ mask[at % 4]),
        );
        // A server that has closed takes no more.
        let _closed = self.stream.write_all(&frame);
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let _closed = self.stream.write_all(bytes);
    }

    /// The next text or the end; pings are answered on the way.
    pub(crate) fn hear(&mut self) -> Heard {
        loop {
            let Some((opcode, payload)) = self.frame() else {
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

    fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).ok()?;
        assert_eq!(head[0] & 0x80, 0x80, "the server sends whole messages");
        assert_eq!(head[1] & 0x80, 0, "a server masks nothing");
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length).ok()?;
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length).ok()?;
                u64::from_be_bytes(length)
            }
            length => u64::from(length),
        };
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some((head[0] & 0x0f, payload))
    }

    /// The next message.
    pub(crate) fn next(&mut self) -> Value {
        if let Some(message) = self.waiting.pop_front() {
            return message;
        }
        self.read()
    }

    fn read(&mut self) -> Value {
        match self.hear() {
            Heard::Text(text) => serde_json::from_str(&text).expect("messages are JSON"),
            Heard::Closed(code) => panic!("the socket was closed: {code:?}"),
        }
    }

    /// Asks, and gives the answer; what comes before it waits.
    pub(crate) fn ask(&mut self, mut message: Value) -> Value {
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

    pub(crate) fn follow_workspace(&mut self, workspace: &str, cursor: Option<u64>) -> Value {
        self.ask(
            json!({ "type": "subscribe_workspace", "workspace_id": workspace, "cursor": cursor }),
        )
    }

    pub(crate) fn follow_note(&mut self, note: &Value, cursor: Option<u64>) -> Value {
        self.ask(json!({ "type": "subscribe_note", "note_id": note["note_id"], "cursor": cursor }))
    }

    /// The sequence numbers of so many events.
    pub(crate) fn seqs(&mut self, count: usize) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let event = self.next();
                event["event_seq"]
                    .as_u64()
                    .unwrap_or_else(|| panic!("{event}"))
            })
            .collect()
    }
}
