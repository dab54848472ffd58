//! What the JSON APIs of all servers share: answers, refusals and their envelope, queries, bodies, the names of requests and
//! their log, and what writes the OpenAPI documents.
//!
//! It knows no server: what a refusal is made of elsewhere is converted there.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod details;
pub(crate) mod error_answer;
#[cfg(test)]
pub(crate) mod openapi;
pub(crate) mod path;
pub(crate) mod query;
pub mod refusal;
pub(crate) mod request_id;
pub mod request_log;

/// In tests every body has a schema; the program itself needs none.
#[cfg(test)]
pub(crate) use schemars::JsonSchema as Schema;

#[cfg(not(test))]
pub(crate) trait Schema {}

#[cfg(not(test))]
impl<T> Schema for T {}

/// The name of the cookie of a session, where a server has sessions of browsers.
pub(crate) const SESSION_COOKIE: &str = "bonded_session";
