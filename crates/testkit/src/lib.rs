//! What the tests and benchmarks of `bonded` share: seeded worlds around the real driver ([`sim`]), scripts
//! for the script provider ([`script`]), a server that speaks chat completions beside benchmarks ([`server`]), calls
//! for tools that are tested alone ([`invocation()`]), and a large notebook ([`notes`]).
//!
//! For tests of the real program there is one of each: a directory with the program in it ([`place`]), what a process
//! comes to ([`done`]), also after signals ([`signals`]), one that serves ([`process`]), its clients ([`client`], [`clients`], [`http`], [`socket`]),
//! providers that answer as they are told ([`provider`], [`embeddings`]), and a terminal with its keys and its screen
//! ([`terminal`]). Servers of tools are a program ([`tool_server`]), or demand tokens ([`issuer`]). Programs of others are
//! found by [`installed`]; a PostgreSQL server of the tests' own is started by [`postgres`]. What every store does is in [`stores`].
//!
//! It is for development only: nothing that is shipped depends on it. It holds no rule of the contract: it
//! counts and compares what the other crates do, and replaces none of them.

pub mod client;
pub mod clients;
pub mod disturbance;
pub mod done;
pub mod embeddings;
pub mod fleet_sim;
pub mod http;
mod invocation;
pub mod issuer;
pub mod notes;
pub mod patience;
pub mod place;
pub mod pooler;
pub mod postgres;
pub mod process;
pub mod provider;
pub mod proxy;
pub mod rng;
pub mod script;
pub mod server;
pub mod shim;
pub mod signals;
pub mod sim;
pub mod socket;
pub mod stores;
pub mod terminal;
pub mod tool_server;

pub use bonded_installed as installed;
pub use invocation::invocation;
