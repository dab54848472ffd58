//! `bonded serve --data` as its clients meet it: the real program, raw HTTP, raw sockets, and the command line.

#[path = "../cli/place.rs"]
#[expect(dead_code, reason = "scripts and logs are for runs")]
mod place;

#[path = "../serve/http.rs"]
#[expect(dead_code, reason = "event streams are for agents")]
mod http;

mod access;
mod agents;
mod automation;
mod bad_input;
mod chat_server;
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
mod socket;
mod starts;
mod streams;
mod turns;
mod vault;
mod works;
