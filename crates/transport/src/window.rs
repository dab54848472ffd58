//! Asks a server for the window of its model, where only the server knows it: a server of one's own has the window that
//! it was started with, and a router that of the provider behind it.
//!
//! What the server runs with counts, not what the model could take. Nothing is asked of the model itself, the key goes
//! where it goes anyway, and a server that does not say is not at fault.

mod answer;

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::Target;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use url::Url;

use crate::address::url_under;
use crate::body;
use crate::clients::Clients;
use crate::credentials::Credentials;
use crate::dialect;
use crate::exchange::{Clock, Outgoing, Peer};
use crate::models::Service;
use answer::{ListedModel, Server};

/// All that is asked of one target together may take so long.
const TIMEOUT_MS: u64 = 2_000;

/// What a server of one's own lists is short; read as JSON, a text can take a hundred times its bytes.
const BODY_BYTES_MAX: usize = 512 * 1024;
/// A router's list of some hundred models has about a megabyte.
const ROUTER_BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Whether a target can be asked for its window: a router, or a server of one's own. The windows of all other services are
/// in the tables.
pub fn tells_window(target: &Target) -> bool {
    let is_foreign = matches!(target.family(), "script" | "azure" | "bedrock");
    let speaks = dialect::of(target.dialect).tells_window;
    let asked = match Service::at(&target.endpoint) {
        Some(service) => service.name == ROUTER,
        None => true,
    };
    asked && speaks && !is_foreign
}

/// The router whose list says more than the tables.
pub const ROUTER: &str = "openrouter";

/// What a list of models says that one of them takes in.
pub(crate) fn listed_tokens(model: &Value) -> Option<u64> {
    answer::in_list_of_models(model)
}

/// The window of a target's model as its server says it, in tokens. Gives up after two seconds.
pub(crate) fn ask(
    clients: Arc<Clients>,
    target: &Target,
    credentials: Credentials,
) -> BoxFuture<'static, Option<u64>> {
    let peer = Peer {
        provider: target.provider.clone(),
        dialect: target.dialect,
        credentials,
        key_header: target.key_header.clone(),
        beta: None,
        timeout_ms: TIMEOUT_MS,
    };
    let asker = Asker {
        clients,
        clock: Clock::start(TIMEOUT_MS),
        target: target.clone(),
        peer,
    };
    Box::pin(async move { asker.window().await })
}

/// What is asked of one target. The clock is shared by all questions, so that a server that is slow at the
/// first is not asked a second.
struct Asker {
    clients: Arc<Clients>,
    clock: Clock,
    target: Target,
    peer: Peer,
}

impl Asker {
    /// A server whose kind is known by its name is asked in its own way first, because the common list may say
    /// what the model could take. Where the list tells the kind, the own way comes second.
    async fn window(&self) -> Option<u64> {
        if let Some(server) = Server::named(self.target.family()) {
            match self.of(server).await {
                Some(tokens) => return Some(tokens),
                // One that is called so and is another may still have a list.
                None => return self.listed().await?.tokens,
            }
        }
        match self.listed().await? {
            ListedModel {
                tokens: Some(tokens),
                ..
            } => Some(tokens),
            ListedModel { server, .. } => self.of(server?).await,
        }
    }

    /// What the list says of the model that every server has.
    async fn listed(&self) -> Option<ListedModel> {
        let list = self.get(dialect::models_url(&self.target).ok()?).await?;
        answer::in_list(&list, &self.target.model)
    }

    /// What a server says beside the language that they all speak.
    async fn of(&self, server: Server) -> Option<u64> {
        let model = self.target.model.as_str();
        match server {
            Server::LlamaCpp => {
                let mut url = self.beside(&["props"])?;
                // A server of many models would load the one that is asked about.
                url.query_pairs_mut()
                    .append_pair("model", model)
                    .append_pair("autoload", "false");
                answer::in_props(&self.get(url).await?)
            }
            Server::LmStudio => {
                let list = self.get(self.beside(&["api", "v0", "models"])?).await?;
                answer::in_list(&list, model)?.tokens
            }
            Server::Ollama => {
                let loaded = self.get(self.beside(&["api", "ps"])?).await?;
                if let Some(tokens) = answer::in_loaded(&loaded, model) {
                    return Some(tokens);
                }
                let url = self.beside(&["api", "show"])?;
                let shown = self.exchange(url, Some(json!({ "model": model }))).await?;
                Some(answer::when_loaded(&shown))
            }
        }
    }

    /// The address of what lies beside the versioned API, at the same host.
    ///
    /// A query of the endpoint is meant for the versioned API and does not go along. Only a last segment of
    /// `v1` is taken away.
    fn beside(&self, path: &[&str]) -> Option<Url> {
        let mut url = url_under(&self.target.endpoint, &[]).ok()?;
        url.set_query(None);
        let is_version = url
            .path_segments()
            .and_then(|mut it| it.rfind(|segment| !segment.is_empty()))
            .is_some_and(|last| last == "v1");
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            if is_version {
                segments.pop();
            }
            segments.extend(path);
        }
        Some(url)
    }

    /// A target that only calls itself a router gets the smaller one.
    fn body_bytes_max(&self) -> usize {
        match Service::at(&self.target.endpoint) {
            Some(service) if service.name == ROUTER => ROUTER_BODY_BYTES_MAX,
            _ => BODY_BYTES_MAX,
        }
    }

    async fn get(&self, url: Url) -> Option<Value> {
        self.exchange(url, None).await
    }

    /// Whatever goes wrong is `None`: nobody waits for an explanation of a window that was not told. The
    /// reading is bounded by what is left of the two seconds.
    async fn exchange(&self, url: Url, body: Option<Value>) -> Option<Value> {
        let body = body.map(|body| body.to_string().into_bytes());
        let request = Outgoing::json(&url, body).ok()?;
        let response = self.peer.exchange(&self.clients, request, &self.clock);
        let response = response.await.ok()?;
        let left: Duration = self.clock.left();
        let pieces = body::pieces(response, left);
        // One that was cut is no JSON any more.
        let body = body::read_some(pieces, self.body_bytes_max(), left).await;
        serde_json::from_slice(&body).ok()
    }
}
