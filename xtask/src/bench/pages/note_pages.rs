//! Sockets that follow one note, or its workspace, while it is written.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::http::{ask, bearer, request, text_of};
use super::listeners::Listeners;
use super::{Cost, PAGES};
use crate::bench::figure::Figure;
use crate::bench::rig::Rig;
use crate::bench::served::Served;
use crate::bench::workspace::data_dir;
use crate::fault::Fault;

/// Between two versions.
const VERSION: Duration = Duration::from_millis(100);
/// Of the note.
const BYTES: usize = 2000;

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

pub(super) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let data = data_dir(rig, "live-notes")?;
    let served = Served::ours(rig, &data)?;
    let token = data.join("owner-token");
    let token = fs::read_to_string(&token).map_err(Fault::file(&token))?;
    let headers = bearer(token.trim());
    let workspaces = ask(served.port, "GET /api/workspaces", &headers, "")?;
    let workspace = text_of(&workspaces, "workspace_id")?;
    let keyed = format!("{headers}Idempotency-Key: note\r\n");
    let note = format!("{{\"workspace_id\":\"{workspace}\",\"title\":\"live\"}}");
    let note = ask(served.port, "POST /api/notes", &keyed, &note)?;
    let note = text_of(&note, "note_id")?;
    let is_over = AtomicBool::new(false);
    let cost = thread::scope(|scope| {
        let writer = scope.spawn(|| write(served.port, &headers, &note, &is_over));
        let cost = Cost::of(&served, || {
            Listeners::open(PAGES, |number| {
                let subject = match number % 2 {
                    0 => format!("{{\"type\":\"subscribe_note\",\"note_id\":\"{note}\"}}"),
                    _ => format!(
                        "{{\"type\":\"subscribe_workspace\",\"workspace_id\":\"{workspace}\"}}"
                    ),
                };
                socket(served.port, &headers, &subject)
            })
        });
        is_over.store(true, Ordering::Relaxed);
        let written = writer.join();
        written.map_err(|_| Fault::unmeasured("the writer of the note failed"))??;
        cost
    })?;
    cost.figures(rig, "a note")
}

/// Writes version after version until it is over.
fn write(port: u16, headers: &str, note: &str, is_over: &AtomicBool) -> Result<(), Fault> {
    let text = "x".repeat(BYTES);
    for version in 1.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let keyed = format!("{headers}Idempotency-Key: version-{version}\r\n");
        let body = format!("{{\"base_version\":{version},\"markdown\":\"{version} {text}\"}}");
        ask(port, &format!("PATCH /api/notes/{note}"), &keyed, &body)?;
        thread::sleep(VERSION);
    }
    Ok(())
}

/// A socket that follows something.
fn socket(port: u16, headers: &str, subject: &str) -> Result<TcpStream, Fault> {
    let mut stream = request(port, "GET /ws", &format!("{headers}{UPGRADE}"), "")?;
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).map_err(Fault::unmeasured)?;
        head.push(byte[0]);
    }
    // A text in one frame, masked with zeros, which changes nothing.
    let mut frame = vec![0x81, 0x80 | subject.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(subject.as_bytes());
    stream.write_all(&frame).map_err(Fault::unmeasured)?;
    Ok(stream)
}
