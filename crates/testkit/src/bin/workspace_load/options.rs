//! What the clients are told.

use crate::Fault;
use crate::asking::Kind;

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) port: u16,
    pub(crate) clients: u64,
    /// Whose tokens they have; at least as many as clients.
    pub(crate) people: u64,
    /// Of all clients together.
    pub(crate) requests: u64,
    /// In the mean, between two requests of a client; none where it is 0.
    pub(crate) pause_ms: u64,
    /// How many notes there are.
    pub(crate) notes: u64,
    /// The first of the notes that are patched, each of them once. Keys follow from it too, so that no two loads on one
    /// server may have the same.
    pub(crate) first: u64,
    /// What is asked, one kind after the other.
    pub(crate) kinds: Vec<Kind>,
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Fault> {
        let mut options = Self {
            port: 0,
            clients: 1,
            people: 1,
            requests: 1,
            pause_ms: 0,
            notes: 1,
            first: 0,
            kinds: vec![],
        };
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("{word} needs a value"))?;
            match word.as_str() {
                "--port" => options.port = value.parse()?,
                "--clients" => options.clients = value.parse::<u64>()?.max(1),
                "--people" => options.people = value.parse()?,
                "--requests" => options.requests = value.parse()?,
                "--pause-ms" => options.pause_ms = value.parse()?,
                "--notes" => options.notes = value.parse()?,
                "--first" => options.first = value.parse()?,
                "--kinds" => options.kinds = kinds(&value)?,
                _ => return Err(format!("{word} is not an option").into()),
            }
        }
        match options.kinds.is_empty() {
            true => Err("--kinds is missing".into()),
            false => Ok(options),
        }
    }
}

fn kinds(text: &str) -> Result<Vec<Kind>, Fault> {
    let kind = |name: &str| Kind::of(name).ok_or_else(|| format!("--kinds: {name:?}").into());
    text.split(',').map(kind).collect()
}
