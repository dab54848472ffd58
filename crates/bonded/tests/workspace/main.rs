//! `bonded serve --data` as a process: the real program, what it says, how it ends, what it leaves, and the command
//! line. What its HTTP API answers is tested in crates/serve, in the tests' own process.

use bonded_testkit::{http, place, socket};

mod agents;
mod cli;
mod crashes;
mod hostile;
mod hostile_replies;
mod listed_runs;
mod loops;
mod model;
mod privacy;
mod provider_health;
mod provider_shapes;
mod providers;
mod saying;
mod server;
mod shut_out;
mod starts;
mod vault;
mod works;
