//! What the tests and benchmarks of `bonded` share: seeded worlds around the real driver ([`sim`]), scripts
//! for the script provider ([`script`]), and a server that speaks chat completions ([`server`]).
//!
//! It is for development only: nothing that is shipped depends on it. It holds no rule of the contract: it
//! counts and compares what the other crates do, and replaces none of them.

pub mod script;
pub mod server;
pub mod sim;
