//! A model of the test's own behind HTTP, in the shape of LM Studio. What it says follows from the memory that it is
//! shown and from nothing else: asked the same again, it says the same again.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::server::Shared;

/// A request that asks for this makes notes which set off another rule.
pub(crate) const CHAIN: &str = "please chain";

/// The loops of a run: two or three, by its name.
pub(crate) fn loops_of(run: &str) -> u64 {
    2 + run.bytes().map(u64::from).sum::<u64>() % 2
}

/// The title of the note that a loop makes.
pub(crate) fn title(run: &str, number: u64, is_chained: bool) -> String {
    let end = match (number, is_chained) {
        (0, true) => " first",
        _ => "",
    };
    format!("agent {run} {number}{end}")
}

/// Serves until the process ends; says where.
pub(crate) fn serve(shared: Arc<Shared>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = shared.clone();
            // Whoever asked may be dead by now.
            thread::spawn(move || answer(stream, &shared).ok());
        }
    });
    format!("http://{address}/v1")
}

fn answer(stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(asked) = read_request(&mut reader)? {
        let (text, is_last) = reply(&asked);
        shared.replies.fetch_add(1, Ordering::Relaxed);
        // Time for a kill to fall into a request.
        thread::sleep(Duration::from_millis(
            shared.replies.load(Ordering::Relaxed) % 8,
        ));
        if is_last {
            shared.last_replies.fetch_add(1, Ordering::Relaxed);
        }
        stream.write_all(&wire(&text, asked["stream"] == json!(true)))?;
    }
    Ok(())
}

fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Value>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body).ok())
}

/// An answer on the wire, whole or as a stream of one piece.
fn wire(text: &str, is_stream: bool) -> Vec<u8> {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20 });
    let (kind, body) = if is_stream {
        let piece = json!({
            "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
            "usage": usage,
        });
        let body = format!("data: {piece}\n\ndata: [DONE]\n\n");
        ("text/event-stream", body)
    } else {
        let whole = json!({
            "id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
            "usage": usage,
        });
        ("application/json", whole.to_string())
    };
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// What the model says, and whether it is the last it has to say.
fn reply(asked: &Value) -> (String, bool) {
    let messages = asked["messages"].to_string();
    let shown: Value = serde_json::from_str(&messages).unwrap_or_default();
    let texts = shown.as_array().into_iter().flatten();
    let mut texts = texts.map(|message| match &message["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
    });
    let shown = texts.find(|text| text.starts_with("RAM:"));
    let shown = shown.unwrap_or_else(|| panic!("no memory is shown: {messages}"));
    let memory = |key: &str| -> Option<Value> {
        let line = shown
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{key}: ")))?;
        serde_json::from_str(line).ok()
    };
    let run = memory("run_id").unwrap_or_default();
    let run = run.as_str().expect("the memory names the run");
    let total = memory("total").and_then(|it| it.as_u64()).unwrap_or(0);
    let mark = memory("mark").unwrap_or_default();
    let mark = mark.as_str().and_then(|mark| mark.split_once(' '));
    let number = match mark {
        Some((known, number)) if known == run => number.parse().map_or(0, |it: u64| it + 1),
        _ => 0,
    };
    let is_last = number + 1 >= loops_of(run);
    let said = instructions(run, number, total, shown.contains(CHAIN));
    match is_last {
        true => (
            format!("{said}<state_add><state>idle</state></state_add>"),
            true,
        ),
        false => (said, false),
    }
}

/// One loop: the memory counts it, a note is made, the one before is changed, and a person is told.
fn instructions(run: &str, number: u64, total: u64, is_chained: bool) -> String {
    let note = json!({ "title": title(run, number, is_chained), "markdown": format!("made by {run} {number}") });
    let mut said = format!(
        "<ram_add><key>mark</key><value>{run} {number}</value></ram_add>\
         <ram_add><key>total</key><value>{}</value></ram_add>\
         <record_add><keywords>storm</keywords><value>{note}</value></record_add>\
         <record_issue><key>{run} {number}</key><value>look</value><metadata>{{}}</metadata></record_issue>",
        total + 1
    );
    if number > 0 {
        let before = title(run, number - 1, is_chained);
        let changed = json!({ "markdown": format!("changed by {run} {number}") });
        said.push_str(&format!(
            "<record_update><key>{before}</key><value>{changed}</value></record_update>"
        ));
    }
    said
}
