//! What all requests share.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderName;
use bonded_host::CancellationToken;
use bonded_kernel::{Millis, UserId};
use bonded_workspace::config::HostSurroundings;
use bonded_workspace::store::WorkspaceStore;
use bonded_workspace::{Embedder, ProviderHealth};
use tokio::sync::Semaphore;

use super::clock::now;
use super::data_dir::DataDir;
use super::guesses::Guesses;
use super::origins::Origins;
use super::rate::Rate;
use super::writable::Writable;

const SEARCHES_PER_SECOND_MAX: u32 = 10;
/// How many sockets are open at once.
const SOCKETS_MAX: usize = 512;
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Passwords that are hashed at once.
const HASHING_MAX: usize = 2;

/// What a person can set.
#[derive(Clone, Debug)]
pub struct Settings {
    pub request_timeout: Duration,
    pub body_bytes_max: usize,
    pub writes_per_second_max: u32,
    pub secure_cookies: bool,
    pub same_site: &'static str,
    pub csrf_header: HeaderName,
    /// Pages that may ask, besides our own.
    pub origins: Origins,
    pub search_mode: String,
    pub heartbeat: Duration,
    pub client_timeout: Duration,
    pub replay_batch: usize,
}

#[derive(Debug)]
pub struct Site {
    pub(super) store: Arc<WorkspaceStore>,
    pub(super) settings: Settings,
    pub(super) stop: CancellationToken,
    pub(super) searches: Rate<UserId>,
    pub(super) writes: Rate<UserId>,
    pub(super) guesses: Guesses,
    /// Where the owner's token lies.
    pub(super) dir: DataDir,
    pub(super) hashing: Semaphore,
    pub(super) sockets: Arc<Semaphore>,
    pub(super) surroundings: Arc<HostSurroundings>,
    /// `None` where search goes by words alone.
    pub(super) embedder: Option<Arc<Embedder>>,
    /// That of the agent, where a rule names no other.
    pub(super) provider: Arc<ProviderHealth>,
    /// Whether the store takes anything in.
    pub(super) writable: Writable,
}

impl Site {
    pub fn new(
        dir: DataDir,
        store: Arc<WorkspaceStore>,
        settings: Settings,
        surroundings: Arc<HostSurroundings>,
        embedder: Option<Arc<Embedder>>,
        provider: Arc<ProviderHealth>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            searches: Rate::new(SEARCHES_PER_SECOND_MAX, Duration::from_secs(1)),
            writes: Rate::new(settings.writes_per_second_max, Duration::from_secs(1)),
            guesses: Guesses::default(),
            dir,
            hashing: Semaphore::new(HASHING_MAX),
            sockets: Arc::new(Semaphore::new(SOCKETS_MAX)),
            store,
            settings,
            surroundings,
            embedder,
            provider,
            writable: Writable::default(),
            stop,
        })
    }

    /// Waits until all sockets have heard that the server stops; not for those that do not listen.
    pub async fn sockets_closed(&self) {
        let all = u32::try_from(SOCKETS_MAX).unwrap_or(u32::MAX);
        let _unheard = tokio::time::timeout(LAST_WORDS, self.sockets.acquire_many(all)).await;
    }

    pub(super) fn now(&self) -> Millis {
        now()
    }
}
