//! The server that is killed, and what the others know of it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::{Answer, Request, ask};
use crate::place::{Place, start};

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// What writers, the model and whoever kills share.
#[derive(Default)]
pub(crate) struct Shared {
    /// Where the server listens, while it does.
    address: Mutex<Option<String>>,
    token: Mutex<String>,
    /// No more new writes: what is under way is brought to its end.
    pub(crate) is_over: AtomicBool,
    /// How many writes were sent, for kills that aim at one.
    pub(crate) writes_sent: AtomicU64,
    /// How many replies ended a run, for kills that aim at its end.
    pub(crate) last_replies: AtomicU64,
    pub(crate) replies: AtomicU64,
    /// Writes that had to be sent again.
    pub(crate) sent_again: AtomicU64,
}

impl Shared {
    pub(crate) fn address(&self) -> Option<String> {
        let address = self.address.lock().unwrap_or_else(PoisonError::into_inner);
        address.clone()
    }

    fn set_address(&self, address: Option<String>) {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    fn token(&self) -> String {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token.clone()
    }

    /// Waits for a server to listen.
    fn wait_for_address(&self) -> String {
        let began = Instant::now();
        loop {
            if let Some(address) = self.address() {
                return address;
            }
            assert!(began.elapsed() < PATIENCE, "no server came back");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends a request until there is an answer, to whatever server is there.
    pub(crate) fn insist(&self, request: &Request) -> Answer {
        let token = self.token();
        let began = Instant::now();
        loop {
            let address = self.wait_for_address();
            self.writes_sent.fetch_add(1, Ordering::Relaxed);
            match ask(&address, &token, request) {
                Ok(answer) => return answer,
                Err(error) => {
                    assert!(began.elapsed() < PATIENCE, "{request:?}: {error}");
                    self.sent_again.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let request = Request {
            method: "GET",
            path: path.to_owned(),
            key: "read".into(),
            body: None,
        };
        let answer = self.insist(&request);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.body
    }

    /// Everything of a list that comes in pages.
    pub(crate) fn list(&self, path: &str, name: &str) -> Vec<Value> {
        let mut all = vec![];
        let mut offset = Some(0);
        while let Some(at) = offset {
            let mut page = self.get(&format!("{path}&limit=200&offset={at}"));
            offset = page["next_offset"].as_u64();
            let Value::Array(items) = page[name].take() else {
                panic!("{path} lists no {name}");
            };
            all.extend(items);
        }
        all
    }
}

/// One process. It is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    shared: Arc<Shared>,
    listener: Option<thread::JoinHandle<Vec<String>>>,
}

impl Server {
    /// Starts it and does not wait: the others see when it listens.
    pub(crate) fn begin(place: &Place, shared: &Arc<Shared>) -> Self {
        let data = place.path("data").display().to_string();
        let words = ["serve", "--data", &data, "--listen", "127.0.0.1:0"];
        let mut child = start(&mut place.command(&words));
        let stderr = child.stderr.take().expect("stderr is a pipe");
        let heard = shared.clone();
        let token_file = place.path("data/owner-token");
        let listener = thread::spawn(move || {
            let mut told = vec![];
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("listening on http://") {
                    let token = std::fs::read_to_string(&token_file).unwrap_or_default();
                    *heard.token.lock().unwrap_or_else(PoisonError::into_inner) =
                        token.trim().to_owned();
                    heard.set_address(Some(address.to_owned()));
                }
                told.push(line);
            }
            told
        });
        Self {
            child,
            shared: shared.clone(),
            listener: Some(listener),
        }
    }

    /// How long it took to listen.
    pub(crate) fn wait(&self) -> Duration {
        let began = Instant::now();
        self.shared.wait_for_address();
        began.elapsed()
    }

    /// Waits until it listens; an error with what it told where it ended instead.
    pub(crate) fn wait_or_end(&mut self) -> Result<(), Vec<String>> {
        while self.shared.address().is_none() {
            let ended = self.child.try_wait();
            if ended.expect("a child can be looked at").is_some() {
                return Err(self.end());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Sends it a signal and starts another where that ends it; gives what the first had told.
    pub(crate) fn restart(&mut self, place: &Place, signal: Signal) -> Vec<String> {
        let stays = matches!(signal, Signal::PIPE | Signal::HUP);
        if stays {
            // Before it listens to signals, they end it.
            self.wait();
        }
        kill_process(Pid::from_child(&self.child), signal).expect("a child can be signalled");
        if stays {
            return vec![];
        }
        let status = self.wait_for_end();
        let is_due = match signal {
            Signal::INT | Signal::TERM => matches!(status.code(), Some(0) | None),
            _ => status.code().is_none(),
        };
        assert!(is_due, "{signal:?}: {status}");
        let told = self.collect();
        *self = Self::begin(place, &self.shared);
        told
    }

    fn wait_for_end(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            let ended = self.child.try_wait();
            if let Some(status) = ended.expect("a child can be looked at") {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "it did not end");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Kills it and gives what it had told.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.end()
    }

    fn end(&mut self) -> Vec<String> {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.expect("the server can be killed");
        self.collect()
    }

    /// What one that has ended had told.
    fn collect(&mut self) -> Vec<String> {
        let told = match self.listener.take() {
            Some(listener) => listener.join().expect("a listener only listens"),
            None => vec![],
        };
        self.shared.set_address(None);
        told
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.listener.is_some() {
            self.end();
        }
    }
}
