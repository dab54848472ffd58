//! What all requests share.
//!
//! One for each server. Everything in it may be used by many requests at once; what bounds them, rates, guesses and
//! places, is memory of this process and begins anew with it.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderName;
use bonded_host::CancellationToken;
use bonded_kernel::{Millis, RuleId, UserId};
use bonded_state::Store;
use bonded_workspace::attachments::AttachmentFiles;
use bonded_workspace::config::{DescribedSetting, HostSurroundings};
use bonded_workspace::store::WorkspaceStore;
use bonded_workspace::{Embedder, ProviderHealth};
use tokio::sync::Semaphore;

use super::clock::now;
use super::data_dir::DataDir;
use super::guesses::Guesses;
use super::origins::Origins;
use super::rate::Rate;
use super::socket::RecentEvents;
use super::writable::Writable;
use crate::operations::Readiness;

/// Of one person.
const SEARCHES_PER_SECOND_MAX: u32 = 10;
/// Messages to one rule.
const HOOKS_PER_SECOND_MAX: u32 = 20;
/// How many sockets are open at once.
const SOCKETS_MAX: usize = 512;
/// How long sockets may take to hear that the server stops.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Passwords that are hashed at once.
const HASHING_MAX: usize = 2;

/// What a person can set.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// For a whole request, the arrival of its body included.
    pub(super) request_timeout: Duration,
    /// Of one request, and of one message over a socket.
    pub(super) body_bytes_max: usize,
    /// Of one file that is attached to a note.
    pub(super) attachment_bytes_max: usize,
    /// Of one person.
    pub(super) writes_per_second_max: u32,
    /// Whether cookies are sent over TLS only.
    pub(super) secure_cookies: bool,
    /// What cookies say about pages of others: `Lax` or `Strict`.
    pub(super) same_site: &'static str,
    /// By which a page shows that it could read its token.
    pub(super) csrf_header: HeaderName,
    /// Pages that may ask, besides our own.
    pub(super) origins: Origins,
    /// The mode of searches that do not say; checked when it is used.
    pub(super) search_mode: String,
    /// Between two pings over a socket.
    pub(super) heartbeat: Duration,
    /// A socket that is silent for longer is closed, and so is one that takes nothing for so long.
    pub(super) client_timeout: Duration,
    /// How many events are read at once for a socket.
    pub(super) replay_batch: usize,
}

/// What all requests share.
pub(super) struct Site {
    /// Where everything is kept.
    pub(super) store: Arc<WorkspaceStore>,
    /// The contents of files.
    pub(super) attachments: AttachmentFiles,
    /// What sockets are told of, read once for all.
    pub(super) recent: RecentEvents,
    /// What its owner is shown of the configuration.
    pub(super) described: Vec<DescribedSetting>,
    /// The logs of runs.
    pub(super) log: Arc<dyn Store>,
    /// As they were when the server began.
    pub(super) settings: Settings,
    /// Cancelled when the server stops.
    pub(super) stop: CancellationToken,
    /// Searches of each person.
    pub(super) searches: Rate<UserId>,
    /// Writes of each person.
    pub(super) writes: Rate<UserId>,
    /// Messages to each rule.
    pub(super) hooks: Rate<RuleId>,
    /// Wrong passwords.
    pub(super) guesses: Guesses,
    /// Where the owner's token lies.
    pub(super) dir: DataDir,
    /// So that passwords do not take all cores.
    pub(super) hashing: Semaphore,
    /// How many may still be opened.
    pub(super) sockets: Arc<Semaphore>,
    /// What rules may refer to.
    pub(super) surroundings: Arc<HostSurroundings>,
    /// `None` where search goes by words alone.
    pub(super) embedder: Option<Arc<Embedder>>,
    /// That of the agent, where a rule names no other.
    pub(super) provider: Arc<ProviderHealth>,
    /// Whether the store takes anything in.
    pub(super) writable: Writable,
    /// Whether the logs of runs can be written.
    pub(super) runs: Arc<Readiness>,
    /// Cancelled when the engine has ended, however that came about.
    pub(super) engine_ended: CancellationToken,
}

/// Where what requests ask for is kept.
pub(super) struct SiteStores {
    pub(super) workspace: Arc<WorkspaceStore>,
    /// The logs of the runs of rules.
    pub(super) runs: Arc<dyn Store>,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Site")
    }
}

impl Site {
    /// Nothing is under way yet.
    pub(super) fn new(
        dir: DataDir,
        stores: SiteStores,
        (settings, described): (Settings, Vec<DescribedSetting>),
        surroundings: Arc<HostSurroundings>,
        embedder: Option<Arc<Embedder>>,
        provider: Arc<ProviderHealth>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            searches: Rate::new("search", SEARCHES_PER_SECOND_MAX, Duration::from_secs(1)),
            writes: Rate::new(
                "write",
                settings.writes_per_second_max,
                Duration::from_secs(1),
            ),
            hooks: Rate::new("hook", HOOKS_PER_SECOND_MAX, Duration::from_secs(1)),
            guesses: Guesses::default(),
            attachments: dir.attachments(),
            recent: RecentEvents::default(),
            described,
            dir,
            hashing: Semaphore::new(HASHING_MAX),
            sockets: Arc::new(Semaphore::new(SOCKETS_MAX)),
            store: stores.workspace,
            runs: Readiness::new(stores.runs.clone(), stop.clone()),
            engine_ended: CancellationToken::new(),
            log: stores.runs,
            settings,
            surroundings,
            embedder,
            provider,
            writable: Writable::default(),
            stop,
        })
    }

    /// Waits until all sockets have heard that the server stops; not for those that do not listen.
    pub(super) async fn sockets_closed(&self) {
        let all = u32::try_from(SOCKETS_MAX).unwrap_or(u32::MAX);
        let _unheard = tokio::time::timeout(LAST_WORDS, self.sockets.acquire_many(all)).await;
    }

    /// The wall clock.
    pub(super) fn now(&self) -> Millis {
        now()
    }
}
