//! A provider on loopback that answers as it is told, and remembers what it was asked.
//!
//! A request is answered with, in this order: what its line is always answered with; for a look at the models (any
//! GET) the list that was put in, or 404; what the provider was made to answer by; the next of the replies that were put in; what it says when
//! those are used up; and a refused key, after which no run goes on, so that a script that is too short is noticed.
//!
//! It speaks HTTP and nothing below it: the transport's tests, which break connections, heads and chunks, have a
//! server of raw bytes in `crates/transport/tests/common`. It is made for tests, each of which has its own; the one
//! that stands beside benchmarks is [`crate::server`].

mod asked;
mod reply;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::Value;

use crate::patience::PATIENCE;

pub use asked::Asked;
pub use reply::{
    Reply, call, call_to, calls, closes, message, raw, reasoning, refusal, said_to, silence,
    streamed_text, text, written_calls,
};

/// What makes the answer to a request.
type Answers = dyn Fn(&Asked) -> Reply + Send + Sync;

/// Its threads end with the test's process.
#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Told whenever something was asked, answered or released.
    changed: Condvar,
    answers: Option<Box<Answers>>,
    /// Whether it is no provider but any server, to which a GET is a request like any other.
    is_any_server: bool,
}

#[derive(Debug, Default)]
struct State {
    /// By method and path.
    always: BTreeMap<String, Reply>,
    replies: VecDeque<Reply>,
    then: Option<Reply>,
    /// What a look at the models is answered with.
    lists: Option<Reply>,
    heard: Vec<Asked>,
    answered: usize,
    billed: Vec<Billed>,
    /// How many requests may be answered still; `None` where nobody holds them back.
    released: Option<usize>,
    keeps_connections: bool,
    forgets: bool,
}

/// What the provider bills for an answer that it gave whole, by its own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Billed {
    pub input: u64,
    pub output: u64,
}

impl Billed {
    fn of(reply: &Reply) -> Option<Self> {
        let body: Value = serde_json::from_slice(&reply.body).ok()?;
        Some(Self {
            input: body.pointer("/usage/prompt_tokens")?.as_u64()?,
            output: body.pointer("/usage/completion_tokens")?.as_u64()?,
        })
    }
}

impl Provider {
    /// One that answers from what is put in.
    pub fn start() -> Self {
        Self::listen(None, false)
    }

    /// One whose answers follow from what it is asked.
    pub fn answering(answers: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(Some(Box::new(answers)), false)
    }

    /// Any other server whose answers follow from what it is asked, by whatever method.
    pub fn serving(answers: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(Some(Box::new(answers)), true)
    }

    fn listen(answers: Option<Box<Answers>>, is_any_server: bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("a bound listener has one");
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            answers,
            is_any_server,
        });
        let serving = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = serving.clone();
                // A client that has heard enough hangs up, or was killed; that is its right.
                thread::spawn(move || drop(wire::serve(stream, &shared)));
            }
        });
        Self { address, shared }
    }

    /// Answers many requests over one connection, as services do.
    pub fn keeping_connections(self) -> Self {
        self.shared.lock().keeps_connections = true;
        self
    }

    /// Remembers nothing of what it is asked, however long that goes on.
    pub fn forgetting(self) -> Self {
        self.shared.lock().forgets = true;
        self
    }

    /// Holds every answer back until it is released.
    pub fn held(self) -> Self {
        self.shared.lock().released = Some(0);
        self
    }

    /// Lets so many requests be answered.
    pub fn release(&self, count: usize) {
        *self.shared.lock().released.get_or_insert(0) += count;
        self.shared.changed.notify_all();
    }

    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Its next answers.
    pub fn say(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.lock().replies.extend(replies);
    }

    /// What it answers when everything else was said.
    pub fn then_always(&self, reply: Reply) {
        self.shared.lock().then = Some(reply);
    }

    /// Says this of its models from now on.
    pub fn list(&self, models: &Value) {
        let listed = raw(200, "application/json", models.to_string());
        self.shared.lock().lists = Some(listed);
    }

    /// Answers this method and path so from now on.
    pub fn always(&self, line: &str, reply: Reply) {
        self.shared.lock().always.insert(line.into(), reply);
    }

    /// What was asked of its models.
    pub fn asked(&self) -> Vec<Asked> {
        let state = self.shared.lock();
        let asked = state.heard.iter().filter(|asked| !asked.is_look());
        asked.cloned().collect()
    }

    /// Everything that came, by whatever method.
    pub fn heard(&self) -> Vec<Asked> {
        self.shared.lock().heard.clone()
    }

    pub fn asked_count(&self) -> usize {
        self.shared.lock().asked_count()
    }

    /// What was asked with this method and path.
    pub fn asked_at(&self, line: &str) -> Vec<Asked> {
        let state = self.shared.lock();
        let asked = state.heard.iter().filter(|asked| asked.line == line);
        asked.cloned().collect()
    }

    /// The paths at which its models were looked at.
    pub fn looks(&self) -> Vec<String> {
        let state = self.shared.lock();
        let looks = state.heard.iter().filter(|asked| asked.is_look());
        looks.map(|asked| asked.path.clone()).collect()
    }

    pub fn billed(&self) -> Vec<Billed> {
        self.shared.lock().billed.clone()
    }

    /// Waits until so much was asked of its models.
    #[track_caller]
    pub fn wait_for(&self, requests: usize) {
        self.wait(|state| state.asked_count() >= requests);
    }

    /// Waits until so many answers of its models are on their way.
    #[track_caller]
    pub fn wait_until_answered(&self, requests: usize) {
        self.wait(|state| state.answered >= requests);
    }

    #[track_caller]
    fn wait(&self, is_time: impl Fn(&State) -> bool) {
        let state = self.shared.lock();
        let early = |state: &mut State| !is_time(state);
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, PATIENCE, early);
        let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "it was asked {:?}", state.heard);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves nothing half done in here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request down and says what it is answered with, when it is time.
    fn hear(&self, asked: &Asked) -> Reply {
        let mut state = self.lock();
        if !state.forgets {
            state.heard.push(asked.clone());
        }
        self.changed.notify_all();
        if let Some(reply) = state.always.get(&asked.line) {
            return reply.clone();
        }
        if asked.is_look() && !self.is_any_server {
            let lists = state.lists.clone();
            return lists.unwrap_or_else(|| raw(404, "text/plain", ""));
        }
        // Replies are given out in the order of the requests, whoever is answered first.
        let put_in = self.answers.is_none().then(|| state.next());
        let is_held = |state: &mut State| state.released == Some(0);
        let waited = self.changed.wait_while(state, is_held);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = &mut state.released {
            *left -= 1;
        }
        drop(state);
        match (put_in, &self.answers) {
            (Some(reply), _) => reply,
            (None, Some(answers)) => answers(asked),
            (None, None) => unreachable!("one of both makes the answers"),
        }
    }

    fn answered(&self, asked: &Asked, reply: &Reply) {
        if asked.is_look() {
            return;
        }
        let mut state = self.lock();
        state.answered += 1;
        if reply.is_whole() {
            state.billed.extend(Billed::of(reply));
        }
        self.changed.notify_all();
    }
}

impl State {
    fn next(&mut self) -> Reply {
        let next = self.replies.pop_front();
        next.or_else(|| self.then.clone())
            .unwrap_or_else(|| refusal(401, "the script has no more replies"))
    }

    fn asked_count(&self) -> usize {
        self.heard.iter().filter(|asked| !asked.is_look()).count()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}
