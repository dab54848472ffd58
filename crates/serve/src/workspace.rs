//! The workspace over HTTP and over sockets: notes, rules and runs, for people and for programs.
//!
//! The rules decide what a change comes to and the store makes it durable; here is only who asks, how it is said,
//! and how it is shown.

mod access;
pub(crate) mod answer;
pub mod api;
pub(crate) mod ask;
pub(crate) mod body;
pub mod clock;
pub mod configured;
mod cors;
pub mod data_dir;
mod diff;
mod dto;
mod guesses;
mod handler;
pub mod ids;
pub mod known_dirs;
mod meaning;
pub mod open_workspace;
#[cfg(test)]
pub(crate) mod openapi;
mod origins;
mod outcome;
mod pages_door;
pub mod password;
pub(crate) mod query;
mod rate;
pub mod refusal;
pub(crate) mod request_id;
pub mod request_log;
mod route;
mod routes;
pub mod serving;
pub mod shown;
mod site;
mod socket;
mod writable;

#[cfg(test)]
pub(crate) use access::SESSION_COOKIE;
