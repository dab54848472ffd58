//! One request over HTTP: what is sent, how long it is waited for, and what each way to fail is called.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bonded_kernel::{Failure, FailureClass, Reply, Request, Target};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{RequestBuilder, Response, Url};
use tokio::time::timeout;

use crate::BoxFuture;
use crate::body::{self, IDLE_MAX};
use crate::clients::Clients;
use crate::dialect::chat;
use crate::failure::{ServerError, causes, failed};
use crate::retry_after::retry_after_ms;
use crate::secret::Secret;

/// Longer timeouts are as good as none, and a clock cannot hold all of them.
const TIMEOUT_MS_MAX: u64 = 366 * 86_400_000;
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;
const ERROR_BODY_PATIENCE: Duration = Duration::from_secs(5);

/// Where keys come from: the name of a variable to its value.
pub(crate) type Keys = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Sends requests in the chat completions dialect.
pub(crate) struct Http {
    clients: Arc<Clients>,
    keys: Box<Keys>,
    tools: chat::ToolsCache,
    /// The address that was used last, by its endpoint: most runs use one.
    url: Mutex<Option<(String, Url)>>,
}

impl Http {
    pub(crate) fn new(keys: Box<Keys>) -> Self {
        Self {
            clients: Arc::default(),
            keys,
            tools: chat::ToolsCache::default(),
            url: Mutex::default(),
        }
    }

    fn url(&self, endpoint: &str) -> Result<Url, Failure> {
        let mut used = self.url.lock().unwrap_or_else(PoisonError::into_inner);
        match &*used {
            Some((known, url)) if known == endpoint => Ok(url.clone()),
            _ => {
                let url = url_under(endpoint, &["chat", "completions"])?;
                *used = Some((endpoint.to_owned(), url.clone()));
                Ok(url)
            }
        }
    }

    pub(crate) fn send(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let target = request.target;
        let tools = self.tools.tools(request.catalog);
        let body = chat::encode_with_tools(request, &tools);
        let key_env = target.key_env.as_deref();
        let key = key_env.and_then(|name| Secret::new(&(self.keys)(name)?));
        let peer = Peer::of(target, key);
        let url = self.url(&target.endpoint);
        let streams = target.stream;
        let clients = Arc::clone(&self.clients);
        Box::pin(async move {
            let clock = Clock::start(peer.timeout_ms);
            let outcome = complete(&clients, &peer, url, body, streams, &clock).await;
            peer.finish(outcome, &clock)
        })
    }
}

async fn complete(
    clients: &Clients,
    peer: &Peer,
    url: Result<Url, Failure>,
    body: Vec<u8>,
    streams: bool,
    clock: &Clock,
) -> Result<Reply, Failure> {
    let url = url?;
    let client = clients.for_url(&url).map_err(|why| unusable(&why))?;
    let accept = if streams {
        "text/event-stream"
    } else {
        "application/json"
    };
    let request = client
        .post(url)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, accept)
        .body(body);
    let response = peer.exchange(request, clock).await?;
    let request_id = request_id(response.headers());
    let as_events = comes_as_events(&response, streams);
    let pieces = body::pieces(response, IDLE_MAX);
    let read = async {
        if as_events {
            chat::read_events(pieces).await
        } else {
            let whole = body::read_whole(pieces).await;
            chat::decode(&whole.map_err(body::Cut::into_failure)?)
        }
    };
    let mut outcome = match timeout(clock.left(), read).await {
        Ok(outcome) => outcome,
        Err(_) => Err(peer.too_late(clock)),
    };
    if let Some(header) = request_id {
        match &mut outcome {
            Ok(reply) => reply.request_id = Some(header),
            Err(failure) => failure.request_id = Some(header),
        }
    }
    outcome
}

/// A server may ignore that events were asked for, or send them unasked.
fn comes_as_events(response: &Response, asked: bool) -> bool {
    match response.headers().get(CONTENT_TYPE) {
        Some(kind) => kind.as_bytes().starts_with(b"text/event-stream"),
        None => asked,
    }
}

/// The address of a resource under an endpoint; a query of the endpoint is kept.
pub(crate) fn url_under(endpoint: &str, path: &[&str]) -> Result<Url, Failure> {
    let mut url = Url::parse(endpoint).map_err(|error| unusable(&error.to_string()))?;
    match url.path_segments_mut() {
        Ok(mut segments) => segments.pop_if_empty().extend(path),
        Err(()) => return Err(unusable("it is not a base for paths")),
    };
    Ok(url)
}

/// The endpoint itself stays out of the message: it may hold a password.
pub(crate) fn unusable(why: &str) -> Failure {
    let message = format!("the endpoint is not a usable http or https URL: {why}");
    failed(FailureClass::Network, message, false)
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let names = ["x-request-id", "request-id", "x-generation-id"];
    let found = names
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok());
    found.filter(|id| !id.is_empty()).map(Into::into)
}

/// When a request began and how long it may take.
pub(crate) struct Clock {
    begun: Instant,
    timeout: Duration,
}

impl Clock {
    pub(crate) fn start(timeout_ms: u64) -> Self {
        Self {
            begun: Instant::now(),
            timeout: Duration::from_millis(timeout_ms.min(TIMEOUT_MS_MAX)),
        }
    }

    pub(crate) fn left(&self) -> Duration {
        self.timeout.saturating_sub(self.begun.elapsed())
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// The other side of an exchange, as messages name it.
pub(crate) struct Peer {
    pub(crate) provider: String,
    pub(crate) key: Option<Secret>,
    pub(crate) key_env: Option<String>,
    pub(crate) timeout_ms: u64,
}

impl Peer {
    fn of(target: &Target, key: Option<Secret>) -> Self {
        Self {
            provider: target.provider.clone(),
            key,
            key_env: target.key_env.clone(),
            timeout_ms: target.timeout_ms,
        }
    }

    /// Sends a request once and gives the response, if its status is a good one.
    pub(crate) async fn exchange(
        &self,
        request: RequestBuilder,
        clock: &Clock,
    ) -> Result<Response, Failure> {
        let request = match &self.key {
            Some(key) => request.header(AUTHORIZATION, bearer(key)?),
            None => request,
        };
        let response = match timeout(clock.left(), request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unsent(error)),
            Err(_) => return Err(self.too_late(clock)),
        };
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.refused(response, clock).await)
        }
    }

    /// The failure behind a status that is not a good one.
    async fn refused(&self, response: Response, clock: &Clock) -> Failure {
        let status = response.status();
        let limited = matches!(status.as_u16(), 429 | 503 | 529);
        let retry_after_ms = retry_after_ms(response.headers(), limited, SystemTime::now());
        let request_id = request_id(response.headers());
        let elsewhere = response.headers().get(LOCATION).cloned();
        let patience = clock.left().min(ERROR_BODY_PATIENCE);
        let pieces = body::pieces(response, IDLE_MAX);
        let body = body::read_some(pieces, ERROR_BODY_BYTES_MAX, patience).await;
        let error = ServerError::from_body(&body);
        let class = error.class(Some(status.as_u16()));
        let mut said = match elsewhere.as_ref().and_then(|to| to.to_str().ok()) {
            Some(to) if status.is_redirection() => {
                format!(
                    "it redirects to {to}, which is not followed; set the endpoint to where the API is"
                )
            }
            _ if error.message.is_empty() => {
                status.canonical_reason().unwrap_or("no reason").into()
            }
            _ => error.message,
        };
        if class == FailureClass::Auth && self.key.is_none() {
            said = format!("{said} ({})", self.missing_key());
        }
        Failure {
            status: Some(status.as_u16()),
            retry_after_ms,
            request_id,
            ..failed(class, format!("status {}: {said}", status.as_u16()), false)
        }
    }

    fn missing_key(&self) -> String {
        match &self.key_env {
            Some(name) => format!("no key was sent: the variable {name} is not set"),
            None => "no key was sent: the target names no variable that holds one".into(),
        }
    }

    /// Nobody knows whether the model worked on a request that was not answered in time.
    pub(crate) fn too_late(&self, clock: &Clock) -> Failure {
        let message = format!("no complete answer within {} ms", clock.timeout.as_millis());
        failed(FailureClass::Timeout, message, true)
    }

    /// Adds what only the sender knows, and takes the key out of every text.
    pub(crate) fn finish<T: Timed>(
        &self,
        outcome: Result<T, Failure>,
        clock: &Clock,
    ) -> Result<T, Failure> {
        let latency_ms = clock.elapsed_ms();
        let masked = |text: &str| match &self.key {
            Some(key) => key.masked_in(text),
            None => text.into(),
        };
        match outcome {
            Ok(mut answer) => {
                answer.set_latency_ms(latency_ms);
                Ok(answer)
            }
            Err(failure) => Err(Failure {
                message: masked(&format!("{}: {}", self.provider, failure.message)),
                request_id: failure.request_id.as_deref().map(masked),
                latency_ms,
                ..failure
            }),
        }
    }
}

/// An answer that may keep how long it took.
pub(crate) trait Timed {
    fn set_latency_ms(&mut self, latency_ms: u64);
}

impl Timed for Reply {
    fn set_latency_ms(&mut self, latency_ms: u64) {
        self.latency_ms = latency_ms;
    }
}

fn bearer(key: &Secret) -> Result<HeaderValue, Failure> {
    let header = HeaderValue::from_str(&format!("Bearer {}", key.expose()));
    let mut header = header.map_err(|_| {
        let message = "the key holds characters that no HTTP header may hold; nothing was sent";
        failed(FailureClass::Auth, message, false)
    })?;
    header.set_sensitive(true);
    Ok(header)
}

/// A request that got no response. Only a connection that was never made is surely free of charge.
fn unsent(error: reqwest::Error) -> Failure {
    let never_sent = error.is_connect() || error.is_builder();
    // The origin holds neither a password nor a query.
    let place = error.url().map(|url| url.origin().ascii_serialization());
    let place = place.unwrap_or_default();
    let (class, what) = if error.is_timeout() {
        (
            FailureClass::Timeout,
            format!("no connection to {place} in time"),
        )
    } else if error.is_connect() {
        (FailureClass::Network, format!("cannot connect to {place}"))
    } else {
        (
            FailureClass::Network,
            format!("the connection to {place} broke before an answer"),
        )
    };
    // The outer layers only repeat that it failed.
    let error = error.without_url();
    let cause = error.source().and_then(Error::source);
    let message = format!("{what}: {}", causes(cause.unwrap_or(&error)));
    failed(class, message, !never_sent)
}
