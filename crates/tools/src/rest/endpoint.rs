//! Origins, each with the client that reaches it and nothing else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Url, redirect, retry};

use super::error::{RestError, causes};
use super::openapi::{OpenapiDocument, OpenapiTools};
use super::policy::is_same_origin;
use super::resolver::{JudgingResolver, NameLookup};
use super::settings::{Reach, Redirects, RestTool};
use super::tool::{RequestTool, Shape};
use crate::queue::{Queue, Queues};
use crate::tool::Tool;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const REDIRECTS_MAX: usize = 5;

/// Common servers close an idle connection after five seconds; one that is given up before that is never
/// used at the moment in which it is closed.
const IDLE: Duration = Duration::from_secs(4);

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

    fn build(&self) -> Result<Client, String> {
        let resolver = JudgingResolver {
            host: self.host().to_owned(),
            reach: self.policy.reach,
            lookup: Arc::clone(&self.lookup),
        };
        // No proxy: it would look up the name by itself, out of our sight.
        let client = Client::builder()
            .user_agent(concat!("bonded/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE)
            .tcp_nodelay(true)
            .redirect(self.redirects())
            .referer(false)
            .retry(retry::never())
            .no_proxy()
            .dns_resolver(Arc::new(resolver));
        let client = match self.policy.origin.scheme() {
            "http" => without_certificates(client)?,
            _ => {
                // An error says only that a provider is installed already, which serves as well.
                let _ = rustls::crypto::ring::default_provider().install_default();
                client.https_only(true)
            }
        };
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

fn without_certificates(client: ClientBuilder) -> Result<ClientBuilder, String> {
    let provider = rustls::crypto::ring::default_provider();
    let no_roots = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(client.tls_backend_preconfigured(no_roots))
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
