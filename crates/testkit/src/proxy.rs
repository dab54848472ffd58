//! A way to a server that a test cuts: what is sent on it is held back, as by a network that loses it, or its connections
//! are closed.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::patience::PATIENCE;

/// What no longer comes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Questions,
    Answers,
    Both,
}

impl Way {
    pub const ALL: [Self; 3] = [Self::Questions, Self::Answers, Self::Both];

    fn has_questions(self) -> bool {
        self != Self::Answers
    }

    fn has_answers(self) -> bool {
        self != Self::Questions
    }
}

/// Stands between programs and their server. It is there as long as the test program.
#[derive(Debug)]
pub struct Proxy {
    pub port: u16,
    state: Arc<ProxyState>,
}

#[derive(Debug, Default)]
struct ProxyState {
    plan: Mutex<CutPlan>,
    /// The clients' ends of all connections, with whether the other end outlives them.
    clients: Mutex<Vec<(TcpStream, Arc<AtomicBool>)>>,
    changed: Condvar,
    closed: AtomicU32,
}

#[derive(Debug, Default)]
struct CutPlan {
    /// What is held back now.
    held: Option<Way>,
    /// A question that holds this is the moment to hold back so.
    trigger: Option<(Vec<u8>, Way)>,
    /// The next piece on this way is lost, and its connection closed.
    closes: Option<Way>,
}

impl Proxy {
    /// Before the server on this port of this machine.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let port = listener.local_addr().expect("it has an address").port();
        let state = Arc::<ProxyState>::default();
        let carried = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    carried.carry(client, server);
                }
            }
        });
        Self { port, state }
    }

    /// From the first question on that holds this, which is lost as well where questions are, nothing comes through.
    pub fn hold_at(&self, words: &str, way: Way) {
        self.state.plan().trigger = Some((words.as_bytes().to_vec(), way));
    }

    /// Waits until the moment to hold back has come.
    #[track_caller]
    pub fn wait_until_held(&self) {
        let early = |plan: &mut CutPlan| plan.held.is_none();
        let plan = self.state.plan();
        let waited = self.state.changed.wait_timeout_while(plan, PATIENCE, early);
        let waited = waited.unwrap_or_else(PoisonError::into_inner).0;
        assert!(waited.held.is_some(), "the moment has not come");
    }

    /// What was held back is delivered, as by a network that tries again.
    pub fn heal(&self) {
        self.state.plan().held = None;
        self.state.changed.notify_all();
    }

    /// The next piece on this way is lost, and its connection closed.
    pub fn close_next(&self, way: Way) {
        self.state.plan().closes = Some(way);
    }

    /// Closes the clients' ends of all connections and leaves the server's open: what was asked on them goes on there.
    pub fn forsake(&self) {
        for (client, is_forsaken) in self.state.clients().drain(..) {
            is_forsaken.store(true, Ordering::SeqCst);
            // It may be closed already.
            let _closed = client.shutdown(Shutdown::Both);
        }
    }

    /// How many connections were closed so.
    pub fn closed(&self) -> u32 {
        self.state.closed.load(Ordering::SeqCst)
    }
}

impl ProxyState {
    fn plan(&self) -> MutexGuard<'_, CutPlan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clients(&self) -> MutexGuard<'_, Vec<(TcpStream, Arc<AtomicBool>)>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carry(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let clone = |stream: &TcpStream| stream.try_clone().expect("it can be cloned");
        let is_forsaken = Arc::new(AtomicBool::new(false));
        self.clients()
            .push((clone(&client), Arc::clone(&is_forsaken)));
        let ways = [
            (clone(&client), clone(&server), true),
            (server, client, false),
        ];
        for (mut from, mut to, is_question) in ways {
            let (state, is_forsaken) = (Arc::clone(self), Arc::clone(&is_forsaken));
            // What a message is split into does not matter where the end of the last piece is looked at too.
            thread::spawn(move || {
                let mut piece = [0; 64 * 1024];
                let mut seen = vec![];
                while let Ok(length @ 1..) = from.read(&mut piece) {
                    let piece = &piece[..length];
                    if is_question {
                        seen.extend(piece);
                        state.look_at(&seen);
                        seen.drain(..seen.len().saturating_sub(64));
                    }
                    let goes_on = state.pass(is_question);
                    if !goes_on || to.write_all(piece).is_err() {
                        break;
                    }
                }
                if is_forsaken.load(Ordering::SeqCst) {
                    // As long as the test program lives.
                    std::mem::forget([from, to]);
                    return;
                }
                let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            });
        }
    }

    /// Whether the moment has come.
    fn look_at(&self, question: &[u8]) {
        let mut plan = self.plan();
        let is_meant = |(words, _): &mut (Vec<u8>, Way)| {
            question
                .windows(words.len())
                .any(|part| part == words.as_slice())
        };
        if let Some((_, way)) = plan.trigger.take_if(is_meant) {
            plan.held = Some(way);
            self.changed.notify_all();
        }
    }

    /// Waits while nothing comes through; whether the connection goes on.
    fn pass(&self, is_question: bool) -> bool {
        let is_on = |way: Option<Way>| {
            way.is_some_and(|way| match is_question {
                true => way.has_questions(),
                false => way.has_answers(),
            })
        };
        let held = |plan: &mut CutPlan| is_on(plan.held);
        let waited = self.changed.wait_while(self.plan(), held);
        let mut plan = waited.unwrap_or_else(PoisonError::into_inner);
        if !is_on(plan.closes) {
            return true;
        }
        plan.closes = None;
        self.closed.fetch_add(1, Ordering::SeqCst);
        false
    }
}
