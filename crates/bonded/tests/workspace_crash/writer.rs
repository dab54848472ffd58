//! A person who writes without pause, and sends again, under the same key, whatever was not answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Request};
use crate::notes::{Acknowledged, Kept};
use crate::rng::Rng;
use crate::rules::{GO_TITLE, GO_WORD, text};
use crate::server::Shared;

/// How long a writer thinks between two writes at most.
const THINKS_MS: u64 = 25;
/// A run is cancelled within this time from its launch.
const GIVEN_UP_MS: u64 = 150;
/// Older notes are left alone, so that the others have histories.
const NOTES_IN_USE: u64 = 8;

pub(crate) struct Writer {
    number: u64,
    shared: Arc<Shared>,
    workspace: String,
    /// The rule that this one launches, and the one whose runs it cancels.
    launched: Option<[String; 2]>,
    rng: Rng,
    drawn: u64,
    notes: Vec<Kept>,
    told: Acknowledged,
    last: Option<(Request, Answer)>,
}

/// What a request must come to.
enum Expected {
    Note(Kept),
    Run,
    GivenUp,
    Refused,
}

impl Writer {
    pub(crate) fn new(
        number: u64,
        seed: u64,
        shared: Arc<Shared>,
        workspace: &str,
        launched: Option<[String; 2]>,
    ) -> Self {
        Self {
            number,
            shared,
            workspace: workspace.to_owned(),
            launched,
            rng: Rng::of(seed, number),
            drawn: 0,
            notes: vec![],
            told: Acknowledged::default(),
            last: None,
        }
    }

    /// Writes until it is over. The last write is brought to its end, too.
    pub(crate) fn work(mut self) -> Acknowledged {
        while !self.shared.is_over.load(Ordering::Relaxed) {
            self.repeat();
            let (request, expected) = self.draw();
            let answer = self.shared.insist(&request);
            self.take(&request, &answer, expected);
            self.last = Some((request, answer));
            thread::sleep(Duration::from_millis(self.rng.below(THINKS_MS)));
        }
        self.told
    }

    /// What was answered is now and then asked again, perhaps of another process: the answer is the same.
    fn repeat(&mut self) {
        let Some((request, answer)) = self.last.take() else {
            return;
        };
        if self.rng.below(6) == 0 {
            let again = self.shared.insist(&request);
            let same = match answer.body.get("run_id") {
                Some(run) => *run == again.body["run_id"],
                None => answer == again,
            };
            assert!(same, "{request:?}: {answer:?}, then {again:?}");
        }
    }

    fn take(&mut self, request: &Request, answer: &Answer, expected: Expected) {
        let key = request.key.clone();
        let context = || format!("{request:?}: {answer:?}");
        match expected {
            Expected::Refused => {
                assert_eq!(answer.status, 409, "{}", context());
                self.told.refused.push(key);
            }
            Expected::Run => {
                assert_eq!(answer.status, 201, "{}", context());
                self.told.launches.push((key, text(&answer.body["run_id"])));
            }
            Expected::GivenUp => {
                assert_eq!(answer.status, 201, "{}", context());
                self.give_up(key, text(&answer.body["run_id"]));
            }
            Expected::Note(mut kept) => {
                assert!([200, 201, 204].contains(&answer.status), "{}", context());
                if kept.id.is_empty() {
                    kept.id = text(&answer.body["note_id"]);
                }
                if answer.status != 204 {
                    assert_eq!(Kept::shown(&answer.body), kept, "{}", context());
                }
                match self.notes.iter_mut().find(|it| it.id == kept.id) {
                    Some(note) => note.clone_from(&kept),
                    None => self.notes.push(kept.clone()),
                }
                self.told.writes.push((key, kept));
            }
        }
    }

    /// Cancels a run, which may be at its end already.
    fn give_up(&mut self, key: String, run: String) {
        thread::sleep(Duration::from_millis(self.rng.below(GIVEN_UP_MS)));
        let path = format!("/api/automation/runs/{run}/cancel");
        let answer = self.shared.insist(&Request {
            method: "POST",
            path,
            key: format!("cancel-{run}"),
            body: Some(json!({})),
        });
        assert!([200, 409].contains(&answer.status), "{run}: {answer:?}");
        self.told.given_up.push((key, run));
    }

    fn request(&self, method: &'static str, path: String, body: Option<Value>) -> Request {
        let key = format!("w{}-{}", self.number, self.drawn);
        Request {
            method,
            path,
            key,
            body,
        }
    }

    fn draw(&mut self) -> (Request, Expected) {
        self.drawn += 1;
        let chance = self.rng.below(20);
        if let (18..20, Some(rules)) = (chance, &self.launched) {
            let (rule, expected) = match chance {
                18 => (&rules[0], Expected::Run),
                _ => (&rules[1], Expected::GivenUp),
            };
            let path = format!("/api/automation/rules/{rule}/launch");
            return (self.request("POST", path, Some(json!({}))), expected);
        }
        if chance < 6 || self.notes.is_empty() {
            return self.create();
        }
        let in_use = NOTES_IN_USE.min(self.notes.len() as u64);
        let back = self.rng.below(in_use) as usize + 1;
        let note = self.notes[self.notes.len() - back].clone();
        match (note.is_deleted, chance) {
            (true, _) => self.undelete(note),
            (_, 6..11) => self.rewrite(note),
            (_, 11..13) => self.patch(note),
            (_, 13..15) => self.retitle(note),
            (_, 15..17) => self.delete(note),
            (_, 17) => self.set_metadata(note),
            _ => self.stale(&note),
        }
    }

    /// A word that sets rules off, now and then.
    fn go(&mut self, word: &'static str, one_in: u64) -> &'static str {
        match self.rng.below(one_in) {
            0 => word,
            _ => "",
        }
    }

    fn create(&mut self) -> (Request, Expected) {
        let (writer, number) = (self.number, self.drawn);
        let title = format!("w{writer} {number}{}", self.go(GO_TITLE, 10));
        let markdown = format!("text {number} {}", self.go(GO_WORD, 30));
        let body = json!({ "workspace_id": self.workspace, "title": title, "markdown": markdown });
        let request = self.request("POST", "/api/notes".into(), Some(body));
        let kept = Kept {
            id: String::new(),
            version: 1,
            title,
            markdown,
            is_deleted: false,
        };
        (request, Expected::Note(kept))
    }

    fn rewrite(&mut self, mut note: Kept) -> (Request, Expected) {
        let word = self.go(GO_WORD, 20);
        note.markdown = format!("text {} {word}", self.drawn);
        let body = json!({ "base_version": note.version, "markdown": note.markdown });
        self.change("PATCH", "", Some(body), note)
    }

    fn patch(&mut self, mut note: Kept) -> (Request, Expected) {
        let front = format!("patched {} ", self.drawn);
        let ops = json!([{ "insert": front }]);
        note.markdown.insert_str(0, &front);
        let body = json!({ "base_version": note.version, "patch_ops": ops });
        self.change("PATCH", "", Some(body), note)
    }

    fn retitle(&mut self, mut note: Kept) -> (Request, Expected) {
        let end = self.go(GO_TITLE, 6);
        note.title = format!("w{} {} again{end}", self.number, self.drawn);
        let body = json!({ "base_version": note.version, "title": note.title });
        self.change("PATCH", "/title", Some(body), note)
    }

    fn delete(&mut self, mut note: Kept) -> (Request, Expected) {
        note.is_deleted = true;
        let end = format!("?base_version={}", note.version);
        self.change("DELETE", &end, None, note)
    }

    fn undelete(&mut self, mut note: Kept) -> (Request, Expected) {
        note.is_deleted = false;
        let body = json!({ "base_version": note.version });
        self.change("POST", "/undelete", Some(body), note)
    }

    fn set_metadata(&mut self, note: Kept) -> (Request, Expected) {
        let end = format!("/metadata/seen?base_version={}", note.version);
        self.change("PUT", &end, Some(json!({ "value": self.drawn })), note)
    }

    /// Somebody who has not seen the last version.
    fn stale(&mut self, note: &Kept) -> (Request, Expected) {
        let body = json!({ "base_version": note.version + 1, "markdown": "from nowhere" });
        let path = format!("/api/notes/{}", note.id);
        (self.request("PATCH", path, Some(body)), Expected::Refused)
    }

    fn change(
        &mut self,
        method: &'static str,
        end: &str,
        body: Option<Value>,
        mut note: Kept,
    ) -> (Request, Expected) {
        let path = format!("/api/notes/{}{end}", note.id);
        note.version += 1;
        (self.request(method, path, body), Expected::Note(note))
    }
}
