//! `serve --agent`: its clients ask again what was not answered, under the same key, of whatever server is there.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::agents;
use crate::model::{ANSWER, TOOL};
use crate::moments::{each, signalled};
use crate::place::{Done, Place, finish, start};

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(90);

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

    /// Starts a server and gives where it listens; nothing where it has ended before.
    pub(crate) fn begin(&self) -> (Child, Option<String>) {
        let mut child = start(&mut self.place.command(&self.words));
        let stderr = child.stderr.take().expect("stderr is a pipe");
        let (sender, said) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("listening on http://") {
                    // Nobody may listen any more.
                    let _unheard = sender.send(address.to_owned());
                }
            }
        });
        let address = said.recv_timeout(PATIENCE).ok();
        (child, address)
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
        let (child, address) = self.begin();
        let address = address.expect("the server starts again");
        let again = self.ask(&address);
        for (first, again) in first.iter().zip(&again) {
            let again = again.as_ref().expect("there is an answer");
            assert_eq!(again.0, ANSWER);
            assert!(
                first.as_ref().is_none_or(|it| it == again),
                "{first:?}, then {again:?}"
            );
        }
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it can be signalled");
        assert_eq!(finish(child).code, Some(0));
        let runs = self.place.listed();
        assert_eq!(runs.len() as u64, CLIENTS);
        for run in runs {
            assert_eq!(run.status, "succeeded", "{}", run.id);
            self.place.is_whole(&run.id);
        }
        self.place.check_witness(TOOL, agents::counted(&self.place));
    }
}

/// One question under a key of its own.
fn ask(address: &str, client: u64) -> Answer {
    let message = json!({ "role": "user", "content": format!("count for {client}") });
    let body = json!({ "model": "counter", "messages": [message] });
    let key = format!("Idempotency-Key: key-{client}\r\n");
    let (head, body) = post(address, "/v1/chat/completions", &key, &body)?;
    let run = head
        .lines()
        .find_map(|line| line.strip_prefix("x-bonded-run: "));
    // Without a whole answer there is none.
    let answer: Value = serde_json::from_str(&body).ok()?;
    let text = answer["choices"][0]["message"]["content"].as_str();
    Some((text?.to_owned(), run?.to_owned()))
}

/// The head and the body of what a server answers; nothing where it has gone or is about to go.
pub(crate) fn post(
    address: &str,
    path: &str,
    headers: &str,
    body: &Value,
) -> Option<(String, String)> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut heard = String::new();
    stream.read_to_string(&mut heard).ok()?;
    let (head, body) = heard.split_once("\r\n\r\n")?;
    if !head.starts_with("HTTP/1.1 20") {
        // A server that stops says so; nothing else is refused.
        assert!(head.starts_with("HTTP/1.1 503"), "{heard}");
        return None;
    }
    Some((head.to_owned(), body.to_owned()))
}

fn undisturbed() {
    let scene = Scene::new("30");
    let (mut child, address) = scene.begin();
    scene.ask(&address.expect("the server starts"));
    child
        .kill()
        .and_then(|()| child.wait())
        .expect("it can be killed");
}

#[test]
fn a_server_of_agents_that_is_sent_any_signal_answers_everything_once() {
    each("serve --agent", undisturbed, |signal, rng, after| {
        let stop_after: &&str = rng.one_of(&["0", "1", "30"]);
        let scene = Scene::new(stop_after);
        let (child, address) = scene.begin();
        let address = address.expect("the server starts");
        let stays = matches!(signal, Signal::HUP | Signal::PIPE);
        let (ended, first) = thread::scope(|scope| {
            let asking = scope.spawn(|| scene.ask(&address));
            let pid = Pid::from_child(&child);
            let ended = if stays {
                thread::sleep(after);
                kill_process(pid, signal).expect("it can be signalled");
                None
            } else {
                Some(signalled(child, signal, after))
            };
            let first = asking.join().expect("clients only ask");
            if stays {
                let is_answered = first.iter().all(Option::is_some);
                assert!(is_answered, "{signal:?} changes nothing: {first:?}");
                kill_process(pid, Signal::KILL).expect("it can be signalled");
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
