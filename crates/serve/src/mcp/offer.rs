//! What MCP clients are offered.
//!
//! Tools are agents and resources are runs. Who asks sees only runs of their own where callers are kept apart;
//! another's run is as good as missing.

use std::sync::Arc;

use bonded_kernel::Hash;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::resources::{self, Resource};
use super::{call, tools};
use crate::agents::{AgentServer, Caller, Own};
use bonded_mcp::{About, ClientRequest, RequestClient, RpcFault, Served};

const INSTRUCTIONS: &str = "Each tool is an agent: it works on what it is asked until it reports. A result names its \
    run in _meta as bonded/run; bonded://runs/ID is what that run did.";

/// The agents of a server, and the runs of its store.
#[derive(Debug)]
pub struct Offer {
    server: Arc<AgentServer>,
}

impl Offer {
    /// The offer of one server; it keeps nothing itself.
    pub fn new(server: Arc<AgentServer>) -> Self {
        Self { server }
    }

    /// Whose runs a caller may see: its own where it has some, else all.
    fn seen_by(&self, caller: Hash) -> Option<Own> {
        self.server.apart.own(Caller(caller))
    }

    /// What is not listed here is no method of this server.
    async fn asked(&self, asked: &ClientRequest, peer: RequestClient) -> Result<Value, RpcFault> {
        let server = &self.server;
        match asked.method.as_str() {
            "tools/list" => tools::list(&server.models, asked),
            "tools/call" => call::call(server, asked, &peer).await,
            "resources/list" => {
                let own = self.seen_by(asked.caller);
                resources::list(&*server.runs.store(), own.as_ref(), asked).await
            }
            "resources/templates/list" => Ok(resources::templates()),
            "resources/read" => {
                let uri = asked.text("uri")?;
                let own = self.seen_by(asked.caller);
                resources::read(&*server.runs.store(), own.as_ref(), uri).await
            }
            method => Err(RpcFault::unknown_method(method)),
        }
    }
}

impl Served for Offer {
    fn about(&self) -> About {
        About {
            name: "bonded",
            version: env!("CARGO_PKG_VERSION"),
            instructions: INSTRUCTIONS.into(),
            capabilities: json!({ "tools": {}, "resources": { "subscribe": true } }),
        }
    }

    fn answer<'a>(
        &'a self,
        asked: &'a ClientRequest,
        peer: RequestClient,
    ) -> BoxFuture<'a, Result<Value, RpcFault>> {
        Box::pin(self.asked(asked, peer))
    }

    fn mark<'a>(&'a self, caller: Hash, uri: &'a str) -> BoxFuture<'a, Result<u64, RpcFault>> {
        Box::pin(async move {
            let store = self.server.runs.store();
            let Some(Resource::Run { run, .. }) = Resource::of(uri) else {
                let message = "only a run can be watched: bonded://runs/ID";
                return Err(RpcFault::invalid_params(message));
            };
            if self.seen_by(caller).is_some_and(|own| !own.has(&run)) {
                return Err(RpcFault::unknown_resource(uri));
            }
            let head = store.head(&run).await.map_err(resources::unreadable)?;
            let head = head.ok_or_else(|| RpcFault::unknown_resource(uri))?;
            Ok(head.seq)
        })
    }

    fn changed<'a>(
        &'a self,
        uri: &'a str,
        mark: u64,
    ) -> BoxFuture<'a, Result<Option<u64>, RpcFault>> {
        Box::pin(async move {
            let store = self.server.runs.store();
            let Some(Resource::Run { run, .. }) = Resource::of(uri) else {
                return Ok(None);
            };
            if resources::has_ended(&*store, &run, mark).await? {
                return Ok(None);
            }
            let changed = store.changed(&run, mark).await;
            changed.map_err(resources::unreadable)?;
            let entries = store
                .load(&run, mark)
                .await
                .map_err(resources::unreadable)?;
            Ok(entries.last().map(|last| last.seq))
        })
    }
}
