//! A chat model behind HTTP, in the shape of LM Studio, that says what it is told, one answer for each request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// One answer.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// A reply in one piece: its text and what the model thought.
    Whole(String, String),
    /// A reply in many pieces, with a call in the provider's own field.
    Streamed { text: String, call: String },
    /// A stream that breaks off after this text.
    BreaksOff(String),
    /// A stream that goes no further than this text, until the client goes away.
    Hangs(String),
    /// Any status with any body.
    Raw(u16, Vec<u8>),
}

pub(crate) struct Model {
    pub(crate) base_url: String,
    /// Told the number of each request once its answer is on its way.
    pub(crate) answered: Receiver<usize>,
}

impl Model {
    pub(crate) fn start(says: Vec<Said>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (tell, answered) = channel();
        let left = Arc::new(Mutex::new((0, says)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (left, tell) = (left.clone(), tell.clone());
                // Whoever asked may be dead by now.
                thread::spawn(move || answer(stream, &left, &tell).ok());
            }
        });
        Self {
            base_url: format!("http://{address}/v1"),
            answered,
        }
    }
}

fn answer(
    mut stream: TcpStream,
    left: &Mutex<(usize, Vec<Said>)>,
    tell: &Sender<usize>,
) -> std::io::Result<()> {
    if !read_request(&mut BufReader::new(stream.try_clone()?))? {
        return stream.write_all(NOT_FOUND);
    }
    let (number, said) = {
        let mut left = left.lock().expect("nobody panics with it");
        left.0 += 1;
        let said = left.1.get(left.0 - 1).cloned();
        (left.0, said.unwrap_or(Said::Raw(401, b"{}".to_vec())))
    };
    let hangs = matches!(said, Said::Hangs(_));
    stream.write_all(&wire(said))?;
    // The test may have heard enough.
    let _unheard = tell.send(number);
    if hangs {
        // Nothing comes: it ends when the client goes away.
        let _gone = stream.read(&mut [0])?;
    }
    Ok(())
}

/// It lists no models.
const NOT_FOUND: &[u8] =
    b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Says whether something is asked of the model.
fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<bool> {
    let (mut length, mut is_look) = (0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        is_look |= line.starts_with("GET ");
    }
    reader.read_exact(&mut vec![0; length])?;
    Ok(!is_look)
}

fn wire(said: Said) -> Vec<u8> {
    let events = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";
    match said {
        Said::Whole(text, thought) => {
            let message =
                json!({ "role": "assistant", "content": text, "reasoning_content": thought });
            let whole = json!({
                "id": "c", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20 },
            });
            raw(200, whole.to_string().as_bytes())
        }
        Said::Streamed { text, call } => {
            let call = json!({ "tool_calls": [{ "index": 0, "id": "1", "type": "function",
                "function": { "name": call, "arguments": format!("{{\"{call}\":1}}") } }] });
            let end = piece(&json!({}), &json!("stop"));
            let call = piece(&call, &Value::Null);
            format!("{events}{}{call}{end}data: [DONE]\n\n", pieces(&text)).into_bytes()
        }
        Said::BreaksOff(text) => {
            format!("{events}{}data: {{\"id\": \"c\", \"cho", pieces(&text)).into_bytes()
        }
        Said::Hangs(text) => format!("{events}{}", pieces(&text)).into_bytes(),
        Said::Raw(status, body) => raw(status, &body),
    }
}

fn raw(status: u16, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} As told\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// A text as a stream brings it: some characters at a time.
fn pieces(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let parts = characters.chunks(64).map(|part| {
        let part: String = part.iter().collect();
        piece(&json!({ "content": part }), &Value::Null)
    });
    parts.collect()
}

fn piece(delta: &Value, finish: &Value) -> String {
    let piece = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    });
    format!("data: {piece}\n\n")
}
