//! How a connection is made: to the server or to the proxy before it, and not for longer than is worth waiting.

use std::error::Error;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// A connection that sends nothing for so long is asked whether the other side is still there, and so often.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 3;
/// What was sent and not acknowledged for so long was sent to nobody.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// The connector below all others.
pub(crate) fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    tcp
}

/// No connection was made in time.
#[derive(Debug, thiserror::Error)]
#[error("operation timed out")]
pub(crate) struct ConnectTimedOut;

/// Bounds how long a connection may take to be made, with everything that it needs: names, proxies, handshakes.
#[derive(Clone, Debug)]
pub(crate) struct Bounded<C> {
    pub(crate) connector: C,
    pub(crate) timeout: Duration,
}

impl<C> Service<Uri> for Bounded<C>
where
    C: Service<Uri>,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<C::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (timeout, connecting) = (self.timeout, self.connector.call(to));
        Box::pin(async move {
            match tokio::time::timeout(timeout, connecting).await {
                Ok(connected) => connected.map_err(Into::into),
                Err(_) => Err(ConnectTimedOut.into()),
            }
        })
    }
}

/// A connection to the server, or to it through the proxy that the environment names. What it gives is not encrypted yet.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    direct: HttpConnector,
    /// Reaches a proxy, which may be encrypted itself.
    to_proxy: HttpsConnector<HttpConnector>,
    proxies: Option<std::sync::Arc<Matcher>>,
}

impl Route {
    pub(crate) fn new(to_proxy: HttpsConnector<HttpConnector>, proxies: Option<Matcher>) -> Self {
        Self {
            direct: tcp(),
            to_proxy,
            proxies: proxies.map(std::sync::Arc::new),
        }
    }

    /// A proxy sees the name of the host and nothing else.
    fn through(
        &self,
        proxy: &Intercept,
        to: Uri,
    ) -> BoxFuture<'static, Result<ServerStream, BoxError>> {
        let scheme = proxy.uri().scheme_str().unwrap_or_default();
        if !matches!(scheme, "http" | "https") {
            let why = format!(
                "the proxy is for {scheme:?}, which is not supported; name one of http or https"
            );
            return Box::pin(async move { Err(io::Error::other(why).into()) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy.clone());
        if let Some(proof) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(proof.clone());
        }
        Box::pin(async move { Ok(tunnel.call(to).await?) })
    }
}

type ServerStream = MaybeHttpsStream<TokioIo<TcpStream>>;

impl Service<Uri> for Route {
    type Response = ServerStream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<ServerStream, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.direct.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        match self.proxies.as_ref().and_then(|it| it.intercept(&to)) {
            Some(proxy) => self.through(&proxy, to),
            None => {
                let connecting = self.direct.call(to);
                Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) })
            }
        }
    }
}
