//! A model of the test's own behind HTTP, as unreliable as services are. What it says follows from what it is asked:
//! the number of the question comes back in the answer, and so does what a tool gave.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::rng::Rng;

/// What lies in the file that an agent is to read.
pub(crate) const PAGE: &str = "the page says forty-two";

/// The question, in every request that belongs to it.
pub(crate) fn question(ticket: u64) -> String {
    format!("ticket-{ticket}-end")
}

fn plain_answer(ticket: u64) -> String {
    format!("answer {ticket}")
}

/// The name of an agent, and what is due as its answer.
type Agent = (&'static str, fn(u64) -> String);

/// The agents, and what is due as the answer of each: at once, after a look into a file, and after a call to a server
/// of tools.
pub(crate) const AGENTS: [Agent; 3] = [
    ("plain", plain_answer),
    ("reader", |ticket| format!("answer {ticket}: {PAGE}")),
    ("caller", |ticket| format!("answer {ticket}: echo {ticket}")),
];

/// What a request is answered with.
enum Conduct {
    Good,
    Slow,
    Status(&'static str),
    Cut,
    Garbage,
}

/// Serves until the process ends; says where.
pub(crate) fn serve(seed: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for (number, stream) in (0..).zip(listener.incoming().flatten()) {
            let rng = Rng::new(seed, 1_000_000 + number);
            // Whoever asked may be gone by now.
            thread::spawn(move || answer(stream, rng).ok());
        }
    });
    format!("http://{address}/v1")
}

/// Some eight in a hundred requests go wrong.
fn conduct(rng: &mut Rng) -> Conduct {
    match rng.below(100) {
        0 => Conduct::Status("500 Internal Server Error"),
        1 => Conduct::Status("503 Service Unavailable"),
        2 => Conduct::Status("429 Too Many Requests"),
        3 => Conduct::Cut,
        4 => Conduct::Garbage,
        5..8 => Conduct::Slow,
        _ => Conduct::Good,
    }
}

fn answer(stream: TcpStream, mut rng: Rng) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(asked) = read_request(&mut reader)? {
        let conduct = conduct(&mut rng);
        let whole = wire(&reply(&asked), asked["stream"] == json!(true));
        match conduct {
            Conduct::Good => stream.write_all(&whole)?,
            Conduct::Slow => {
                thread::sleep(Duration::from_millis(200 + rng.below(1_300)));
                stream.write_all(&whole)?;
            }
            Conduct::Status(line) => {
                let body = r#"{"error":{"message":"not now","type":"server_error"}}"#;
                let length = body.len();
                let head = format!("HTTP/1.1 {line}\r\nContent-Type: application/json\r\n");
                stream.write_all(
                    format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes(),
                )?;
            }
            Conduct::Cut => return stream.write_all(&whole[..whole.len() / 2]),
            Conduct::Garbage => {
                let body = "<html>a gateway speaks</html>";
                let length = body.len();
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
                stream.write_all(
                    format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes(),
                )?;
            }
        }
    }
    Ok(())
}

/// The body of the next request; one without a body is null.
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
    Ok(Some(serde_json::from_slice(&body).unwrap_or_default()))
}

/// What the model says: the fields of a message.
fn reply(asked: &Value) -> Value {
    let messages = asked["messages"].as_array().cloned().unwrap_or_default();
    let texts: Vec<String> = messages.iter().map(|it| text(&it["content"])).collect();
    if let Some(memory) = texts.iter().find(|text| text.starts_with("RAM:")) {
        return json!({ "role": "assistant", "content": looped(memory) });
    }
    let ticket = texts.iter().find_map(|text| {
        let (_, rest) = text.split_once("ticket-")?;
        rest.split_once("-end")?.0.parse::<u64>().ok()
    });
    let Some(ticket) = ticket else {
        return json!({ "role": "assistant", "content": "nobody asked anything" });
    };
    let tools = asked["tools"].to_string();
    let output = messages.iter().rfind(|it| it["role"] == "tool");
    match output {
        Some(output) => report(&format!(
            "answer {ticket}: {}",
            shown(&text(&output["content"]))
        )),
        None if tools.contains(r#""name":"read""#) => {
            called("read", &json!({ "path": "page.txt" }))
        }
        None if tools.contains(r#""name":"test__test""#) => {
            called("test__test", &json!({ "text": format!("echo {ticket}") }))
        }
        None => report(&plain_answer(ticket)),
    }
}

/// What a tool gave: the contents of a file, or a text as it is.
fn shown(output: &str) -> String {
    let file: Value = serde_json::from_str(output).unwrap_or_default();
    file["content"].as_str().unwrap_or(output).trim().to_owned()
}

fn report(text: &str) -> Value {
    let arguments = json!({ "report_format": "markdown", "report_content": text });
    called("agent__final_report", &arguments)
}

fn called(tool: &str, arguments: &Value) -> Value {
    let function = json!({ "name": tool, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": "call-1", "type": "function", "function": function });
    json!({ "role": "assistant", "content": null, "tool_calls": [call] })
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
    }
}

/// An agent that works in loops makes one note, which names its run, and is at its end.
fn looped(memory: &str) -> String {
    let run = memory
        .lines()
        .find_map(|line| line.strip_prefix("run_id: "))
        .and_then(|line| serde_json::from_str::<String>(line).ok());
    let note = json!({ "title": format!("agent {}", run.unwrap_or_default()), "markdown": "made" });
    format!(
        "<record_add><keywords>soak</keywords><value>{note}</value></record_add>\
         <state_add><state>idle</state></state_add>"
    )
}

/// An answer on the wire, whole or as a stream of one piece.
fn wire(message: &Value, is_stream: bool) -> Vec<u8> {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20 });
    let finish = match message["tool_calls"].is_array() {
        true => "tool_calls",
        false => "stop",
    };
    let mut whole = json!({ "id": "c", "created": 1, "model": "m", "usage": usage });
    let (kind, body) = if is_stream {
        whole["object"] = json!("chat.completion.chunk");
        whole["choices"] = json!([{ "index": 0, "delta": message, "finish_reason": finish }]);
        (
            "text/event-stream",
            format!("data: {whole}\n\ndata: [DONE]\n\n"),
        )
    } else {
        whole["object"] = json!("chat.completion");
        whole["choices"] = json!([{ "index": 0, "message": message, "finish_reason": finish }]);
        ("application/json", whole.to_string())
    };
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}
