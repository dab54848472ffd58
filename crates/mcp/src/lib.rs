//! The Model Context Protocol as a server speaks it: messages, the greeting, requests under way, sessions, and two
//! transports. It knows neither agents nor runs: what it serves is behind [`Served`].

mod events;
mod fault;
mod frames;
pub mod http;
mod lifecycle;
mod message;
mod origin;
mod questions;
mod request_headers;
mod served;
mod session;
mod sessions;
mod standard_headers;
pub mod stdio;
mod stream;
mod streams;
mod watching;

pub use fault::McpFault;
pub use served::{About, ClientRequest, RequestClient, Served};
