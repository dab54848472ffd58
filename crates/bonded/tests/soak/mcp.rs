//! Clients of the agents by MCP: sessions over HTTP, some of which are left without a word, and one over stdio.

use std::io::{BufRead as _, BufReader, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{self, Reply};
use crate::model::{AGENTS, question};
use crate::rng::Rng;
use crate::world::World;

const BOTH: &str = "\r\nAccept: application/json, text/event-stream";

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn hello() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "soak", "version": "1" },
    })
}

/// A call of one of the agents, and what is due as its answer.
fn call(world: &World, rng: &mut Rng) -> (Value, String) {
    let ticket = world.ticket();
    let (agent, expected) = rng.one_of(&AGENTS);
    let params = json!({ "name": agent, "arguments": { "prompt": question(ticket) } });
    (params, expected(ticket))
}

pub(crate) fn over_http(world: &World) {
    let mut rng = Rng::of(world.seed, 50);
    while !world.is_over() {
        session(world, &mut rng);
        world.pause(Duration::from_millis(rng.below(300)));
    }
}

fn post(world: &World, headers: &str, body: &Value) -> std::io::Result<Reply> {
    let headers = format!("{BOTH}{headers}");
    http::ask(&world.agents_at, "POST /mcp", &headers, Some(body))
}

fn session(world: &World, rng: &mut Rng) {
    let greeted = post(world, "", &request(0, "initialize", &hello()));
    let greeted = world.judge("mcp, greeting", greeted, |reply| {
        reply.status == 200 && reply.header("mcp-session-id").is_some()
    });
    let id = greeted.as_ref().and_then(|it| it.header("mcp-session-id"));
    let Some(id) = id else {
        return;
    };
    let session = format!("\r\nMcp-Session-Id: {id}");
    let listed = post(world, &session, &request(1, "tools/list", &json!({})));
    world.judge("mcp, list", listed, |reply| {
        reply.value()["result"]["tools"].as_array().map(Vec::len) == Some(AGENTS.len())
    });
    for id in 2..2 + rng.below(3) {
        let (params, expected) = call(world, rng);
        let called = post(world, &session, &request(id, "tools/call", &params));
        world.judge("mcp, call", called, |reply| {
            let events = reply.events();
            let result = events.last().map(|event| &event["result"]);
            result.is_some_and(|result| result["content"][0]["text"] == expected.as_str())
        });
    }
    // One in three says nothing when it leaves.
    if rng.below(3) > 0 {
        let left = http::ask(&world.agents_at, "DELETE /mcp", &session, None);
        world.judge("mcp, farewell", left, |reply| reply.status == 204);
    }
}

/// One client that stays for all of the time.
pub(crate) fn over_stdio(world: &World) {
    let mut rng = Rng::of(world.seed, 51);
    let mut stdin = world.stdio.stdin();
    let mut lines = BufReader::new(world.stdio.stdout()).lines();
    let mut exchange = |message: Value| -> Option<Value> {
        writeln!(stdin, "{message}")
            .and_then(|()| stdin.flush())
            .ok()?;
        loop {
            let line = lines.next()?.ok()?;
            let heard: Value = serde_json::from_str(&line).ok()?;
            if heard["id"] == message["id"] {
                return Some(heard);
            }
        }
    };
    let mut id = 0;
    let mut next = |method: &str, params: &Value| {
        id += 1;
        exchange(request(id, method, params))
    };
    if next("initialize", &hello()).is_none() {
        world.tally.is_wrong("mcp, stdio", "it did not greet");
    }
    while !world.is_over() {
        let (params, expected) = call(world, &mut rng);
        let Some(heard) = next("tools/call", &params) else {
            world.tally.is_wrong("mcp, stdio", "it said nothing");
            return;
        };
        let result = &heard["result"];
        if result["content"][0]["text"] == expected.as_str() {
            world.tally.right("mcp, stdio");
        } else {
            let code = result["_meta"]["bonded/code"].as_str().map(str::to_owned);
            world.refused("mcp, stdio", code, &heard.to_string());
        }
        world.pause(Duration::from_millis(rng.below(300)));
    }
}
