//! A router behind a listener, until it is stopped.

use std::time::Duration;

use axum::Router;
use bonded_host::CancellationToken;
use bonded_web::connection::{self, Connections};
use tokio::net::TcpListener;

/// Serves what has no runs of its own until `stop` is cancelled and the requests under way have been answered.
pub(crate) async fn serve_router(
    listener: TcpListener,
    router: Router,
    stop_after: Duration,
    stop: CancellationToken,
) {
    let mut connections = accept(listener, router, stop).await;
    // A client that does not read must not keep the process.
    let _unread = tokio::time::timeout(stop_after, connections.wait()).await;
}

/// Raises the bound on open files first, because every connection is one.
pub(crate) async fn accept(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
) -> Connections {
    if let Some(few) = connection::raise_descriptors() {
        tracing::warn!("{few}");
    }
    connection::accept(listener, router, stop).await
}
