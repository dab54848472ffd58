//! The sessions of a server that many clients reach.
//!
//! An id is drawn at random and counts only together with the caller that greeted, so that a stolen id is of no use
//! with another token. Sessions that nobody uses are forgotten after an hour, or earlier where their caller opens
//! too many; one with a request under way or a listener is never forgotten. There is no task that cleans up: each
//! look does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_kernel::Hash;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::message::Outbox;
use super::session::McpSession;

/// How many sessions each caller may have.
const SESSIONS_MAX: usize = 1024;
/// How many of them may be unused: most clients leave without a word, and what lies about for them for an hour keeps the
/// memory around it from being given back.
const UNUSED_MAX: usize = 256;
/// A client that has asked nothing for so long must say hello again.
const IDLE_MAX: Duration = Duration::from_secs(3600);
/// How many news may wait for a client that does not listen.
const NEWS_MAX: usize = 64;

/// By id. The lock is held for lookups only, never across an await.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<BTreeMap<String, SessionEntry>>);

/// A session with its news, and when its client last came with its id.
#[derive(Debug)]
struct SessionEntry {
    session: Arc<McpSession>,
    listening: Arc<Listening>,
    used: Instant,
}

/// The news of a session. One listener at a time has them.
#[derive(Debug)]
pub(super) struct Listening(Mutex<Option<mpsc::Receiver<Value>>>);

impl Listening {
    /// Takes the place of the listener; `None` if somebody has it.
    pub(super) fn begin(&self) -> Option<mpsc::Receiver<Value>> {
        lock(&self.0).take()
    }

    /// Gives the place back, with what has not been read yet: the next listener has it.
    pub(super) fn end(&self, news: mpsc::Receiver<Value>) {
        *lock(&self.0) = Some(news);
    }

    fn is_free(&self) -> bool {
        lock(&self.0).is_some()
    }
}

/// A client that is not known yet, and the news for it.
pub(super) fn stranger(caller: Hash) -> (Arc<McpSession>, mpsc::Receiver<Value>) {
    let (news, receiver): (Outbox, _) = mpsc::channel(NEWS_MAX);
    (McpSession::new(caller, news), receiver)
}

impl Sessions {
    /// Keeps a session under a new id; `None` if there are too many that are used.
    pub(super) fn keep(
        &self,
        session: Arc<McpSession>,
        news: mpsc::Receiver<Value>,
    ) -> Option<String> {
        let mut kept = lock(&self.0);
        forget_idle(&mut kept, IDLE_MAX);
        let caller = session.caller;
        make_room(&mut kept, caller);
        if count(&kept, caller) >= SESSIONS_MAX {
            return None;
        }
        let id = uuid::Uuid::new_v4().simple().to_string();
        let listening = Arc::new(Listening(Mutex::new(Some(news))));
        let used = Instant::now();
        kept.insert(
            id.clone(),
            SessionEntry {
                session,
                listening,
                used,
            },
        );
        Some(id)
    }

    /// Finds a session of this caller's.
    pub(super) fn find(&self, id: &str, caller: Hash) -> Option<(Arc<McpSession>, Arc<Listening>)> {
        let mut kept = lock(&self.0);
        forget_idle(&mut kept, IDLE_MAX);
        let found = kept.get_mut(id);
        let found = found.filter(|kept| kept.session.caller == caller)?;
        found.used = Instant::now();
        Some((found.session.clone(), found.listening.clone()))
    }

    /// Ends a session of this caller's; says whether there was one.
    pub(super) fn end(&self, id: &str, caller: Hash) -> bool {
        let mut kept = lock(&self.0);
        let is_theirs = kept.get(id).is_some_and(|it| it.session.caller == caller);
        if is_theirs && let Some(kept) = kept.remove(id) {
            kept.session.end();
        }
        is_theirs
    }
}

impl SessionEntry {
    /// Whether it can be forgotten without anybody losing an answer or a stream.
    fn is_unused(&self) -> bool {
        self.session.is_idle() && self.listening.is_free()
    }
}

/// Forgets what has been unused for so long, and ends what was begun there, such as watched resources.
fn forget_idle(kept: &mut BTreeMap<String, SessionEntry>, idle_max: Duration) {
    kept.retain(|_, kept| {
        let stays = !kept.is_unused() || kept.used.elapsed() < idle_max;
        if !stays {
            kept.session.end();
        }
        stays
    });
}

fn count(kept: &BTreeMap<String, SessionEntry>, caller: Hash) -> usize {
    let of_caller = kept.values().filter(|kept| kept.session.caller == caller);
    of_caller.count()
}

/// A caller makes room among its own sessions, of which the oldest go: those of others are none of its business.
fn make_room(kept: &mut BTreeMap<String, SessionEntry>, caller: Hash) {
    let unused = kept
        .iter()
        .filter(|(_, kept)| kept.session.caller == caller && kept.is_unused());
    let mut unused: Vec<(Instant, String)> =
        unused.map(|(id, kept)| (kept.used, id.clone())).collect();
    let beyond = (unused.len() + 1).saturating_sub(UNUSED_MAX);
    let beyond = beyond.max((count(kept, caller) + 1).saturating_sub(SESSIONS_MAX));
    unused.sort_unstable();
    for (_, id) in unused.iter().take(beyond) {
        if let Some(kept) = kept.remove(id) {
            kept.session.end();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(sessions: &Sessions, caller: Hash) -> Option<String> {
        let (session, news) = stranger(caller);
        sessions.keep(session, news)
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_its_callers_until_it_is_idle_for_too_long() {
        let sessions = Sessions::default();
        let (own, other) = (Hash::of(b"own"), Hash::of(b"other"));
        let id = keep(&sessions, own).expect("there is room");
        assert!(sessions.find(&id, other).is_none());
        assert!(!sessions.end(&id, other));
        tokio::time::advance(IDLE_MAX - Duration::from_secs(1)).await;
        let (session, listening) = sessions.find(&id, own).expect("it was not idle for long");
        let news = listening.begin().expect("nobody listens");
        tokio::time::advance(IDLE_MAX * 2).await;
        assert!(sessions.find(&id, own).is_some(), "somebody listens");
        listening.end(news);
        tokio::time::advance(IDLE_MAX).await;
        assert!(sessions.find(&id, own).is_none());
        assert!(session.over().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_that_nobody_uses_makes_room_for_a_new_one() {
        let sessions = Sessions::default();
        let caller = Hash::ZERO;
        let held: Vec<_> = (1..SESSIONS_MAX)
            .map(|_| {
                let id = keep(&sessions, caller).expect("there is room");
                sessions.find(&id, caller).expect("it is there").1.begin()
            })
            .collect();
        let unused = keep(&sessions, caller).expect("there is room");
        let last = keep(&sessions, caller).expect("one is not used");
        assert!(sessions.find(&unused, caller).is_none());
        let (_, listening) = sessions.find(&last, caller).expect("it is there");
        let news = listening.begin();
        assert!(news.is_some() && keep(&sessions, caller).is_none());
        drop(held);
    }

    #[tokio::test(start_paused = true)]
    async fn the_sessions_of_one_caller_take_none_of_anothers() {
        let sessions = Sessions::default();
        let (own, other) = (Hash::of(b"own"), Hash::of(b"other"));
        let id = keep(&sessions, own).expect("there is room");
        for _ in 0..SESSIONS_MAX + 100 {
            assert!(keep(&sessions, other).is_some());
        }
        assert!(sessions.find(&id, own).is_some());
        assert_eq!(count(&lock(&sessions.0), other), UNUSED_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn of_those_who_leave_without_a_word_only_the_latest_are_remembered() {
        let sessions = Sessions::default();
        let caller = Hash::ZERO;
        let stays = keep(&sessions, caller).expect("there is room");
        let listens = keep(&sessions, caller).expect("there is room");
        let (_, listening) = sessions.find(&listens, caller).expect("it is there");
        let _news = listening.begin().expect("nobody listens");
        let mut left = vec![];
        for _ in 0..2 * SESSIONS_MAX {
            tokio::time::advance(Duration::from_millis(1)).await;
            left.push(keep(&sessions, caller).expect("there is room"));
            assert!(
                sessions.find(&stays, caller).is_some(),
                "it was used just now"
            );
        }
        assert!(
            sessions.find(&listens, caller).is_some(),
            "somebody listens"
        );
        assert_eq!(count(&lock(&sessions.0), caller), UNUSED_MAX + 1);
        let is_known = |id: &String| sessions.find(id, caller).is_some();
        let (before, latest) = left.split_at(left.len() - (UNUSED_MAX - 1));
        assert!(!before.iter().any(is_known) && latest.iter().all(is_known));
    }
}
