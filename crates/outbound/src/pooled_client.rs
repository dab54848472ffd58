//! The client of what is asked turn after turn: hyper's pool of connections with nothing above it.
//!
//! reqwest parses the address of each request anew and takes it through layers for redirects and retries that are off
//! here: a fifth of the CPU that a turn takes. Nothing is followed and nothing is sent twice.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;

use crate::address::Address;
use crate::client::{CONNECT_TIMEOUT, IDLE_TIMEOUT, Proxy, USER_AGENT_NAME};
use crate::route::{Bounded, ConnectTimedOut, Route, tcp};

/// Why no response came.
pub type SendError = hyper_util::client::legacy::Error;

/// Sends requests and keeps connections. Cheap to clone: clones share the connections.
#[derive(Clone, Debug)]
pub struct PooledClient(Connected);

#[derive(Clone, Debug)]
enum Connected {
    Plain(Client<Bounded<HttpConnector>, Full<Bytes>>),
    Encrypted(Client<Bounded<HttpsConnector<Route>>, Full<Bytes>>),
}

impl PooledClient {
    /// For `http:`. No certificates are read, and no proxy is used.
    pub fn plain() -> Self {
        let connector = bounded(tcp());
        Self(Connected::Plain(pool(IDLE_TIMEOUT).build(connector)))
    }

    /// For `https:`, trusting whom the system trusts. An idle connection is kept for `idle`.
    pub fn encrypted(proxy: Proxy, idle: Duration) -> Result<Self, String> {
        let mut tls = tls().map_err(|error| error.to_string())?;
        let to_proxy = HttpsConnector::from((tcp(), tls.clone()));
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let proxies = match proxy {
            Proxy::Never => None,
            Proxy::FromEnvironment => Some(Matcher::from_env()),
        };
        let mut connector = HttpsConnector::from((Route::new(to_proxy, proxies), tls));
        connector.enforce_https();
        let client = pool(idle).build(bounded(connector));
        Ok(Self(Connected::Encrypted(client)))
    }

    /// Sends a request once. A header that is given outranks what the address and this client would say.
    pub async fn send(
        &self,
        method: Method,
        to: &Address,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, SendError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = to.uri.clone();
        *request.headers_mut() = headers;
        let headers = request.headers_mut();
        if let Some(authorization) = &to.authorization {
            headers
                .entry(AUTHORIZATION)
                .or_insert_with(|| authorization.clone());
        }
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(USER_AGENT_NAME));
        match &self.0 {
            Connected::Plain(client) => client.request(request).await,
            Connected::Encrypted(client) => client.request(request).await,
        }
    }
}

/// Whether something was waited for in vain below an error.
pub fn timed_out(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if error.is::<ConnectTimedOut>()
            || io.is_some_and(|it| it.kind() == io::ErrorKind::TimedOut)
        {
            return true;
        }
        cause = error.source();
    }
    false
}

fn bounded<C>(connector: C) -> Bounded<C> {
    Bounded {
        connector,
        timeout: CONNECT_TIMEOUT,
    }
}

fn pool(idle: Duration) -> Builder {
    let mut pool = Client::builder(TokioExecutor::new());
    pool.timer(TokioTimer::new());
    pool.pool_timer(TokioTimer::new());
    pool.pool_idle_timeout(idle);
    pool
}

fn tls() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth())
}
