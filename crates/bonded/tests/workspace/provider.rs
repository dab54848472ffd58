//! An embedding provider that answers as it is told, and remembers what it was asked.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const DIMENSIONS: usize = 4;

/// Words that mean the same to this provider, by the direction that they have in common.
const MEANINGS: [&[&str]; 3] = [
    &["walrus", "seal", "pinniped"],
    &["car", "lorry"],
    &["bread", "cake"],
];

/// What the provider does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    Well,
    /// Answers so many requests, and is silent from then on.
    WellFor(usize),
    Silent,
    Closes,
    /// This status and this body.
    Says(u16, &'static str),
    /// Does not take a text in which this stands.
    Refuses(&'static str),
    OtherDimensions,
    /// Says in its error what it was shown as a key.
    TellsTheKey,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) texts: Vec<String>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<(Manner, Vec<Asked>)>,
    came: Condvar,
}

pub(crate) struct Provider {
    pub(crate) address: String,
    shared: Arc<Shared>,
}

impl Provider {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("a bound address").to_string();
        let shared = Arc::new(Shared {
            state: Mutex::new((manner, vec![])),
            came: Condvar::new(),
        });
        let serving = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = serving.clone();
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn become_so(&self, manner: Manner) {
        self.shared.state.lock().expect("nobody panics with it").0 = manner;
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        let state = self.shared.state.lock().expect("nobody panics with it");
        state.1.clone()
    }

    /// How often a text that begins so was shown.
    pub(crate) fn shown(&self, title: &str) -> usize {
        let asked = self.asked();
        let texts = asked.iter().flat_map(|asked| &asked.texts);
        texts.filter(|text| text.starts_with(title)).count()
    }

    /// Waits until so many requests have come.
    pub(crate) fn wait_for(&self, requests: usize) {
        let state = self.shared.state.lock().expect("nobody panics with it");
        let few = |state: &mut (Manner, Vec<Asked>)| state.1.len() < requests;
        let waited = self.shared.came.wait_timeout_while(state, PATIENCE, few);
        let (state, waited) = waited.expect("nobody panics with it");
        assert!(!waited.timed_out(), "only {:?} came", state.1);
    }

    /// A configuration whose embeddings come from here.
    pub(crate) fn config(&self, batch_size: usize) -> Value {
        json!({ "search": {
            "semantic_enabled": true,
            "embedding_provider": "lmstudio",
            "embedding_base_url": format!("http://{}/v1", self.address),
            "embedding_model": "test",
            "vector_dimensions": DIMENSIONS,
            "reindex_batch_size": batch_size,
        }})
    }
}

/// Answers one request and closes.
fn serve(mut stream: TcpStream, shared: &Shared) {
    let Some(asked) = read(&mut stream) else {
        return;
    };
    let manner = {
        let mut state = shared.state.lock().expect("nobody panics with it");
        state.1.push(asked.clone());
        let manner = state.0.clone();
        if let Manner::WellFor(left) = manner {
            state.0 = match left {
                0 | 1 => Manner::Silent,
                left => Manner::WellFor(left - 1),
            };
        }
        shared.came.notify_all();
        manner
    };
    let (status, body) = match manner {
        Manner::Closes => return,
        Manner::Silent => {
            // Until the client has had enough.
            let _closed = stream.read(&mut [0]);
            return;
        }
        Manner::Says(status, body) => (status, body.to_owned()),
        Manner::TellsTheKey => (401, asked.head),
        Manner::Refuses(word) if asked.texts.iter().any(|text| text.contains(word)) => (
            400,
            r#"{"error":{"message":"this text is too long"}}"#.into(),
        ),
        Manner::OtherDimensions => (200, embeddings(&asked.texts, 1)),
        _ => (200, embeddings(&asked.texts, 0)),
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} As told\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    // A client that has had enough closes early.
    let _unheard = stream.write_all(answer.as_bytes());
}

fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = vec![];
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let Ok(body) = serde_json::from_str::<Value>(body) else {
            continue;
        };
        assert!(head.starts_with("POST /v1/embeddings "), "{head}");
        assert_eq!(
            (&body["model"], &body["encoding_format"]),
            (&json!("test"), &json!("float"))
        );
        let texts = serde_json::from_value(body["input"].clone()).expect("texts");
        return Some(Asked {
            head: head.to_owned(),
            texts,
        });
    }
}

/// The last text first, as a server may.
fn embeddings(texts: &[String], more_dimensions: usize) -> String {
    let embedding = |(index, text): (usize, &String)| {
        let mut numbers = meaning(text);
        numbers.resize(DIMENSIONS + more_dimensions, 0.0);
        json!({ "object": "embedding", "index": index, "embedding": numbers })
    };
    let data: Vec<Value> = texts.iter().enumerate().rev().map(embedding).collect();
    json!({ "object": "list", "model": "test", "data": data }).to_string()
}

/// How often each meaning is touched upon; a text about none of them has a direction of its own.
fn meaning(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    let touched = |words: &&[&str]| {
        words
            .iter()
            .map(|word| text.matches(word).count())
            .sum::<usize>() as f32
    };
    let mut numbers: Vec<f32> = MEANINGS.iter().map(touched).collect();
    numbers.push(f32::from(u8::from(numbers.iter().all(|n| *n == 0.0))));
    numbers
}
