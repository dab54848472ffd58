//! Agents as tools of MCP clients, and runs as resources.
//!
//! A call becomes a run exactly as a question to the OpenAI-compatible server does; only what a client sees of it
//! is made here.

mod call;
pub(crate) mod endpoint;
mod offer;
mod progress_sender;
mod resources;
mod review;
mod tools;

pub use offer::Offer;
