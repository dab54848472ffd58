//! The pages of a store of runs, and the API that they ask: what agents did, do and wait for.
//!
//! It reads logs and records what a person decides. It drives no run: whatever continues after a verdict is driven by
//! others (`Resumer`), so that closing the pages ends nothing. Each server has a door of its own (`access::Door`), which
//! says who asks and what they may do; behind it the routes are the same.

pub(crate) mod access;
mod api;
mod ask;
mod door;
mod entries;
mod inbox;
mod item_page;
mod list_watch;
mod log_parts;
mod marks;
#[cfg(test)]
mod openapi;
pub(crate) mod pages;
mod plans;
mod reading;
pub(crate) mod refusal;
pub(crate) mod routes;
mod rows;
mod run_feed;
mod run_page;
mod saw;
mod stream;
mod verdicts;

use std::sync::Arc;

use axum::routing::any;
use bonded_host::{CancellationToken, Host};
use bonded_kernel::RunId;
use bonded_work::Workshop;
use tokio::net::TcpListener;

pub use door::ConsoleDoor;

use crate::listening::serve_router;
use access::Door;
use list_watch::ListWatch;
use marks::Marks;
use run_feed::RunFeeds;
use saw::LastSaw;

/// How long requests under way may take when the server stops.
const STOP_AFTER: std::time::Duration = std::time::Duration::from_secs(2);

/// Has a run driven from where its log ends.
pub trait Resumer: Send + Sync {
    /// Returns when it was started, not when it is done; else what a person can do instead. `plan` is that of a work
    /// item.
    fn resume(&self, run: &RunId, plan: Option<&str>) -> Result<(), String>;

    /// A worker goes on with a run: whoever waits for it may look at once.
    fn left_to_worker(&self, _run: &RunId) {}
}

/// What all requests share.
pub(crate) struct Console {
    host: Arc<Host>,
    door: Box<dyn Door>,
    resumer: Arc<dyn Resumer>,
    /// Where plans are kept; none where nobody is shown any.
    workshop: Option<Workshop>,
    list_watch: ListWatch,
    feeds: RunFeeds,
    marks: Marks,
    last_saw: LastSaw,
    stop: CancellationToken,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Console")
    }
}

impl Console {
    pub(crate) fn new(
        host: Arc<Host>,
        door: Box<dyn Door>,
        resumer: Arc<dyn Resumer>,
        workshop: Option<Workshop>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            list_watch: ListWatch::new(host.store.clone()),
            feeds: RunFeeds::new(host.store.clone()),
            marks: Marks::default(),
            last_saw: LastSaw::default(),
            host,
            door,
            resumer,
            workshop,
            stop,
        })
    }
}

/// The pages of a person's store or of a server of agents, as the process that serves them has them.
pub struct RunPages {
    pub door: ConsoleDoor,
    /// Drives what continues.
    pub resumer: Arc<dyn Resumer>,
    /// Beside the store.
    pub workshop: Workshop,
}

impl std::fmt::Debug for RunPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunPages").field(&self.door).finish()
    }
}

impl Console {
    pub(crate) fn of(host: Arc<Host>, pages: RunPages, stop: CancellationToken) -> Arc<Self> {
        let workshop = Some(pages.workshop);
        Self::new(host, Box::new(pages.door), pages.resumer, workshop, stop)
    }
}

/// Serves the pages of the host's store, and nothing else, until `stop` is cancelled.
pub async fn serve(
    listener: TcpListener,
    host: Arc<Host>,
    pages: RunPages,
    stop: CancellationToken,
) {
    let console = Console::of(host, pages, stop.clone());
    let app = any(routes::app_alone).with_state(console.clone());
    let router = routes::router(console).fallback_service(app);
    serve_router(listener, router, STOP_AFTER, stop).await;
}
