//! The workspace's HTTP API and its sockets, as clients meet them: raw requests to a server in the test's own process.
//!
//! Nothing here kills, signals or looks at a process, and nothing is asked of the command line: what needs the program
//! is in the tests of its own crate.

use bonded_testkit::{http, place, socket};

mod access;
mod automation;
mod bad_input;
mod contract;
mod cors;
mod health;
mod hooks;
mod keeping;
mod meaning;
mod notes;
mod pages;
mod patches;
mod prompts;
mod reviews;
mod rule_checks;
mod schemathesis;
mod search;
mod server;
mod streams;
mod turns;
