//! One exchange with a server: how long it is waited for, and what each way to fail is called.
//!
//! All that speaks to a server goes through `Peer::exchange`: requests to models, embeddings, lists, questions
//! about windows. So there is one place that sets headers, one that reads refusals, and one, `Peer::finish`,
//! that takes the secrets out of what is said. A request is sent exactly once; a redirect is reported and not
//! followed, because it would carry the key to whoever the server names.
//!
//! Each failure says whether it may be billed. It is not billable only where the model surely did no work:
//! where nothing was sent, where no connection was made, or where a status refused the request.

use std::error::Error;
use std::time::{Duration, Instant, SystemTime};

use bonded_kernel::{Dialect, Failure, FailureClass, Reply};
use bonded_outbound::{Address, SendError, timed_out};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use http::{Method, Response};
use hyper::body::Incoming;
use tokio::time::timeout;
use url::Url;

use crate::address::unusable;
use crate::body::{self, IDLE_MAX};
use crate::clients::Clients;
use crate::credentials::Credentials;
use crate::dialect::Beta;
use crate::failure::{ServerError, causes, failed};
use crate::retry_after::{bounded, retry_after_ms};

/// Longer timeouts are as good as none, and a clock cannot hold all of them.
const TIMEOUT_MS_MAX: u64 = 366 * 86_400_000;
/// Enough for every error that says something; a page of HTML is cut.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;
/// The class of a failure mostly stands in its status, so that a slow explanation is not worth a long wait.
const ERROR_BODY_PATIENCE: Duration = Duration::from_secs(5);

/// When a request began and how long it may take.
///
/// It runs from before the connection is made to the last byte, so that a server cannot gain time by being slow
/// in many small ways.
pub(crate) struct Clock {
    begun: Instant,
    timeout: Duration,
}

impl Clock {
    /// A timeout beyond about a year is cut to that.
    pub(crate) fn start(timeout_ms: u64) -> Self {
        Self {
            begun: Instant::now(),
            timeout: Duration::from_millis(timeout_ms.min(TIMEOUT_MS_MAX)),
        }
    }

    /// Zero once the time is over: what is waited for then ends at once.
    pub(crate) fn left(&self) -> Duration {
        self.timeout.saturating_sub(self.begun.elapsed())
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A request before the headers of its peer are on it.
pub(crate) struct Outgoing {
    pub(crate) address: Address,
    pub(crate) accept: &'static str,
    /// JSON that is posted; without it something is only asked for.
    pub(crate) body: Option<Vec<u8>>,
}

impl Outgoing {
    /// Asks for JSON, with JSON where there is any.
    pub(crate) fn json(url: &Url, body: Option<Vec<u8>>) -> Result<Self, Failure> {
        Ok(Self {
            address: Address::new(url).map_err(|why| unusable(&why))?,
            accept: "application/json",
            body,
        })
    }
}

/// The other side of an exchange, as messages name it.
///
/// It is owned and not borrowed, because the future that it serves outlives the request that it was made of.
pub(crate) struct Peer {
    pub(crate) provider: String,
    pub(crate) dialect: Dialect,
    pub(crate) credentials: Credentials,
    pub(crate) key_header: Option<String>,
    /// What the request uses that is not for everybody yet, as the service wants it named.
    pub(crate) beta: Option<Beta>,
    pub(crate) timeout_ms: u64,
}

impl Peer {
    /// Sends a request once and gives the response, if its status is a good one.
    pub(crate) async fn exchange(
        &self,
        clients: &Clients,
        request: Outgoing,
        clock: &Clock,
    ) -> Result<Response<Incoming>, Failure> {
        let Outgoing {
            address,
            accept,
            body,
        } = request;
        let client = clients.to(&address).map_err(|why| unusable(&why))?;
        let mut headers =
            self.credentials
                .headers(self.dialect, self.key_header.as_deref(), self.beta)?;
        let method = if body.is_some() {
            let json = HeaderValue::from_static("application/json");
            headers.entry(CONTENT_TYPE).or_insert(json);
            Method::POST
        } else {
            Method::GET
        };
        let accept = HeaderValue::from_static(accept);
        headers.entry(ACCEPT).or_insert(accept);
        let sent = client.send(method, &address, headers, body.unwrap_or_default().into());
        let response = match timeout(clock.left(), sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unsent(&error, &address)),
            Err(_) => return Err(self.too_late(clock)),
        };
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.refused(response, clock).await)
        }
    }

    /// The failure behind a status that is not a good one.
    ///
    /// The headers are read before the body, since reading the body uses the response up. The longest of the
    /// waits that headers and body ask for counts, as far as `bounded` lets it. What the server says is
    /// followed by what a person can do, where that is known: set the endpoint elsewhere, or provide the key.
    /// It is never billable.
    async fn refused(&self, response: Response<Incoming>, clock: &Clock) -> Failure {
        let status = response.status();
        let limited = matches!(status.as_u16(), 429 | 503 | 529);
        let headers_wait_ms = retry_after_ms(response.headers(), limited, SystemTime::now());
        let request_id = request_id(response.headers());
        let elsewhere = response.headers().get(LOCATION).cloned();
        let patience = clock.left().min(ERROR_BODY_PATIENCE);
        let pieces = body::pieces(response, IDLE_MAX);
        let body = body::read_some(pieces, ERROR_BODY_BYTES_MAX, patience).await;
        let error = ServerError::from_body(&body);
        let class = error.class(Some(status.as_u16()));
        let overflow = error.overflow_of(class);
        let mut message = match elsewhere.as_ref().and_then(|to| to.to_str().ok()) {
            Some(to) if status.is_redirection() => {
                format!(
                    "it redirects to {to}, which is not followed; set the endpoint to the address of the API"
                )
            }
            _ if error.message.is_empty() => {
                status.canonical_reason().unwrap_or("no reason").into()
            }
            _ => error.message,
        };
        if let Some(missing) = self.missing_key(class) {
            message = format!("{message} ({missing})");
        }
        let (retry_after_ms, notice) = bounded(headers_wait_ms.max(error.retry_after_ms));
        if let Some(notice) = notice {
            message = format!("{message} ({notice})");
        }
        Failure {
            status: Some(status.as_u16()),
            retry_after_ms,
            request_id,
            overflow,
            ..failed(
                class,
                format!("status {}: {message}", status.as_u16()),
                false,
            )
        }
    }

    /// What to tell a person who was refused because nothing was shown.
    ///
    /// Only where neither a key nor a header was sent: a key that was refused is not a missing one.
    fn missing_key(&self, class: FailureClass) -> Option<&str> {
        let credentials = &self.credentials;
        let showed_nothing = credentials.key.is_none() && credentials.headers.is_empty();
        let missing = credentials.missing.as_deref();
        missing.filter(|_| class == FailureClass::Auth && showed_nothing)
    }

    /// Nobody knows whether the model worked on a request that was not answered in time.
    pub(crate) fn too_late(&self, clock: &Clock) -> Failure {
        let message = format!("no complete answer within {} ms", clock.timeout.as_millis());
        failed(FailureClass::Timeout, message, true)
    }

    /// Adds what only the sender knows, and takes the secrets out of every text.
    ///
    /// Every exchange ends here, also one that failed before anything was sent. The message and the id of the
    /// request are masked, since both come from the server; a reply is not, because what the model said is the
    /// run's to judge.
    pub(crate) fn finish<T: Timed>(
        &self,
        outcome: Result<T, Failure>,
        clock: &Clock,
    ) -> Result<T, Failure> {
        let latency_ms = clock.elapsed_ms();
        let masked = |text: &str| self.credentials.masked_in(text);
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
///
/// Vectors and lists of models do not.
pub(crate) trait Timed {
    fn set_latency_ms(&mut self, latency_ms: u64);
}

impl Timed for Reply {
    fn set_latency_ms(&mut self, latency_ms: u64) {
        self.latency_ms = latency_ms;
    }
}

/// A request that got no response. Only a connection that was never made is surely free of charge.
///
/// A timeout here is one of the connection, since the clock of the exchange ends the future instead. The outer
/// layers of the error are left out, and so is the address but for its origin.
fn unsent(error: &SendError, to: &Address) -> Failure {
    // The origin holds neither a password nor a query.
    let place = to.origin();
    let (class, what) = if timed_out(error) {
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
    // The outer layer only repeats that it failed.
    let message = format!("{what}: {}", causes(error.source().unwrap_or(error)));
    failed(class, message, !error.is_connect())
}

/// The first of the usual headers that says something. It is what the support of a service asks for, and goes
/// into the log.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    let names = ["x-request-id", "request-id", "x-generation-id"];
    let found = names
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok());
    found.filter(|id| !id.is_empty()).map(Into::into)
}
