//! `serve --agent`: its clients ask again what was not answered, under the same key, of whatever server is there.

use std::thread;

use bonded_testkit::http::{self, Reply};
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::agents;
use crate::model::{ANSWER, TOOL};
use crate::moments::each;
use crate::place::{Done, Place};

const CLIENTS: u64 = 3;

pub(crate) struct Scene {
    pub(crate) place: Place,
    words: Vec<String>,
}

/// An answer: its text, and the run that it came of.
type Answer = Option<(String, String)>;

impl Scene {
    pub(crate) fn new(stop_after: &str) -> Self {
        let (place, agent) = agents::place();
        let words = [
            "serve",
            "--mcp",
            "--listen",
            "127.0.0.1:0",
            "--no-token",
            "--stop-after",
            stop_after,
        ];
        let words = [words.map(str::to_owned).to_vec(), agent].concat();
        Self { place, words }
    }

    /// Starts a server and gives where it listens.
    pub(crate) fn begin(&self) -> (Process, String) {
        Process::serve(&mut self.place.command(&self.words))
    }

    /// All clients ask; gives what each was answered.
    fn ask(&self, address: &str) -> Vec<Answer> {
        thread::scope(|scope| {
            let clients = (0..CLIENTS).map(|client| scope.spawn(move || ask(address, client)));
            let clients: Vec<_> = clients.collect();
            let joined = clients
                .into_iter()
                .map(|it| it.join().expect("a client only asks"));
            joined.collect()
        })
    }

    pub(crate) fn check_end(signal: Signal, ended: &Done) {
        let is_due = match signal {
            Signal::INT | Signal::TERM => matches!(ended.code, Some(0) | None),
            _ => ended.code.is_none(),
        };
        assert!(is_due, "{ended:?}");
    }

    /// Every question has been answered in the end, by one run each, and none was given up.
    fn check(&self, first: &[Answer]) {
        let (server, address) = self.begin();
        let again = self.ask(&address);
        for (first, again) in first.iter().zip(&again) {
            let again = again.as_ref().expect("there is an answer");
            assert_eq!(again.0, ANSWER);
            assert!(
                first.as_ref().is_none_or(|it| it == again),
                "{first:?}, then {again:?}"
            );
        }
        assert_eq!(server.end(Signal::TERM).code, Some(0));
        let runs = self.place.listed();
        assert_eq!(runs.len() as u64, CLIENTS);
        for run in runs {
            assert_eq!(run.status, "succeeded", "{}", run.id);
            self.place.passes_the_audit(&run.id);
        }
        self.place.check_witness(TOOL, agents::counted(&self.place));
    }
}

/// One question under a key of its own.
fn ask(address: &str, client: u64) -> Answer {
    let message = json!({ "role": "user", "content": format!("count for {client}") });
    let body = json!({ "model": "counter", "messages": [message] });
    let key = format!("Idempotency-Key: key-{client}");
    let reply = post(address, "/v1/chat/completions", &key, &body)?;
    let answer = reply.value();
    let text = answer["choices"][0]["message"]["content"].as_str()?;
    Some((text.to_owned(), reply.header("x-bonded-run")?.to_owned()))
}

/// What a server answers; nothing where it has gone or is about to go.
pub(crate) fn post(address: &str, path: &str, headers: &str, body: &Value) -> Option<Reply> {
    let reply = http::ask(address, &format!("POST {path}"), headers, Some(body)).ok()?;
    if !(200..300).contains(&reply.status) {
        // A server that stops says so; nothing else is refused.
        assert_eq!(reply.status, 503, "{reply:?}");
        return None;
    }
    Some(reply)
}

fn undisturbed() {
    let scene = Scene::new("30");
    let (_server, address) = scene.begin();
    scene.ask(&address);
}

#[test]
fn a_server_of_agents_that_is_sent_any_signal_answers_everything_once() {
    each("serve --agent", undisturbed, |signal, rng, after| {
        let stop_after: &&str = rng.one_of(&["0", "1", "30"]);
        let scene = Scene::new(stop_after);
        let (server, address) = scene.begin();
        let stays = matches!(signal, Signal::HUP | Signal::PIPE);
        let (ended, first) = thread::scope(|scope| {
            let asking = scope.spawn(|| scene.ask(&address));
            thread::sleep(after);
            server.signal(signal);
            let ended = (!stays).then(|| server.finish());
            let first = asking.join().expect("clients only ask");
            if stays {
                let is_answered = first.iter().all(Option::is_some);
                assert!(is_answered, "{signal:?} changes nothing: {first:?}");
                server.signal(Signal::KILL);
            }
            (ended, first)
        });
        if let Some(ended) = ended {
            Scene::check_end(signal, &ended);
        }
        let cancelled = scene
            .place
            .listed()
            .into_iter()
            .filter(|run| run.status == "cancelled");
        assert_eq!(cancelled.count(), 0, "nobody has cancelled anything");
        scene.check(&first);
    });
}
