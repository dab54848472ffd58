//! Connections: accepted, bounded in number and in time, ended gracefully.
//!
//! The order of bounds: a connection takes a place when it is accepted, has some seconds for its first head, then a
//! minute for each further one, and must go on reading what is sent to it. Where all places are taken, nobody is
//! refused at the door: the guests decide who makes room, and where nobody can, the kernel's queue of connections
//! waits. A stop ends the accepting at once and lets each connection finish the request under way; whoever called
//! decides how long it waits for that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::guests::{Guest, Guests};
use super::peer::{Peer, client_of};
use super::stall::Stalling;
use super::unread;

/// The most places of a server, however many descriptors the process may have.
const CONNECTIONS_MAX: usize = 1024;
/// For the head of the first request: nobody connects to say nothing.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(20);
/// For the head of a later request, and for the silence before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may not take what is sent to it.
const STALL_MAX: Duration = Duration::from_secs(30);
/// How long failures to accept are counted before they are told again.
const COMPLAINT_PAUSE: Duration = Duration::from_secs(10);
/// After a failed accept, and while everybody is busy.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The connections that are open when the server has stopped accepting. Dropping them closes them.
#[derive(Debug)]
pub struct Connections(JoinSet<()>);

impl Connections {
    /// Waits until the last is closed.
    pub async fn wait(&mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

/// Accepts connections until `stop` is cancelled. Where all places are taken, one that asks nothing just now makes room.
pub async fn accept(listener: TcpListener, router: Router, stop: CancellationToken) -> Connections {
    let mut open = JoinSet::new();
    let guests = Guests::default();
    let max = connections_max();
    let mut complaints = Complaints {
        last: None,
        unreported: 0,
    };
    loop {
        let has_room = guests.count() < max || guests.can_make_room();
        tokio::select! {
            biased;
            () = stop.cancelled() => return Connections(open),
            Some(_closed) = open.join_next() => {}
            accepted = listener.accept(), if has_room => match accepted {
                Ok((stream, peer)) => {
                    if guests.count() >= max {
                        guests.send_one_away();
                    }
                    let guest = guests.enter(peer.ip());
                    let peer = Peer(client_of(peer.ip()));
                    open.spawn(talk(stream, (peer, guest), router.clone(), stop.clone()));
                }
                Err(error) => {
                    complaints.tell(&error);
                    // When there are no descriptors left, the next one fails at once too.
                    guests.send_one_away();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            () = tokio::time::sleep(ACCEPT_PAUSE), if !has_room => {}
        }
    }
}

/// What goes wrong with accepting, told now and then.
struct Complaints {
    /// When a failure was last written; `None` before the first.
    last: Option<Instant>,
    /// The failures since then that were counted and not written.
    unreported: u64,
}

impl Complaints {
    /// Writes the failure, with the count of those before it, at most once in `COMPLAINT_PAUSE`: a process without
    /// descriptors fails ten times a second and would fill a disk with the same line.
    fn tell(&mut self, error: &std::io::Error) {
        if self.last.is_some_and(|at| at.elapsed() < COMPLAINT_PAUSE) {
            self.unreported += 1;
            return;
        }
        let before = match std::mem::take(&mut self.unreported) {
            0 => String::new(),
            unreported => format!("; {unreported} more times since the last report"),
        };
        tracing::warn!("cannot accept a connection: {error}{before}");
        self.last = Some(Instant::now());
    }
}

/// As many descriptors as the process may have: the usual soft limit is for programs that use `select`. Says what is to be
/// told where they are few.
pub fn raise_descriptors() -> Option<String> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, what there is has to do.
    let _as_it_was = setrlimit(Resource::Nofile, limit);
    let found = getrlimit(Resource::Nofile).current;
    let count = found.filter(|count| *count / 2 < CONNECTIONS_MAX as u64)?;
    let most = connections_max();
    Some(format!(
        "warning: this process may open only {count} descriptors, hence {most} connections; raise `ulimit -Hn` for more"
    ))
}

/// Half of the descriptors at most: runs need some too.
/// No fewer than 16, whatever the limit is: a server that lets nobody in is of no use.
fn connections_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let half = limit.current.map_or(u64::MAX, |count| count / 2);
    usize::try_from(half).map_or(CONNECTIONS_MAX, |half| half.clamp(16, CONNECTIONS_MAX))
}

/// Answers the requests of one connection. When `stop` is cancelled, the one under way is the last.
async fn talk(
    stream: TcpStream,
    (peer, guest): (Peer, Guest),
    router: Router,
    stop: CancellationToken,
) {
    // Without it the last piece of an answer may wait for an acknowledgement.
    let _slower = stream.set_nodelay(true);
    let stream = TokioIo::new(Stalling::new(stream, STALL_MAX));
    let guest = Arc::new(guest);
    let asking = guest.clone();
    let service = service_fn(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer);
        let (busy, router) = (asking.begin(), router.clone());
        async move { unread::answer(router, request.map(axum::body::Body::new), busy).await }
    });
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(stream, service)
            .with_upgrades()
    );
    // A connection that broke has told its request so by dropping it; nobody else needs to know.
    let _broken = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = guest.sent_away() => return,
        () = silence(&guest) => return,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
}

/// Resolves when a connection has asked nothing for too long since it was opened.
async fn silence(guest: &Guest) {
    tokio::time::sleep(FIRST_HEAD_TIMEOUT).await;
    if guest.has_asked() {
        std::future::pending::<()>().await;
    }
}
