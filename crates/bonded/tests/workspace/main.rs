//! `bonded serve --data` as its clients meet it: the real program, raw HTTP, raw sockets, and the command line.

use bonded_testkit::{http, place, socket};

mod access;
mod agents;
mod automation;
mod bad_input;
mod cli;
mod contract;
mod cors;
mod hostile;
mod hostile_replies;
mod keeping;
mod loops;
mod meaning;
mod model;
mod notes;
mod patches;
mod privacy;
mod prompts;
mod provider;
mod provider_health;
mod provider_shapes;
mod providers;
mod reviews;
mod saying;
mod schemathesis;
mod search;
mod server;
mod starts;
mod streams;
mod turns;
mod vault;
mod works;
