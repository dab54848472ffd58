//! The server that is killed, and what the others know of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::Value;

use crate::client::{Answer, Request, ask};
use crate::place::Place;

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

    fn listens(&self, address: String, token: &str) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = token.to_owned();
        self.set_address(Some(address));
    }

    pub(crate) fn token(&self) -> String {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token.clone()
    }

    /// Waits for a server to listen.
    pub(crate) fn wait_for_address(&self) -> String {
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
    process: Arc<Process>,
    shared: Arc<Shared>,
    /// Tells the others where the server listens.
    herald: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Starts it and does not wait: the others see when it listens.
    pub(crate) fn begin(place: &Place, shared: &Arc<Shared>) -> Self {
        let process = Arc::new(Process::begin(&mut place.serve_data()));
        let (listens, told) = (process.clone(), shared.clone());
        let token_file = place.path("data/owner-token");
        let herald = thread::spawn(move || {
            // One that was killed before listens nowhere.
            if let Ok(address) = listens.address() {
                let token = std::fs::read_to_string(&token_file).unwrap_or_default();
                told.listens(address, token.trim());
            }
        });
        Self {
            process,
            shared: shared.clone(),
            herald: Some(herald),
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
            if self.process.ended().is_some() {
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
        self.process.signal(signal);
        if stays {
            return vec![];
        }
        let done = self.process.finish();
        let is_due = match signal {
            Signal::INT | Signal::TERM => matches!(done.code, Some(0) | None),
            _ => done.code.is_none(),
        };
        assert!(is_due, "{signal:?}: {done:?}");
        let told = self.collect();
        *self = Self::begin(place, &self.shared);
        told
    }

    /// Kills it and gives what it had told.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.end()
    }

    fn end(&mut self) -> Vec<String> {
        if self.process.ended().is_none() {
            self.process.end(Signal::KILL);
        }
        self.collect()
    }

    /// What one that has ended had told.
    fn collect(&mut self) -> Vec<String> {
        if let Some(herald) = self.herald.take() {
            herald.join().expect("a herald only tells");
        }
        self.shared.set_address(None);
        self.process.told()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.herald.is_some() {
            self.end();
        }
    }
}
