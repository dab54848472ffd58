//! Origins, each with the client that reaches it and nothing else.
//!
//! A client can reach one host under one policy. That is why clients are kept by both: a tool that may reach a
//! private network must not lend its connections to one that may not.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bonded_outbound::{builder, for_scheme};
use reqwest::{Client, Url, redirect};

use super::error::RestError;
use super::openapi::{OpenapiDocument, OpenapiTools};
use super::policy::is_same_origin;
use super::resolver::{JudgingResolver, NameLookup};
use super::settings::{Reach, Redirects, RestTool};
use super::tool::{RequestTool, Shape};
use crate::causes::causes;
use crate::queue::{Queue, Queues};
use crate::tool::Tool;

/// As many as an honest server needs, and too few to go in circles.
const REDIRECTS_MAX: usize = 5;

/// The origins that tools reach. Tools with the same origin and policy share a client.
pub struct RestEndpoints {
    queues: Arc<Queues>,
    lookup: NameLookup,
    known: Mutex<BTreeMap<Policy, Arc<Endpoint>>>,
}

/// What tools must have in common to share a client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Policy {
    pub(super) origin: Url,
    pub(super) reach: Reach,
    pub(super) redirects: Redirects,
}

impl RestEndpoints {
    /// No client is made before the first call. `lookup` is asked for the addresses of every host, and its answers are judged.
    pub fn new(queues: Arc<Queues>, lookup: NameLookup) -> Self {
        Self {
            queues,
            lookup,
            known: Mutex::default(),
        }
    }

    /// The tool that a person described.
    pub fn tool(&self, settings: &RestTool) -> Result<Arc<dyn Tool>, RestError> {
        let shape = Shape::of(settings)?;
        let queue = self.queue(settings.queue.as_deref())?;
        Ok(Arc::new(self.bind(shape, queue)))
    }

    /// The tools of a document, and what a person should know about those that are not among them.
    pub fn openapi(&self, document: &OpenapiDocument) -> Result<OpenapiTools, RestError> {
        let read = document.read()?;
        let queue = self.queue(document.queue.as_deref())?;
        let tools = read.shapes.into_iter().map(|shape| {
            let tool = self.bind(shape, Arc::clone(&queue));
            Arc::new(tool) as Arc<dyn Tool>
        });
        Ok(OpenapiTools {
            tools: tools.collect(),
            warnings: read.warnings,
        })
    }

    fn queue(&self, name: Option<&str>) -> Result<Arc<Queue>, RestError> {
        let queue = self.queues.get(name);
        queue.map_err(|source| RestError::Queue { source })
    }

    /// Nothing is connected here.
    fn bind(&self, shape: Shape, queue: Arc<Queue>) -> RequestTool {
        let policy = shape.policy();
        // A panic elsewhere cannot leave a map of finished values half written.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let endpoint = known.entry(policy.clone()).or_insert_with(|| {
            let lookup = Arc::clone(&self.lookup);
            let client = OnceLock::new();
            Arc::new(Endpoint {
                policy,
                lookup,
                client,
            })
        });
        RequestTool::new(shape, queue, Arc::clone(endpoint))
    }
}

/// One origin under one policy.
pub(super) struct Endpoint {
    policy: Policy,
    lookup: NameLookup,
    /// Built for the first call: reading the certificates of the system takes longer than a start may.
    client: OnceLock<Result<Client, String>>,
}

impl Endpoint {
    pub(super) fn client(&self) -> Result<Client, String> {
        self.client.get_or_init(|| self.build()).clone()
    }

    pub(super) fn host(&self) -> &str {
        self.policy.origin.host_str().unwrap_or_default()
    }

    /// The resolver knows the host and refuses any other, so that even a redirect cannot lead to a name that
    /// was not judged.
    fn build(&self) -> Result<Client, String> {
        let resolver = JudgingResolver {
            host: self.host().to_owned(),
            reach: self.policy.reach,
            lookup: Arc::clone(&self.lookup),
        };
        // No proxy: it would look up the name by itself, out of our sight.
        let client = builder()
            .redirect(self.redirects())
            .no_proxy()
            .dns_resolver(Arc::new(resolver));
        let client = for_scheme(client, &self.policy.origin)?;
        client.build().map_err(|error| causes(&error))
    }

    fn redirects(&self) -> redirect::Policy {
        if self.policy.redirects == Redirects::Refused {
            return redirect::Policy::none();
        }
        let origin = self.policy.origin.clone();
        redirect::Policy::custom(move |attempt| {
            let is_near = is_same_origin(attempt.url(), &origin);
            match is_near && attempt.previous().len() <= REDIRECTS_MAX {
                true => attempt.follow(),
                // The answer itself says where it points to.
                false => attempt.stop(),
            }
        })
    }
}

impl fmt::Debug for RestEndpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_list().entries(known.keys()).finish()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.policy.fmt(f)
    }
}
