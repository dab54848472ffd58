//! Whether a process can work: it was not told to stop, and its store takes something in.
//!
//! The store is tried by a task of its own, one at a time: however many ask, and however long a server does not answer, there
//! is one write under way at most.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bonded_host::{CancellationToken, with_causes};
use bonded_state::Store;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// So long what was seen last is believed.
const BELIEVED: Duration = Duration::from_secs(1);
/// A store that takes longer is not one to work with.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why a process is not ready. Everybody may read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReady {
    /// It was told to stop.
    Stopping,
    /// The store does not answer, or takes nothing in.
    Store,
}

impl NotReady {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopping => "the process is stopping",
            Self::Store => "the store cannot be written; the log of the process says why",
        }
    }
}

/// Whether a process is ready.
pub struct Readiness {
    store: Arc<dyn Store>,
    stop: CancellationToken,
    /// What the last try came to, and when.
    last: Mutex<Option<(bool, Instant)>>,
    is_trying: AtomicBool,
    tried: Notify,
}

impl std::fmt::Debug for Readiness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Readiness")
    }
}

impl Readiness {
    /// Of a process that drives runs of this store until `stop` is cancelled.
    pub fn new(store: Arc<dyn Store>, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            store,
            stop,
            last: Mutex::default(),
            is_trying: AtomicBool::new(false),
            tried: Notify::new(),
        })
    }

    /// Whether the process can work now, or why not.
    pub async fn check(self: &Arc<Self>) -> Result<(), NotReady> {
        if self.stop.is_cancelled() {
            return Err(NotReady::Stopping);
        }
        let began = Instant::now();
        let fresh = began.checked_sub(BELIEVED).unwrap_or(began);
        match self.takes_something(began, fresh).await {
            true => Ok(()),
            false => Err(NotReady::Store),
        }
    }

    /// What is known since `fresh`, else what a try comes to.
    async fn takes_something(self: &Arc<Self>, began: Instant, fresh: Instant) -> bool {
        loop {
            let tried = self.tried.notified();
            if let Some(known) = self.known_since(fresh) {
                return known;
            }
            if !self.is_trying.swap(true, Ordering::SeqCst) {
                tokio::spawn(Arc::clone(self).try_once());
            }
            if timeout_at(began + PATIENCE, tried).await.is_err() {
                return false;
            }
        }
    }

    fn known_since(&self, fresh: Instant) -> Option<bool> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.and_then(|(works, at)| (at >= fresh).then_some(works))
    }

    async fn try_once(self: Arc<Self>) {
        let tried = self.store.try_writing().await;
        let works = tried.is_ok();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = last.is_none_or(|(worked, _)| worked) && !works;
        *last = Some((works, Instant::now()));
        drop(last);
        if let (Err(error), true) = (&tried, is_news) {
            tracing::error!("error: not ready: {}", with_causes(error));
        }
        self.is_trying.store(false, Ordering::SeqCst);
        self.tried.notify_waiters();
    }
}
