//! Keeps one server up: opens its link, and opens it again after it fell.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientRequest, RequestId};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::child::Living;
use super::environment::Lookup;
use super::error::{
    McpError, REQUEST_REFUSED, RESTART_FAILED, RESTART_IN_PROGRESS, SERVER_ENDED, STOPPED,
};
use super::link::{Link, value_of};
use super::settings::McpServer;
use crate::fault::ToolFault;

/// How long a server may take to answer a ping after a call was given up.
const PING_TIMEOUT_MS: u64 = 5000;

/// One server, whatever happens to its process.
pub(super) struct Upkeep {
    server: McpServer,
    lookup: Lookup,
    living: Living,
    stopping: watch::Sender<bool>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    link: Option<Arc<Link>>,
    backoff: Backoff,
    /// When the server may be started again.
    not_before: Instant,
    /// What happened to it, as the end of a sentence.
    why: String,
    is_restarting: bool,
}

/// What a call finds.
enum Found {
    Up(Arc<Link>),
    /// It is this call that restarts the server.
    Down,
    Fault(ToolFault),
}

impl Upkeep {
    pub(super) fn new(server: McpServer, lookup: Lookup) -> Self {
        let state = State {
            link: None,
            backoff: Backoff::default(),
            not_before: Instant::now(),
            why: "was never started".into(),
            is_restarting: false,
        };
        Self {
            server,
            lookup,
            living: Living::default(),
            stopping: watch::channel(false).0,
            state: Mutex::new(state),
        }
    }

    pub(super) fn server(&self) -> &McpServer {
        &self.server
    }

    /// Opens the first link.
    pub(super) async fn open(&self) -> Result<Arc<Link>, McpError> {
        let opened = self.open_link().await;
        let link = Arc::new(opened?);
        let mut state = self.lock();
        if self.is_stopping() {
            return Err(McpError::Stopped);
        }
        state.link = Some(Arc::clone(&link));
        Ok(link)
    }

    /// Gives up when the server is stopped: nobody waits for a start that takes its time.
    async fn open_link(&self) -> Result<Link, McpError> {
        let mut stopping = self.stopping.subscribe();
        tokio::select! {
            opened = Link::open(&self.server, &self.lookup, &self.living) => opened,
            _ = stopping.wait_for(|is_stopping| *is_stopping) => Err(McpError::Stopped),
        }
    }

    /// Asked under the lock where a link is put into the state: `stop` ends those that are there.
    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Asks the server, which is started if it is down. Dropping the future tells the server that nobody
    /// waits any more, and finds out whether it still lives.
    pub(super) async fn ask(self: &Arc<Self>, request: ClientRequest) -> Result<Value, ToolFault> {
        let link = self.link().await?;
        let handle = match link.send(request).await {
            Ok(handle) => handle,
            Err(_) => return Err(self.fell(&link).await),
        };
        let mut waiting = Waiting {
            upkeep: Arc::clone(self),
            link: Arc::clone(&link),
            request: Some(handle.id.clone()),
        };
        let answer = handle.await_response().await;
        waiting.request = None;
        match answer {
            Ok(result) => {
                self.lock().backoff.answered();
                Ok(value_of(result))
            }
            Err(ServiceError::McpError(error)) => {
                self.lock().backoff.answered();
                let (name, code) = (&self.server.name, error.code.0);
                let message = format!("server {name:?} answered {:?} ({code})", error.message);
                Err(ToolFault::new(REQUEST_REFUSED, message))
            }
            Err(_) => Err(self.fell(&link).await),
        }
    }

    async fn link(self: &Arc<Self>) -> Result<Arc<Link>, ToolFault> {
        match self.find() {
            Found::Up(link) => Ok(link),
            Found::Fault(fault) => Err(fault),
            Found::Down => {
                let upkeep = Arc::clone(self);
                // Its own task: the server is started to the end, even if this call is given up.
                let restarting = tokio::spawn(async move { upkeep.restart().await });
                restarting.await.unwrap_or_else(|_| {
                    self.lock().is_restarting = false;
                    Err(self.stopped())
                })
            }
        }
    }

    fn find(&self) -> Found {
        let mut state = self.lock();
        if self.is_stopping() {
            return Found::Fault(self.stopped());
        }
        match state.link.take() {
            Some(link) if link.is_open() => {
                state.link = Some(Arc::clone(&link));
                return Found::Up(link);
            }
            Some(link) => {
                link.stop();
                state.fall("ended while nobody called it".into());
            }
            None => {}
        }
        if state.is_restarting {
            let message = format!("server {:?} is being started; try again", self.server.name);
            return Found::Fault(ToolFault::new(RESTART_IN_PROGRESS, message));
        }
        let wait = state.not_before.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            let (name, why) = (&self.server.name, &state.why);
            let wait_s = wait.as_secs_f64().ceil();
            let message =
                format!("server {name:?} is down and is not started before {wait_s} s: it {why}");
            return Found::Fault(ToolFault::new(RESTART_FAILED, message));
        }
        state.is_restarting = true;
        Found::Down
    }

    async fn restart(&self) -> Result<Arc<Link>, ToolFault> {
        let opened = self.open_link().await;
        let mut state = self.lock();
        state.is_restarting = false;
        match opened {
            // The link is dropped, and with it its process.
            Ok(_) if self.is_stopping() => Err(self.stopped()),
            Ok(link) => {
                let link = Arc::new(link);
                state.link = Some(Arc::clone(&link));
                Ok(link)
            }
            Err(error) => {
                state.fall(format!("could not be started: {error}"));
                Err(ToolFault::new(RESTART_FAILED, error.to_string()))
            }
        }
    }

    /// A call found that its link is closed.
    async fn fell(&self, link: &Arc<Link>) -> ToolFault {
        let last_words = link.last_words().await;
        self.let_go(link, &last_words);
        let name = &self.server.name;
        let message = format!(
            "server {name:?} {last_words}; the outcome of the call is unknown, and the next call starts \
             the server again"
        );
        ToolFault::new(SERVER_ENDED, message)
    }

    /// Ends the process of a link that is of no more use. The next call opens another one.
    fn let_go(&self, link: &Arc<Link>, why: &str) {
        link.stop();
        let mut state = self.lock();
        if state
            .link
            .as_ref()
            .is_some_and(|held| Arc::ptr_eq(held, link))
        {
            state.link = None;
            state.fall(why.into());
        }
    }

    async fn give_up(&self, link: Arc<Link>, request: RequestId) {
        let ping_timeout = Duration::from_millis(PING_TIMEOUT_MS);
        // A server that does not read its stdin cannot even be told.
        let _ = tokio::time::timeout(ping_timeout, link.cancel(request)).await;
        if !link.answers_ping(ping_timeout).await {
            self.let_go(&link, "hung: it answered neither a call nor a ping");
        }
    }

    /// Ends a server whose start did not succeed. It may be opened again.
    pub(super) fn let_fall(&self) {
        if let Some(link) = self.lock().link.take() {
            link.stop();
        }
    }

    /// Ends the server for good. To be followed by `ended`.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        self.stopping.send_replace(true);
        if let Some(link) = state.link.take() {
            link.stop();
        }
    }

    /// Waits until no process is left.
    pub(super) async fn ended(&self) {
        self.living.all_dead().await;
    }

    fn stopped(&self) -> ToolFault {
        let message = format!("server {:?} was stopped", self.server.name);
        ToolFault::new(STOPPED, message)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is whole by itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fall(&mut self, why: String) {
        self.not_before = Instant::now() + self.backoff.fell();
        self.why = why;
    }
}

/// A call that waits for its answer.
struct Waiting {
    upkeep: Arc<Upkeep>,
    link: Arc<Link>,
    request: Option<RequestId>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else {
            return;
        };
        // Without a runtime there is nobody left to tell.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (upkeep, link) = (Arc::clone(&self.upkeep), Arc::clone(&self.link));
            runtime.spawn(async move { upkeep.give_up(link, request).await });
        }
    }
}
