//! The workspace over HTTP and over sockets: notes, rules and runs, for people and for programs.
//!
//! The rules decide what a change comes to and the store makes it durable; here is only who asks, how it is said,
//! and how it is shown.

mod access;
pub mod api;
mod ask;
pub mod clock;
pub mod configured;
mod cors;
pub mod data_dir;
mod diff;
mod dto;
mod figures_door;
mod guesses;
mod handler;
pub mod ids;
pub mod known_dirs;
mod meaning;
pub mod open_workspace;
#[cfg(test)]
mod openapi;
mod origins;
mod outcome;
mod pages_door;
pub mod password;
mod rate;
mod refusal;
mod route;
mod routes;
pub mod serving;
pub mod shown;
mod site;
mod socket;
mod writable;
