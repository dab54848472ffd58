//! What a client asks, one request after the other.

use std::time::Duration;

use bonded_testkit::notes::{self, Drawn, Spread, WORKSPACE};
use serde_json::json;

use crate::options::Options;

/// How far people leaf through a list.
const PAGES: u64 = 10;
const PAGE: u64 = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Read,
    List,
    Create,
    Patch,
    Search,
}

const KINDS: [(&str, Kind); 5] = [
    ("read", Kind::Read),
    ("list", Kind::List),
    ("create", Kind::Create),
    ("patch", Kind::Patch),
    ("search", Kind::Search),
];

impl Kind {
    pub(crate) fn of(name: &str) -> Option<Self> {
        let found = KINDS.iter().find(|(known, _)| *known == name);
        found.map(|(_, kind)| *kind)
    }

    pub(crate) fn name(self) -> &'static str {
        let found = KINDS.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(name, _)| name)
    }
}

/// The requests of one client.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    client: u64,
    options: &'a Options,
    drawn: Drawn,
    asked: u64,
    patched: u64,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(client: u64, options: &'a Options) -> Self {
        Self {
            client,
            options,
            drawn: Drawn::new(options.first ^ (client << 40)),
            asked: 0,
            patched: 0,
        }
    }

    /// Anything up to twice the mean.
    pub(crate) fn pause(&mut self) -> Duration {
        let most_us = self.options.pause_ms * 2000;
        Duration::from_micros(self.drawn.below(most_us + 1))
    }

    /// The next request, whole. Clients begin at different kinds, so that all kinds come at all times.
    pub(crate) fn next(&mut self) -> (Kind, Vec<u8>) {
        let kinds = &self.options.kinds;
        let kind = kinds[((self.client + self.asked) % kinds.len() as u64) as usize];
        self.asked += 1;
        let request = match kind {
            Kind::Read => {
                let number = self.drawn.below(self.options.notes);
                self.get(&format!("/api/notes/{}", notes::note_id(number)))
            }
            Kind::List => {
                let offset = self.drawn.below(PAGES) * PAGE;
                self.get(&format!(
                    "/api/notes?workspace_id={WORKSPACE}&limit={PAGE}&offset={offset}"
                ))
            }
            Kind::Search => {
                let words = self.words();
                self.get(&format!("/api/search?workspace_id={WORKSPACE}&q={words}"))
            }
            Kind::Create => self.create(),
            Kind::Patch => self.patch(),
        };
        (kind, request)
    }

    /// A third each: a word of few notes, of many, of all.
    fn words(&mut self) -> String {
        let number = self.drawn.below(self.options.notes);
        let spread = match self.drawn.below(3) {
            0 => Spread::Rare,
            1 => Spread::Common,
            _ => Spread::Everywhere,
        };
        notes::planted(spread, number)
    }

    fn create(&mut self) -> Vec<u8> {
        // A text that is like the others and that no other note has.
        let number = (1 << 32) + (self.options.first << 24) + (self.client << 16) + self.asked;
        let body = json!({
            "workspace_id": WORKSPACE,
            "title": notes::title(number),
            "markdown": notes::markdown(number),
            "keywords": ["new"],
        });
        self.send("POST", "/api/notes", &body)
    }

    /// A sentence more at the end of a line of a note that nobody else changes.
    fn patch(&mut self) -> Vec<u8> {
        let number = self.options.first + self.client + self.patched * self.options.clients;
        self.patched += 1;
        let at = 20 + self.drawn.below(500);
        let body = json!({
            "base_version": 1,
            "patch_ops": [{ "retain": at }, { "insert": " and then the tide came in " }],
        });
        let path = format!("/api/notes/{}", notes::note_id(number));
        self.send("PATCH", &path, &body)
    }

    fn get(&self, path: &str) -> Vec<u8> {
        self.head("GET", path, "\r\n").into_bytes()
    }

    fn send(&self, method: &str, path: &str, body: &serde_json::Value) -> Vec<u8> {
        let body = body.to_string();
        let key = format!("{}-{}-{}", self.options.first, self.client, self.asked);
        let length = body.len();
        let rest = format!(
            "content-type: application/json\r\nidempotency-key: {key}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.head(method, path, &rest).into_bytes()
    }

    fn head(&self, method: &str, path: &str, rest: &str) -> String {
        // Where there are fewer clients than people, each acts for several: nobody shall ask too often for the server.
        let options = self.options;
        let each = (options.people / options.clients).max(1);
        let token = notes::token(self.client + options.clients * (self.asked % each));
        format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n{rest}"
        )
    }
}
