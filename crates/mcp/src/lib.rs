//! The Model Context Protocol as a server speaks it: messages, the greeting, requests under way, sessions, and two
//! transports. It knows neither agents nor runs: what it serves is behind [`Served`].

mod about;
mod answering;
mod events;
mod fault;
mod frames;
pub mod http;
mod http_refusal;
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

pub use about::About;
pub use fault::McpFault;
pub use served::{ClientRequest, RequestClient, Served};
