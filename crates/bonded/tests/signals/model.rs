//! A model of the test's own behind HTTP: it wants something counted three times, and then reports.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The tool that must not be called twice.
pub(crate) const TOOL: &str = "test__count";

pub(crate) const ANSWER: &str = "counted";

const CALLS: usize = 3;

/// Time for a signal to fall into a request.
const THINKS: Duration = Duration::from_millis(15);

/// Serves until the process ends; says where.
pub(crate) fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever asked may be dead by now.
            thread::spawn(move || answer(stream).ok());
        }
    });
    format!("http://{address}/v1")
}

fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(asked) = read_request(&mut reader)? {
        thread::sleep(THINKS);
        stream.write_all(&wire(&reply(&asked), asked["stream"] == json!(true)))?;
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

fn reply(asked: &Value) -> Value {
    let messages = asked["messages"].as_array().into_iter().flatten();
    let outputs = messages.filter(|it| it["role"] == "tool").count();
    let (tool, arguments) = match outputs {
        ..CALLS => (TOOL, json!({})),
        _ => (
            "agent__final_report",
            json!({ "report_format": "markdown", "report_content": ANSWER }),
        ),
    };
    let function = json!({ "name": tool, "arguments": arguments.to_string() });
    let id = format!("call-{outputs}");
    let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
    json!({ "role": "assistant", "content": null, "tool_calls": [call] })
}

fn wire(message: &Value, is_stream: bool) -> Vec<u8> {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20 });
    let mut whole = json!({ "id": "c", "created": 1, "model": "m", "usage": usage });
    let choice =
        |field: &str| json!([{ "index": 0, field: message, "finish_reason": "tool_calls" }]);
    let (kind, body) = if is_stream {
        whole["object"] = json!("chat.completion.chunk");
        whole["choices"] = choice("delta");
        let body = format!("data: {whole}\n\ndata: [DONE]\n\n");
        ("text/event-stream", body)
    } else {
        whole["object"] = json!("chat.completion");
        whole["choices"] = choice("message");
        ("application/json", whole.to_string())
    };
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}
