//! The workspace over HTTP and over sockets: notes, rules and runs, for people and for programs.
//!
//! The rules decide what a change comes to and the store makes it durable; here is only who asks, how it is said,
//! and how it is shown.

mod access;
mod answer;
pub mod api;
mod ask;
mod body;
pub mod clock;
mod cors;
pub mod data_dir;
mod diff;
mod dto;
mod guesses;
mod handler;
pub mod ids;
#[cfg(test)]
mod openapi;
pub mod origins;
mod outcome;
pub mod password;
mod query;
mod rate;
pub mod refusal;
mod request_id;
pub mod request_log;
mod route;
mod routes;
pub mod shown;
pub mod site;
mod socket;
mod writable;

use std::sync::Arc;

use axum::Router;

pub use site::Site;

/// Everything below `/api`, and the socket. Paths that are nobody's are left to whoever else is served.
pub fn router(site: Arc<Site>) -> Router {
    routes::router(site)
}

/// The same for a server that serves nothing else.
pub fn lone_router(site: Arc<Site>) -> Router {
    routes::router(site).fallback(routes::unknown_path)
}
