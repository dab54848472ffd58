//! The workspace over HTTP and over sockets: notes, rules and runs, for people and for programs.
//!
//! The kernel decides what a change comes to and the store makes it durable; here is only who asks, how it is said,
//! and how it is shown.

mod access;
mod answer;
pub(crate) mod api;
mod ask;
mod body;
pub(crate) mod config_file;
mod cors;
pub(crate) mod data_dir;
mod diff;
pub(crate) mod front_matter;
mod guesses;
pub(crate) mod ids;
pub(crate) mod logging;
mod meaning;
pub(crate) mod notebook;
pub(crate) mod opened;
mod pages;
pub(crate) mod password;
mod query;
mod rate;
pub(crate) mod refusal;
mod request_id;
mod routes;
pub(crate) mod serving;
pub(crate) mod shown;
pub(crate) mod site;
mod socket;
pub(crate) mod times;
mod writable;

use std::sync::Arc;

use axum::Router;
use bonded_workspace::store::WorkspaceError;

use crate::error::{CliError, Code, with_causes};
pub(crate) use pages::PAGES;
pub(crate) use site::Site;

/// Everything below `/api`, and the socket. Paths that are nobody's are left to whoever else is served.
pub(crate) fn router(site: Arc<Site>) -> Router {
    routes::router(site)
}

/// The same for a server that serves nothing else.
pub(crate) fn lone_router(site: Arc<Site>) -> Router {
    routes::router(site).fallback(routes::unknown_path)
}

/// A store that failed, as a person on a terminal meets it.
pub(crate) fn store_error(error: WorkspaceError) -> CliError {
    match error {
        WorkspaceError::Store(error) => error.into(),
        WorkspaceError::Refused(refused) => {
            let message = format!("{}: {}", refused.code(), with_causes(&refused));
            CliError::new(Code::Refused, message)
        }
    }
}
