//! Tools that are requests over HTTP: those that a person describes one by one ([`RestTool`]) and the
//! operations of an OpenAPI document ([`OpenapiDocument`]).
//!
//! [`RestEndpoints`] makes them. What a model writes fills places in a request and nothing else: an argument
//! cannot change the scheme, the host, the port, the shape of the path or the names of the query. A request
//! goes to the origin that the person wrote and to no other; the addresses behind its name are looked up and
//! judged for every connection. Answers are bounded in size and in time.
//!
//! It knows no proxies, keeps no cookies and never tries a request twice.

mod answer;
mod body;
mod endpoint;
mod error;
mod exchange;
mod header;
mod openapi;
mod policy;
mod resolver;
mod schema;
mod settings;
mod shown;
mod stream;
mod template;
mod tool;
mod url;

pub use endpoint::RestEndpoints;
pub use error::RestError;
pub use openapi::{OpenapiDocument, OpenapiTools};
pub(crate) use policy::may_reach;
pub(crate) use resolver::JudgingResolver;
pub use resolver::{NameLookup, system_lookup};
pub use settings::{JsonStream, Reach, Redirects, RestTool};
pub use tool::rest_methods;
