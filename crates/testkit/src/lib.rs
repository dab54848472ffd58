//! What the tests and benchmarks of `bonded` share: seeded worlds around the real driver ([`sim`]), scripts
//! for the script provider ([`script`]), a server that speaks chat completions ([`server`]), calls for tools
//! that are tested alone ([`invocation()`]), and a large notebook ([`notes`]).
//!
//! It is for development only: nothing that is shipped depends on it. It holds no rule of the contract: it
//! counts and compares what the other crates do, and replaces none of them.

mod invocation;
pub mod notes;
pub mod script;
pub mod server;
pub mod sim;

pub use invocation::invocation;
