//! REST tools and OpenAPI documents among the tools of an agent.
//!
//! A name in `tools` is looked up as a document where it begins with `openapi:`, else as a request,
//! with `rest__` before it or without. Queues and connections are shared by all runs of the process, so
//! that a limit holds for all of them together.

use std::sync::Arc;

use bonded_tools::rest::{
    OpenapiDocument, OpenapiTools, RestEndpoints, RestError, RestTool, system_lookup,
};
use bonded_tools::{QueueError, Queues};

use super::AgentError;
use crate::config::Config;

const REST_PREFIX: &str = "rest__";
const OPENAPI_PREFIX: &str = "openapi:";

/// What a name in `tools` stands for.
///
/// Boxed, because both are large.
pub(super) enum Meant {
    Tool(Box<RestTool>),
    Document(Box<OpenapiDocument>),
}

/// What a name stands for, where it stands for a request; a mistake in its settings is an error.
pub(super) fn meant(config: &Config, name: &str) -> Result<Option<Meant>, AgentError> {
    if let Some(document) = name.strip_prefix(OPENAPI_PREFIX) {
        let found = config.openapi_document(document)?;
        return Ok(found.map(|document| Meant::Document(Box::new(document))));
    }
    let found = match config.rest_tool(name)? {
        Some(tool) => Some(tool),
        None => match name.strip_prefix(REST_PREFIX) {
            Some(bare) => config.rest_tool(bare)?,
            None => None,
        },
    };
    Ok(found.map(|tool| Meant::Tool(Box::new(tool))))
}

/// The name of an entry, without what says which kind it is.
pub(super) fn bare_name(name: &str) -> &str {
    let bare = name.strip_prefix(OPENAPI_PREFIX);
    bare.or_else(|| name.strip_prefix(REST_PREFIX))
        .unwrap_or(name)
}

/// The names that `tools` may hold for requests.
pub(super) fn names(config: &Config) -> Vec<String> {
    let tools = config.rest_tool_names().into_iter().map(str::to_owned);
    let documents = config.openapi_names().into_iter();
    let documents = documents.map(|name| format!("{OPENAPI_PREFIX}{name}"));
    tools.chain(documents).collect()
}

/// What runs with the same configuration share: queues, and connections to the same origins.
pub(super) struct SharedRest {
    pub(super) queues: Arc<Queues>,
    endpoints: RestEndpoints,
}

impl SharedRest {
    /// The queues are those of the whole process, whichever files name them.
    ///
    /// A queue that two configurations name with different sizes has the larger one.
    pub(super) fn new(config: &Config, queues: &Arc<Queues>) -> Result<Self, QueueError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let named = config.queues(cores).into_iter();
        queues.extend(named.map(|(name, queue)| {
            let places = usize::try_from(queue.concurrent).unwrap_or(usize::MAX);
            (name, places)
        }))?;
        Ok(Self {
            endpoints: RestEndpoints::new(Arc::clone(queues), system_lookup()),
            queues: Arc::clone(queues),
        })
    }

    /// The tools behind a name. The settings were checked when they were read, the queues too.
    ///
    /// A document gives many tools and may warn of those that cannot be offered; a request gives one.
    pub(super) fn tools(&self, meant: &Meant) -> Result<OpenapiTools, RestError> {
        match meant {
            Meant::Document(document) => self.endpoints.openapi(document),
            Meant::Tool(tool) => Ok(OpenapiTools {
                tools: vec![self.endpoints.tool(tool)?],
                warnings: vec![],
            }),
        }
    }
}
