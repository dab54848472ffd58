//! Clients of the agents over HTTP: chats and responses, whole and streamed, and the same asked twice.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{self, Reply};
use crate::model::{AGENTS, question};
use crate::process::{Process, command};
use crate::rng::Rng;
use crate::world::World;

/// Further clients beside the first.
pub(crate) const MORE: u64 = 3;

const THINKS_MS: u64 = 200;

pub(crate) fn ask(world: &World) {
    ask_part(world, MORE);
}

pub(crate) fn ask_part(world: &World, part: u64) {
    let mut rng = Rng::of(world.seed, part);
    while !world.is_over() {
        let (agent, expected) = rng.one_of(&AGENTS);
        let ticket = world.ticket();
        let expected = expected(ticket);
        match rng.below(5) {
            0 => chat(world, agent, ticket, &expected),
            1 => chat_streamed(world, agent, ticket, &expected),
            2 => responses(world, agent, ticket, &expected),
            3 => responses_streamed(world, agent, ticket, &expected),
            _ => asked_twice(world, agent, ticket, &expected),
        }
        world.pause(Duration::from_millis(rng.below(THINKS_MS)));
    }
}

fn post(world: &World, path: &str, headers: &str, body: &Value) -> std::io::Result<Reply> {
    http::ask(
        &world.agents_at,
        &format!("POST {path}"),
        headers,
        Some(body),
    )
}

fn chat_body(agent: &str, ticket: u64) -> Value {
    json!({ "model": agent, "messages": [{ "role": "user", "content": question(ticket) }] })
}

fn is_chat(reply: &Reply, expected: &str) -> bool {
    reply.status == 200 && reply.value()["choices"][0]["message"]["content"] == expected
}

fn chat(world: &World, agent: &str, ticket: u64, expected: &str) {
    let body = chat_body(agent, ticket);
    let answer = post(world, "/v1/chat/completions", "", &body);
    world.judge("chat", answer, |reply| is_chat(reply, expected));
}

fn chat_streamed(world: &World, agent: &str, ticket: u64, expected: &str) {
    let mut body = chat_body(agent, ticket);
    body["stream"] = json!(true);
    let answer = post(world, "/v1/chat/completions", "", &body);
    world.judge("chat, streamed", answer, |reply| {
        let said = reply.events().into_iter().map(|event| {
            let piece = event["choices"][0]["delta"]["content"].as_str();
            piece.unwrap_or_default().to_owned()
        });
        reply.status == 200 && said.collect::<String>() == expected
    });
}

fn response_body(agent: &str, ticket: u64) -> Value {
    json!({ "model": agent, "input": question(ticket) })
}

fn response_text(response: &Value) -> String {
    let items = response["output"].as_array().into_iter().flatten();
    let texts = items.filter_map(|item| item["content"][0]["text"].as_str());
    texts.collect()
}

fn responses(world: &World, agent: &str, ticket: u64, expected: &str) {
    let answer = post(world, "/v1/responses", "", &response_body(agent, ticket));
    world.judge("responses", answer, |reply| {
        reply.status == 200 && response_text(&reply.value()) == expected
    });
}

fn responses_streamed(world: &World, agent: &str, ticket: u64, expected: &str) {
    let mut body = response_body(agent, ticket);
    body["stream"] = json!(true);
    let answer = post(world, "/v1/responses", "", &body);
    world.judge("responses, streamed", answer, |reply| {
        let events = reply.events();
        let completed = events.iter().find(|it| it["type"] == "response.completed");
        completed.is_some_and(|it| response_text(&it["response"]) == expected)
    });
}

/// Under one key the same question is one run, and has one answer.
fn asked_twice(world: &World, agent: &str, ticket: u64, expected: &str) {
    let body = chat_body(agent, ticket);
    let key = format!("\r\nIdempotency-Key: soak-{ticket}");
    let ask = || {
        let answer = post(world, "/v1/chat/completions", &key, &body);
        let reply = world.judge("chat, keyed", answer, |reply| is_chat(reply, expected))?;
        reply.header("x-bonded-run").map(str::to_owned)
    };
    if let (Some(first), Some(second)) = (ask(), ask())
        && first != second
    {
        let what = format!("two runs under one key: {first} and {second}");
        world.tally.is_wrong("chat, keyed", &what);
    }
}

/// Every log of a store is whole when its server has ended.
pub(crate) fn check_store(process: &Process) -> Vec<String> {
    let words = ["verify", "--all", "--json"].map(str::to_owned);
    // As long as it takes: an hour leaves very many runs.
    let verified = command(&process.place, &words).output();
    let verified = verified.expect("the program can be started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let count = text(&verified.stdout).lines().count();
    crate::rng::tell(&format!("{}: {count} runs verified", process.name));
    match verified.status.code() {
        // Nobody has kept heads to compare with.
        Some(0 | 7) => vec![],
        _ => vec![format!(
            "{}: verify: {}",
            process.name,
            text(&verified.stderr)
        )],
    }
}
