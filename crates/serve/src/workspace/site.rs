//! What all requests share.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::HeaderName;
use bonded_host::CancellationToken;
use bonded_kernel::{Millis, UserId};
use bonded_workspace::config::HostSurroundings;
use bonded_workspace::store::{IdempotencyKey, WorkspaceError, WorkspaceStore, Write, Written};
use bonded_workspace::{Embedder, ProviderHealth};
use bonded_workspace_rules::{Actor, Chain, Change, Refused};
use serde_json::json;
use tokio::sync::Semaphore;

use super::ask::Ask;
use super::cors::Origins;
use super::data_dir::DataDir;
use super::guesses::Guesses;
use super::rate::Rate;
use super::refusal::Refusal;
use super::socket::SOCKETS_MAX;
use super::writable::Writable;
use bonded_host::with_causes;
use bonded_workspace::times;

const SEARCHES_PER_SECOND_MAX: u32 = 10;
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

/// The wall clock.
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

impl Ask {
    /// Makes a change in the name of the caller; repeated with the same key, it was made once.
    pub(super) async fn write(&self, change: Change) -> Result<Written, Refusal> {
        self.written(change, "").await
    }

    /// One of several changes of a request, each with a name of its own.
    pub(super) async fn write_part(&self, change: Change, part: &str) -> Result<Written, Refusal> {
        self.written(change, part).await
    }

    async fn written(&self, change: Change, part: &str) -> Result<Written, Refusal> {
        let key = match self.is_keyed() {
            false => None,
            true => {
                let (scope, key) = self.key()?;
                let scope = format!("{scope} {part}");
                Some(IdempotencyKey { scope, key })
            }
        };
        let write = Write {
            actor: Actor::User {
                user_id: self.caller()?.user_id,
            },
            at: self.site.now(),
            request_id: self.request_id.clone(),
            key,
            chain: Chain::default(),
            change,
        };
        let written = self.site.store.write_by(self.by()?, write).await;
        let failed = matches!(written, Err(WorkspaceError::Store(_)));
        self.site.writable.note(!failed);
        Ok(written?)
    }
}

impl From<WorkspaceError> for Refusal {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Refused(refused) => refused.into(),
            // What the store says of its files is for whoever runs it.
            WorkspaceError::Store(error) => {
                tracing::error!("error: {}", with_causes(&error));
                Self::internal("the store failed; what runs the server was told why")
            }
        }
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let mut details = refused.details();
        if let Refused::VersionConflict { current, .. } = &refused {
            details["current_title"] = json!(current.title);
            details["current_markdown"] = json!(&*current.markdown);
            details["updated_at"] = json!(times::rfc3339(current.updated_at));
        }
        Self::new(refused.code(), with_causes(&refused)).details(details)
    }
}
