//! The pages of a store of runs, and the API that they ask: what agents did, do and wait for.
//!
//! It reads logs and records what a person decides. It drives no run: whatever goes on after a verdict is driven by a
//! process of its own (`Resumer`), so that closing the pages ends nothing.

mod asked;
mod door;
mod entries;
mod inbox;
mod list_watch;
mod pages;
mod refusal;
mod routes;
mod rows;
mod run_page;
mod saw;
mod stream;
mod verdicts;

use std::sync::Arc;

use bonded_host::{CancellationToken, Host};
use bonded_kernel::RunId;
use tokio::net::TcpListener;

pub use door::ConsoleDoor;

use crate::server;
use list_watch::ListWatch;

/// How long requests under way may take when the server stops.
const STOP_AFTER: std::time::Duration = std::time::Duration::from_secs(2);

/// Starts what drives a run from where its log ends.
pub trait Resumer: Send + Sync {
    /// Returns when it was started, not when it is done.
    fn resume(&self, run: &RunId) -> std::io::Result<()>;
}

/// What all requests share.
pub(crate) struct Console {
    host: Arc<Host>,
    door: ConsoleDoor,
    resumer: Arc<dyn Resumer>,
    /// Who decides here: the name that verdicts are recorded under.
    person: String,
    list_watch: ListWatch,
    stop: CancellationToken,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Console")
    }
}

/// Serves the pages of the host's store until `stop` is cancelled.
pub async fn serve(
    listener: TcpListener,
    host: Arc<Host>,
    door: ConsoleDoor,
    resumer: Arc<dyn Resumer>,
    person: String,
    stop: CancellationToken,
) {
    let console = Arc::new(Console {
        list_watch: ListWatch::new(host.store.clone()),
        host,
        door,
        resumer,
        person,
        stop: stop.clone(),
    });
    server::serve_router(listener, routes::router(console), STOP_AFTER, stop).await;
}
