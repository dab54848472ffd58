//! Followers of the workspace's stream: they go away without a word and come back, and hear every event once.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rng::Rng;
use crate::wire;
use crate::world::World;

pub(crate) const FOLLOWERS: u64 = 8;

/// How long a follower stays at most.
const STAYS_MS: u64 = 20_000;

pub(crate) fn follow(world: &World, number: u64) {
    let mut rng = Rng::new(world.seed, 200 + number);
    let mut cursor = None;
    while !world.is_over() {
        let stays = Duration::from_millis(500 + rng.below(STAYS_MS));
        match stay(world, &mut cursor, stays) {
            Ok(()) => world.tally.count("socket", "reconnected"),
            Err(error) => world.tally.is_wrong("socket", &error.to_string()),
        }
    }
}

/// Follows for a while from where the last one stopped.
fn stay(world: &World, cursor: &mut Option<u64>, stays: Duration) -> io::Result<()> {
    let mut stream = upgrade(world)?;
    let asked = json!({
        "type": "subscribe_workspace", "workspace_id": world.workspace_id, "cursor": cursor, "request_id": "s",
    });
    send(&mut stream, 1, asked.to_string().as_bytes())?;
    let began = Instant::now();
    while !world.is_over() && began.elapsed() < stays {
        let (opcode, payload) = match frame(&mut stream) {
            Err(error) if is_silence(&error) => continue,
            heard => heard?,
        };
        match opcode {
            9 => send(&mut stream, 10, &payload)?,
            1 => take(world, &payload, cursor)?,
            8 => return Err(io::Error::other("the server closed a socket that answers")),
            _ => {}
        }
    }
    // It is dropped without a farewell.
    Ok(())
}

fn take(world: &World, payload: &[u8], cursor: &mut Option<u64>) -> io::Result<()> {
    let heard: Value = serde_json::from_slice(payload)?;
    if heard["type"] == "error" {
        return Err(io::Error::other(format!("an error: {heard}")));
    }
    if heard["type"] == "subscribed" && cursor.is_none() {
        *cursor = heard["replay_cursor"].as_u64();
    }
    let Some(seq) = heard["event_seq"].as_u64() else {
        return Ok(());
    };
    let due = cursor.map(|last| last + 1);
    *cursor = Some(seq);
    if due.is_none_or(|due| due == seq) {
        world.tally.count("socket", "event in its place");
        return Ok(());
    }
    let what = format!("event {seq} came where {due:?} was due");
    Err(io::Error::other(what))
}

pub(crate) fn upgrade(world: &World) -> io::Result<TcpStream> {
    let mut stream = wire::connect(&world.workspace_at)?;
    let request = format!(
        "GET /ws HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=={}\r\n\r\n",
        world.workspace_at, world.owner
    );
    stream.write_all(request.as_bytes())?;
    let mut head = vec![];
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    if !head.starts_with(b"HTTP/1.1 101") {
        let head = String::from_utf8_lossy(&head).into_owned();
        return Err(io::Error::other(head));
    }
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    Ok(stream)
}

fn is_silence(error: &io::Error) -> bool {
    [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut].contains(&error.kind())
}

/// Sends a whole frame, masked as a client's must be.
fn send(stream: &mut TcpStream, opcode: u8, payload: &[u8]) -> io::Result<()> {
    let mut frame = vec![0x80 | opcode];
    match u8::try_from(payload.len()) {
        Ok(length @ 0..126) => frame.push(0x80 | length),
        _ => {
            let length = u16::try_from(payload.len()).map_err(io::Error::other)?;
            frame.push(0x80 | 126);
            frame.extend(length.to_be_bytes());
        }
    }
    let mask = [1, 2, 3, 4];
    frame.extend(mask);
    frame.extend(
        (0..)
            .zip(payload)
            .map(|(at, byte): (usize, _)| byte ^ mask[at % 4]),
    );
    stream.write_all(&frame)
}

/// The next frame. A silence is an error only where a frame has begun.
fn frame(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head[..1])?;
    read(stream, &mut head[1..])?;
    let length = match head[1] {
        126 => {
            let mut length = [0; 2];
            read(stream, &mut length)?;
            usize::from(u16::from_be_bytes(length))
        }
        127 => {
            let mut length = [0; 8];
            read(stream, &mut length)?;
            usize::try_from(u64::from_be_bytes(length)).map_err(io::Error::other)?
        }
        length => usize::from(length),
    };
    let mut payload = vec![0; length];
    read(stream, &mut payload)?;
    Ok((head[0] & 0x0f, payload))
}

/// Reads all of it, whatever pauses there are.
fn read(stream: &mut TcpStream, mut into: &mut [u8]) -> io::Result<()> {
    let began = Instant::now();
    while !into.is_empty() {
        match stream.read(into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => into = &mut into[length..],
            Err(error) if is_silence(&error) && began.elapsed() < wire::PATIENCE => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
