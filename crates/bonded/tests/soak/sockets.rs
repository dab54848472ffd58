//! Followers of the workspace's stream: they go away without a word and come back, and hear every event once.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bonded_testkit::socket::{self, is_silence, read_frame, send_frame};
use serde_json::{Value, json};

use crate::rng::Rng;
use crate::world::World;

pub(crate) const FOLLOWERS: u64 = 8;

/// How long a follower stays at most.
const STAYS_MS: u64 = 20_000;

pub(crate) fn follow(world: &World, number: u64) {
    let mut rng = Rng::of(world.seed, 200 + number);
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
    send_frame(&mut stream, 1, asked.to_string().as_bytes())?;
    let began = Instant::now();
    while !world.is_over() && began.elapsed() < stays {
        let (opcode, payload) = match read_frame(&mut stream) {
            Err(error) if is_silence(&error) => continue,
            heard => heard?,
        };
        match opcode {
            9 => send_frame(&mut stream, 10, &payload)?,
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
    let (stream, head) = socket::upgrade(&world.workspace_at, &world.owner)?;
    if !head.starts_with("HTTP/1.1 101") {
        return Err(io::Error::other(head));
    }
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    Ok(stream)
}
