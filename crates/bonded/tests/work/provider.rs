//! A provider that answers when it is told to, and remembers what it was asked.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::request::next_request;

const PATIENCE: Duration = Duration::from_secs(60);

/// Gives the calls of its script one after the other, each when it is released.
pub(crate) struct Provider {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
    release: Sender<()>,
}

impl Provider {
    /// `calls` are lines of a script that call one tool.
    pub(crate) fn start(calls: Vec<Value>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let heard = Arc::new(Mutex::new(vec![]));
        let (release, released) = channel();
        let memory = heard.clone();
        thread::spawn(move || answer(&listener, &calls, &memory, &released));
        Self {
            address,
            heard,
            release,
        }
    }

    /// Lets so many requests be answered.
    pub(crate) fn release(&self, count: usize) {
        for _ in 0..count {
            self.release.send(()).expect("the provider answers");
        }
    }

    /// The words that make a command ask this provider.
    pub(crate) fn flags(&self) -> Vec<String> {
        let url = format!("http://{}/v1", self.address);
        let words = ["--base-url", &url, "--model", "m", "--key-env", "HELD_KEY"];
        words.map(str::to_owned).to_vec()
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        let heard = self.heard.lock().expect("nobody panics with the lock");
        heard.clone()
    }

    pub(crate) fn wait_for(&self, requests: usize) {
        let began = Instant::now();
        while self.heard().len() < requests {
            assert!(began.elapsed() < PATIENCE, "{:?}", self.heard());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn answer(
    listener: &TcpListener,
    calls: &[Value],
    heard: &Mutex<Vec<String>>,
    released: &Receiver<()>,
) {
    for line in calls {
        let Some((mut stream, request)) = next_request(listener) else {
            return;
        };
        heard.lock().expect("nobody panics with it").push(request);
        if released.recv().is_err() {
            return;
        }
        let body = completion(&line["calls"][0]).to_string();
        let length = body.len();
        // A client that was killed has hung up.
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        );
    }
}

fn completion(call: &Value) -> Value {
    let function = json!({ "name": call["tool"], "arguments": call["arguments"].to_string() });
    let call = json!({ "id": "c", "type": "function", "function": function });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] })
}
