//! Connections: accepted, bounded in number and in time, ended gracefully.

use std::time::Duration;

use axum::Router;
use bonded_host::CancellationToken;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::stall::Stalling;

const CONNECTIONS_MAX: usize = 1024;
/// For the head of a request, and for the silence before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may not take what is sent to it.
const STALL_MAX: Duration = Duration::from_secs(30);
/// After a failed accept: when there are no descriptors left, the next one fails at once too.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The connections that are open when the server has stopped accepting. Dropping them closes them.
#[derive(Debug)]
pub(super) struct Connections(JoinSet<()>);

impl Connections {
    /// Waits until the last is closed.
    pub(super) async fn wait(&mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

/// Accepts connections until `stop` is cancelled.
pub(super) async fn accept(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
) -> Connections {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return Connections(open),
            Some(_closed) = open.join_next() => {}
            accepted = listener.accept(), if open.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, _)) => {
                    open.spawn(talk(stream, router.clone(), stop.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

/// Answers the requests of one connection. When `stop` is cancelled, the one under way is the last.
async fn talk(stream: TcpStream, router: Router, stop: CancellationToken) {
    // Without it the last piece of an answer may wait for an acknowledgement.
    let _slower = stream.set_nodelay(true);
    let stream = TokioIo::new(Stalling::new(stream, STALL_MAX));
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(stream, TowerToHyperService::new(router))
            .with_upgrades()
    );
    // A connection that broke has told its request so by dropping it; nobody else needs to know.
    let _broken = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
}
