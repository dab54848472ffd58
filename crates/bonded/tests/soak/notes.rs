//! Writers of notes: each knows its own notes, and what the server shows of them must be what it was told.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{self, Reply};
use crate::rng::Rng;
use crate::world::{World, code};

pub(crate) const WRITERS: u64 = 3;

const THINKS_MS: u64 = 150;

/// Older notes are deleted, so that the notebook stays as large as it is.
const KEPT: usize = 40;

struct Note {
    id: String,
    version: u64,
    markdown: String,
}

struct Writer<'a> {
    world: &'a World,
    number: u64,
    rng: Rng,
    drawn: u64,
    notes: Vec<Note>,
}

pub(crate) fn write(world: &World, number: u64) {
    let mut writer = Writer {
        world,
        number,
        rng: Rng::of(world.seed, 100 + number),
        drawn: 0,
        notes: vec![],
    };
    while !world.is_over() {
        writer.act();
        world.pause(Duration::from_millis(writer.rng.below(THINKS_MS)));
    }
}

impl Writer<'_> {
    fn act(&mut self) {
        self.drawn += 1;
        if self.notes.len() > KEPT {
            return self.delete();
        }
        match self.rng.below(10) {
            _ if self.notes.is_empty() => self.create(),
            0..2 => self.create(),
            2..5 => self.change(),
            5..8 => self.read(),
            8 => self.search(),
            _ => self.list(),
        }
    }

    fn ask(&self, line: &str, body: Option<&Value>) -> std::io::Result<Reply> {
        let key = format!("\r\nIdempotency-Key: n{}-{}", self.number, self.drawn);
        let headers = format!("{}{key}", self.world.owner);
        http::ask(&self.world.workspace_at, line, &headers, body)
    }

    /// A word that no other text has.
    fn word(&self) -> String {
        format!("w{}x{}", self.number, self.drawn)
    }

    fn create(&mut self) {
        let word = self.word();
        let body =
            json!({ "workspace_id": self.world.workspace_id, "title": word, "markdown": word });
        let answer = self.ask("POST /api/notes", Some(&body));
        let made = self.world.judge("note, create", answer, |reply| {
            reply.status == 201 && reply.value()["markdown"] == word.as_str()
        });
        if let Some(made) = made {
            let id = made.value()["note_id"].as_str().map(str::to_owned);
            self.notes.push(Note {
                id: id.unwrap_or_default(),
                version: 1,
                markdown: word,
            });
        }
    }

    /// One of the notes; it comes back to the others if it is to be trusted still.
    fn draw(&mut self) -> Note {
        let at = self.rng.below(self.notes.len() as u64) as usize;
        self.notes.swap_remove(at)
    }

    fn change(&mut self) {
        let mut note = self.draw();
        let word = self.word();
        let body = json!({ "base_version": note.version, "markdown": word });
        let answer = self.ask(&format!("PATCH /api/notes/{}", note.id), Some(&body));
        let changed = self.world.judge("note, change", answer, |reply| {
            let shown = reply.value();
            reply.status == 200
                && shown["markdown"] == word.as_str()
                && shown["version"] == note.version + 1
        });
        // What was refused for want of room has changed nothing; that is looked at like everything else.
        if changed.is_some() {
            note.version += 1;
            note.markdown = word;
        }
        self.notes.push(note);
    }

    fn read(&mut self) {
        let note = self.draw();
        let answer = self.ask(&format!("GET /api/notes/{}", note.id), None);
        self.world.judge("note, read", answer, |reply| {
            let shown = reply.value();
            reply.status == 200
                && shown["markdown"] == note.markdown.as_str()
                && shown["version"] == note.version
        });
        self.notes.push(note);
    }

    fn search(&mut self) {
        let note = self.draw();
        let line = format!(
            "GET /api/search?workspace_id={}&q={}&mode=lexical",
            self.world.workspace_id, note.markdown
        );
        let mut answer = self.ask(&line, None);
        // All writers are one user, who by chance searches too often in a second; what is said to help then must help.
        if matches!(&answer, Ok(reply) if code(reply).as_deref() == Some("RATE_LIMITED")) {
            self.world.tally.count("note, search", "again after 1 s");
            std::thread::sleep(Duration::from_secs(1));
            answer = self.ask(&line, None);
        }
        self.world.judge("note, search", answer, |reply| {
            reply.status == 200 && reply.value().to_string().contains(&note.id)
        });
        self.notes.push(note);
    }

    fn list(&mut self) {
        let line = format!(
            "GET /api/notes?workspace_id={}&limit=5",
            self.world.workspace_id
        );
        let answer = self.ask(&line, None);
        self.world.judge("note, list", answer, |reply| {
            reply.status == 200 && reply.value()["notes"].is_array()
        });
    }

    fn delete(&mut self) {
        let note = self.draw();
        let line = format!(
            "DELETE /api/notes/{}?base_version={}",
            note.id, note.version
        );
        let answer = self.ask(&line, None);
        self.world
            .judge("note, delete", answer, |reply| reply.status == 204);
    }
}
