//! An embedding provider that answers as it is told, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::provider::{self, Reply, closes, raw, silence};

const DIMENSIONS: usize = 4;

/// Words that mean the same to this provider, by the direction that they have in common.
const MEANINGS: [&[&str]; 3] = [
    &["walrus", "seal", "pinniped"],
    &["car", "lorry"],
    &["bread", "cake"],
];

/// What the provider does with a request.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
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
pub struct Asked {
    pub head: String,
    pub texts: Vec<String>,
}

#[derive(Debug)]
pub struct Provider {
    inner: provider::Provider,
    manner: Arc<Mutex<Manner>>,
}

impl Provider {
    pub fn start(manner: Manner) -> Self {
        let manner = Arc::new(Mutex::new(manner));
        let own = manner.clone();
        let inner =
            provider::Provider::answering(move |asked| answer(&heard(asked), next_manner(&own)));
        Self { inner, manner }
    }

    pub fn become_so(&self, manner: Manner) {
        *self.manner.lock().expect("nobody panics with it") = manner;
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.inner.asked().iter().map(heard).collect()
    }

    /// How often a text that begins so was shown.
    pub fn shown(&self, title: &str) -> usize {
        let asked = self.asked();
        let texts = asked.iter().flat_map(|asked| &asked.texts);
        texts.filter(|text| text.starts_with(title)).count()
    }

    /// Waits until so many requests have come.
    pub fn wait_for(&self, requests: usize) {
        self.inner.wait_for(requests);
    }

    /// A configuration whose embeddings come from here.
    pub fn config(&self, batch_size: usize) -> Value {
        json!({ "search": {
            "semantic_enabled": true,
            "embedding_provider": "lmstudio",
            "embedding_base_url": self.inner.base_url(),
            "embedding_model": "test",
            "vector_dimensions": DIMENSIONS,
            "reindex_batch_size": batch_size,
        }})
    }
}

fn heard(asked: &provider::Asked) -> Asked {
    assert_eq!(asked.line, "POST /v1/embeddings");
    assert_eq!(
        (&asked["model"], &asked["encoding_format"]),
        (&json!("test"), &json!("float"))
    );
    Asked {
        head: asked.head.clone(),
        texts: serde_json::from_value(asked["input"].clone()).expect("texts"),
    }
}

/// What is done with the next request.
fn next_manner(manner: &Mutex<Manner>) -> Manner {
    let mut manner = manner.lock().expect("nobody panics with it");
    let now = *manner;
    if let Manner::WellFor(left) = now {
        *manner = match left {
            0 | 1 => Manner::Silent,
            left => Manner::WellFor(left - 1),
        };
    }
    now
}

fn answer(asked: &Asked, manner: Manner) -> Reply {
    match manner {
        Manner::Closes => closes(),
        Manner::Silent => silence(),
        Manner::Says(status, body) => json_reply(status, body),
        Manner::TellsTheKey => json_reply(401, &*asked.head),
        Manner::Refuses(word) if asked.texts.iter().any(|text| text.contains(word)) => {
            provider::refusal(400, "this text is too long")
        }
        Manner::OtherDimensions => embeddings(&asked.texts, 1),
        _ => embeddings(&asked.texts, 0),
    }
}

fn json_reply(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    raw(status, "application/json", body)
}

/// The last text first, as a server may.
fn embeddings(texts: &[String], more_dimensions: usize) -> Reply {
    let embedding = |(index, text): (usize, &String)| {
        let mut numbers = meaning(text);
        numbers.resize(DIMENSIONS + more_dimensions, 0.0);
        json!({ "object": "embedding", "index": index, "embedding": numbers })
    };
    let data: Vec<Value> = texts.iter().enumerate().rev().map(embedding).collect();
    let body = json!({ "object": "list", "model": "test", "data": data });
    json_reply(200, body.to_string())
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
