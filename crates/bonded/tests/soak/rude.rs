//! Clients that vanish: in the middle of a head, of a body, of an answer, or of a socket.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::http;
use crate::model::question;
use crate::rng::Rng;
use crate::sockets;
use crate::world::World;

/// So many wait at once without a word.
const SILENT: usize = 20;

pub(crate) fn vanish(world: &World) {
    let mut rng = Rng::of(world.seed, 300);
    let mut silent: Vec<TcpStream> = vec![];
    while !world.is_over() {
        let address = match rng.below(2) {
            0 => &world.agents_at,
            _ => &world.workspace_at,
        };
        let vanished = match rng.below(5) {
            0 => http::try_connect(address).map(|stream| silent.push(stream)),
            1 => in_the_head(address),
            2 => in_the_body(address),
            3 => in_the_answer(world, &mut rng),
            _ => sockets::upgrade(world).map(drop),
        };
        if silent.len() > SILENT {
            silent.remove(0);
        }
        match vanished {
            Ok(()) => world.tally.count("rude", "vanished"),
            Err(error) => world.tally.is_wrong("rude", &error.to_string()),
        }
        world.pause(Duration::from_millis(rng.below(600)));
    }
}

fn in_the_head(address: &str) -> io::Result<()> {
    let mut stream = http::try_connect(address)?;
    stream.write_all(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127")
}

fn in_the_body(address: &str) -> io::Result<()> {
    let mut stream = http::try_connect(address)?;
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    stream.write_all(format!("{head}Content-Length: 100000\r\n\r\n{{\"model\":").as_bytes())
}

/// Sometimes before the first byte, sometimes after some of them.
fn in_the_answer(world: &World, rng: &mut Rng) -> io::Result<()> {
    let message = json!({ "role": "user", "content": question(world.ticket()) });
    let body = json!({ "model": "reader", "stream": true, "messages": [message] });
    let mut stream = http::try_connect(&world.agents_at)?;
    let headers = "Connection: close\r\nContent-Type: application/json";
    let head = http::head(&world.agents_at, "POST /v1/chat/completions", headers);
    http::write(&mut stream, &head, body.to_string().as_bytes());
    if rng.below(2) == 0 {
        stream.read_exact(&mut [0; 40])?;
    }
    Ok(())
}
