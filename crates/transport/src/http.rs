//! One request over HTTP: what is sent, and how the answer is read.
//!
//! The body is made and the credentials are asked for when `Http::send` is called, and the future that it gives
//! owns all that it needs: it holds no borrow of the run and sends nothing before it is polled. Dropping it
//! aborts the request, which is how a run is stopped in the middle of a reply. What is kept between requests is
//! only what makes the next one cheaper: connections, rendered tools, the last address.

use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::{Dialect, Failure, Price, Reply, Request, Target};
use bonded_outbound::Address;
use futures_util::future::BoxFuture;
use http::Response;
use http::header::CONTENT_TYPE;
use tokio::time::timeout;

use crate::address::unusable;
use crate::body::{self, IDLE_MAX};
use crate::clients::Clients;
use crate::credentials::Lookup;
use crate::dialect::{self, ToolsCache};
use crate::exchange::{Clock, Outgoing, Peer, request_id};
use crate::{Live, offered, window};

/// Sends requests in the dialect that each target names.
pub(crate) struct Http {
    clients: Arc<Clients>,
    credentials: Box<Lookup>,
    tools: ToolsCache,
    /// The address that was used last, by what it depends on: most runs use one.
    address: Mutex<Option<(AddressKey, Address)>>,
}

/// What an address depends on.
///
/// Two targets with equal keys have the same address.
#[derive(PartialEq)]
struct AddressKey {
    endpoint: String,
    dialect: Dialect,
    /// Only where the address names it.
    model: String,
    stream: bool,
}

impl AddressKey {
    fn of(target: &Target) -> Self {
        let names_model = dialect::of(target.dialect).address_names_model;
        let model = if names_model {
            target.model.as_str()
        } else {
            ""
        };
        Self {
            endpoint: target.endpoint.clone(),
            dialect: target.dialect,
            model: model.into(),
            stream: target.stream,
        }
    }
}

impl Http {
    pub(crate) fn new(credentials: Box<Lookup>) -> Self {
        Self {
            clients: Arc::default(),
            credentials,
            tools: ToolsCache::default(),
            address: Mutex::default(),
        }
    }

    /// A run asks the same model turn after turn, so that one address is enough to keep. It is parsed anew for
    /// every other one.
    fn address(&self, target: &Target) -> Result<Address, Failure> {
        let place = AddressKey::of(target);
        let mut used = self.address.lock().unwrap_or_else(PoisonError::into_inner);
        match &*used {
            Some((known, address)) if *known == place => Ok(address.clone()),
            _ => {
                let url = dialect::completion_url(target)?;
                let address = Address::new(&url).map_err(|why| unusable(&why))?;
                *used = Some((place, address.clone()));
                Ok(address)
            }
        }
    }

    /// Servers whose windows are known are not asked.
    ///
    /// The answer is bounded by two seconds and never fails: `None` stands for whatever went wrong.
    pub(crate) fn window(&self, target: &Target) -> BoxFuture<'static, Option<u64>> {
        if !window::tells_window(target) {
            return Box::pin(std::future::ready(None));
        }
        window::ask(
            Arc::clone(&self.clients),
            target,
            (self.credentials)(target),
        )
    }

    /// By the very name: a variant of a model may cost more than the model. Endpoints whose windows are known list no
    /// prices.
    pub(crate) fn price(&self, target: &Target) -> BoxFuture<'static, Option<Price>> {
        if !window::tells_window(target) {
            return Box::pin(std::future::ready(None));
        }
        let listed = offered(target, (self.credentials)(target));
        let model = target.model.clone();
        Box::pin(async move {
            let models = listed.await.ok()??;
            models.into_iter().find(|it| it.id == model)?.price
        })
    }

    /// The order after the reply has come is fixed: first its calls get the names and keys of the tools back,
    /// then the secrets are taken out of a failure and the latency is set. An endpoint that is no address fails
    /// in the future and not here, so that it is a failure like all others.
    pub(crate) fn send(
        &self,
        request: &Request<'_>,
        live: Option<Box<dyn Live>>,
    ) -> BoxFuture<'static, Result<Reply, Failure>> {
        let target = request.target;
        let tools = self.tools.tools(request);
        let body = dialect::encode_with_tools(request, &tools);
        let peer = Peer {
            provider: target.provider.clone(),
            dialect: target.dialect,
            credentials: (self.credentials)(target),
            key_header: target.key_header.clone(),
            beta: dialect::beta(target),
            timeout_ms: target.timeout_ms,
        };
        let ask = ModelRequest {
            model: target.model.clone(),
            address: self.address(target),
            body,
            streams: target.stream,
            live,
        };
        let clients = Arc::clone(&self.clients);
        Box::pin(async move {
            let clock = Clock::start(peer.timeout_ms);
            let mut outcome = complete(&clients, &peer, ask, &clock).await;
            if let Ok(reply) = &mut outcome {
                tools.take_back(reply);
            }
            peer.finish(outcome, &clock)
        })
    }
}

/// A request that is ready to be sent.
///
/// It owns everything: the request that it was made of is gone when it is sent.
struct ModelRequest {
    model: String,
    address: Result<Address, Failure>,
    body: Vec<u8>,
    /// Whether the reply is asked for as a stream of events.
    streams: bool,
    live: Option<Box<dyn Live>>,
}

/// What the server signed is stamped with the names under which it was asked, since only they may have it back.
/// The id in the header outranks that in the body: it is the one that the service's support finds. It is set on
/// failures too, also where a stream broke in its middle.
async fn complete(
    clients: &Clients,
    peer: &Peer,
    ask: ModelRequest,
    clock: &Clock,
) -> Result<Reply, Failure> {
    let ModelRequest {
        model,
        address,
        body,
        streams,
        mut live,
    } = ask;
    let accept = if streams {
        "text/event-stream"
    } else {
        "application/json"
    };
    let request = Outgoing {
        address: address?,
        accept,
        body: Some(body),
    };
    let response = peer.exchange(clients, request, clock).await?;
    let request_id = request_id(response.headers());
    let as_events = comes_as_events(&response, streams);
    let pieces = body::pieces(response, IDLE_MAX);
    let read = async {
        if as_events {
            dialect::read_live_events(peer.dialect, pieces, live.as_deref_mut()).await
        } else {
            let whole = body::read_whole(pieces).await;
            dialect::decode(peer.dialect, &whole.map_err(body::Cut::into_failure)?)
        }
    };
    let mut outcome = match timeout(clock.left(), read).await {
        Ok(outcome) => outcome,
        Err(_) => Err(peer.too_late(clock)),
    };
    if let Ok(Reply {
        signed: Some(signed),
        ..
    }) = &mut outcome
    {
        dialect::stamp(signed, &peer.provider, &model);
    }
    if let Some(header) = request_id {
        match &mut outcome {
            Ok(reply) => reply.request_id = Some(header),
            Err(failure) => failure.request_id = Some(header),
        }
    }
    outcome
}

/// A server may ignore that events were asked for, or send them unasked.
///
/// So the content type counts, and what was asked for only where there is none.
fn comes_as_events<B>(response: &Response<B>, asked: bool) -> bool {
    match response.headers().get(CONTENT_TYPE) {
        Some(kind) => kind.as_bytes().starts_with(b"text/event-stream"),
        None => asked,
    }
}
