//! Keeps one server up: opens its link, opens it again after it fell, and knows what it offers.
//!
//! A server is started again by the call that needs it, not in the background: one that nobody calls stays
//! down. One call restarts and the others are told to try again, and between restarts there is a growing pause.
//! The state is under one lock that is never held across an await; each link is compared by its pointer, so
//! that the fall of an old link does not count against a new one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::carrier::start_error;
use super::child::Living;
use super::error::{McpError, REQUEST_REFUSED, RESTART_FAILED, RESTART_IN_PROGRESS, STOPPED};
use super::link::Link;
use super::listing::{list, offered};
use super::news::{OnNews, Voice};
use super::pin::Offers;
use super::settings::McpServer;
use crate::fault::ToolFault;

/// One server, whatever happens to its process.
pub(super) struct Upkeep {
    server: McpServer,
    pub(super) voice: Arc<Voice>,
    living: Living,
    stopping: watch::Sender<bool>,
    /// Held by the one who asks again what the server offers.
    listing: tokio::sync::Mutex<()>,
    state: Mutex<UpkeepState>,
}

#[derive(Debug)]
struct UpkeepState {
    link: Option<Arc<Link>>,
    offers: Arc<Offers>,
    /// How many changes the server had announced when it was asked what it offers.
    changes_seen: u64,
    /// The tools whose change a person was told of.
    warned: BTreeSet<String>,
    backoff: Backoff,
    /// When the server may be started again.
    not_before: Instant,
    /// What happened to it, as the end of a sentence.
    why: String,
    is_restarting: bool,
}

/// A server that has just come up.
struct Opened {
    link: Link,
    offers: Offers,
    changes_seen: u64,
}

/// What a call finds.
enum LinkLookup {
    Up(Arc<Link>),
    /// It is this call that restarts the server.
    Down,
    Fault(ToolFault),
}

impl Upkeep {
    pub(super) fn new(server: McpServer, tell: Option<OnNews>) -> Self {
        let state = UpkeepState {
            link: None,
            offers: Arc::default(),
            changes_seen: 0,
            warned: BTreeSet::new(),
            backoff: Backoff::default(),
            not_before: Instant::now(),
            why: "was never started".into(),
            is_restarting: false,
        };
        Self {
            voice: Arc::new(Voice::new(&server.name, tell)),
            server,
            living: Living::default(),
            stopping: watch::channel(false).0,
            listing: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
        }
    }

    pub(super) fn server(&self) -> &McpServer {
        &self.server
    }

    /// What the server offered when it was last asked.
    pub(super) fn offers(&self) -> Arc<Offers> {
        Arc::clone(&self.lock().offers)
    }

    /// Opens the first link.
    pub(super) async fn open(&self) -> Result<(), McpError> {
        let opened = self.open_link().await?;
        let mut state = self.lock();
        if self.is_stopping() {
            return Err(McpError::Stopped);
        }
        state.take_in(opened);
        Ok(())
    }

    /// Gives up when the server is stopped: nobody waits for a start that takes its time.
    async fn open_link(&self) -> Result<Opened, McpError> {
        let mut stopping = self.stopping.subscribe();
        let opening = async {
            let link = Link::open(&self.server, &self.voice, &self.living).await?;
            let changes_seen = link.changes();
            let offers = self.ask_offers(&link).await?;
            Ok(Opened {
                link,
                offers,
                changes_seen,
            })
        };
        tokio::select! {
            opened = opening => opened,
            _ = stopping.wait_for(|is_stopping| *is_stopping) => Err(McpError::Stopped),
        }
    }

    async fn ask_offers(&self, link: &Link) -> Result<Offers, McpError> {
        let timeout_ms = self.server.start_timeout_ms;
        let timeout = Duration::from_millis(timeout_ms);
        let listed = match tokio::time::timeout(timeout, list(link)).await {
            Ok(listed) => listed,
            Err(_) => Err(format!(
                "did not list its tools within {timeout_ms} ms{}",
                link.remarks()
            )),
        };
        let listed = listed.map_err(|why| start_error(&self.server, why))?;
        let (tools, warnings) = offered(&self.server, &listed)?;
        Ok(Offers { tools, warnings })
    }

    /// Asked under the lock where a link is put into the state: `stop` ends those that are there.
    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// The link of a server that is up, and whose offers are known as they are now.
    pub(super) async fn link(self: &Arc<Self>) -> Result<Arc<Link>, ToolFault> {
        let link = match self.find() {
            LinkLookup::Up(link) => link,
            LinkLookup::Fault(fault) => return Err(fault),
            LinkLookup::Down => {
                let upkeep = Arc::clone(self);
                // Its own task: the server is started to the end, even if this call is given up.
                let restarting = tokio::spawn(async move { upkeep.restart().await });
                return restarting.await.unwrap_or_else(|_| {
                    self.lock().is_restarting = false;
                    Err(self.stopped())
                });
            }
        };
        self.refresh(&link).await?;
        Ok(link)
    }

    /// Whoever gets `Down` must restart, and end with `is_restarting` taken back.
    fn find(&self) -> LinkLookup {
        let mut state = self.lock();
        if self.is_stopping() {
            return LinkLookup::Fault(self.stopped());
        }
        match state.link.take() {
            Some(link) if link.is_open() => {
                state.link = Some(Arc::clone(&link));
                return LinkLookup::Up(link);
            }
            Some(link) => {
                link.stop();
                state.fall("ended between two calls".into());
            }
            None => {}
        }
        if state.is_restarting {
            let message = format!("server {:?} is being started; try again", self.server.name);
            return LinkLookup::Fault(ToolFault::new(RESTART_IN_PROGRESS, message));
        }
        let wait = state.not_before.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            let (name, why) = (&self.server.name, &state.why);
            let wait_s = wait.as_secs_f64().ceil();
            let message =
                format!("server {name:?} is down and is not started before {wait_s} s: it {why}");
            return LinkLookup::Fault(ToolFault::new(RESTART_FAILED, message));
        }
        state.is_restarting = true;
        LinkLookup::Down
    }

    async fn restart(&self) -> Result<Arc<Link>, ToolFault> {
        let opened = self.open_link().await;
        let mut state = self.lock();
        state.is_restarting = false;
        match opened {
            // The link is dropped, and with it its process.
            Ok(_) if self.is_stopping() => Err(self.stopped()),
            Ok(opened) => Ok(state.take_in(opened)),
            Err(error) => {
                state.fall(format!("could not be started: {error}"));
                Err(ToolFault::new(RESTART_FAILED, error.to_string()))
            }
        }
    }

    /// Asks again what the server offers, if it has said that this has changed.
    ///
    /// The count of changes is read before the question: a change that is announced meanwhile leads to another
    /// question, never to a list that is out of date.
    async fn refresh(&self, link: &Arc<Link>) -> Result<(), ToolFault> {
        let is_known = || self.lock().changes_seen == link.changes();
        if is_known() {
            return Ok(());
        }
        let _alone = self.listing.lock().await;
        if is_known() {
            return Ok(());
        }
        let changes_seen = link.changes();
        match self.ask_offers(link).await {
            Ok(offers) => {
                let mut state = self.lock();
                state.offers = Arc::new(offers);
                state.changes_seen = changes_seen;
                Ok(())
            }
            Err(error) => {
                let message = format!("its tools have changed and cannot be listed: {error}");
                Err(ToolFault::new(REQUEST_REFUSED, message))
            }
        }
    }

    /// Makes what the server offers known as it is now, if the server is up.
    pub(super) async fn look_again(&self) {
        let link = self.lock().link.clone();
        if let Some(link) = link.filter(|link| link.is_open()) {
            // A server that cannot be asked is found out by the first call.
            let _ = self.refresh(&link).await;
        }
    }

    /// Tells a person once that a tool is not what it was.
    pub(super) fn warn_of_change(&self, tool: &str, change: &str) {
        if self.lock().warned.insert(tool.into()) {
            let name = &self.server.name;
            let end = "runs that began earlier no longer call it";
            self.voice
                .warn(&format!("the MCP server {name:?} {change}; {end}"));
        }
    }

    pub(super) fn answered(&self) {
        self.lock().backoff.answered();
    }

    /// Ends the process of a link that is of no more use. The next call opens another one.
    pub(super) fn let_go(&self, link: &Arc<Link>, why: &str) {
        link.stop();
        let mut state = self.lock();
        if state.holds(link) {
            state.link = None;
            state.fall(why.into());
        }
    }

    /// Ends a link whose session the server has forgotten. The next call opens another one at once.
    pub(super) fn forget(&self, link: &Arc<Link>) {
        link.stop();
        let mut state = self.lock();
        if state.holds(link) {
            state.link = None;
        }
    }

    /// Ends a server whose start did not succeed. It may be opened again.
    pub(super) fn let_fall(&self) {
        if let Some(link) = self.lock().link.take() {
            link.stop();
        }
    }

    /// Puts aside what the server made that would configure later programs, and says so.
    pub(super) async fn settle(&self) -> Option<String> {
        let link = self.lock().link.clone();
        link?.settle().await
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

    /// Whether the server was stopped and nothing of it is left.
    pub(super) fn is_over(&self) -> bool {
        self.is_stopping() && self.living.is_none()
    }

    fn stopped(&self) -> ToolFault {
        let message = format!("server {:?} was stopped", self.server.name);
        ToolFault::new(STOPPED, message)
    }

    fn lock(&self) -> MutexGuard<'_, UpkeepState> {
        // Every change is whole by itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UpkeepState {
    fn take_in(&mut self, opened: Opened) -> Arc<Link> {
        let link = Arc::new(opened.link);
        self.link = Some(Arc::clone(&link));
        self.offers = Arc::new(opened.offers);
        self.changes_seen = opened.changes_seen;
        link
    }

    fn holds(&self, link: &Arc<Link>) -> bool {
        self.link
            .as_ref()
            .is_some_and(|held| Arc::ptr_eq(held, link))
    }

    /// The pause begins with the fall, so that a server that was down for long is started at once.
    fn fall(&mut self, why: String) {
        self.not_before = Instant::now() + self.backoff.fell();
        self.why = why;
    }
}
