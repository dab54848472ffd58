//! The Model Context Protocol as a server speaks it: messages, the greeting, requests under way, sessions, and two
//! transports. It knows neither agents nor runs: what it serves is behind [`Served`]. The messages and their lines are
//! those of every protocol on JSON-RPC, and are public for the one that editors speak.
//!
//! A message is read (`message`), taken in by a session in the order in which it came (`session`), and answered by
//! what is served (`answering`). The transports differ in what a connection means: over stdio one client has one
//! session for as long as the process lives; over HTTP sessions have ids, belong to the token that greeted, and
//! outlive connections.
//!
//! - Nothing of a client is trusted: sessions, requests, questions, watched resources, lines and kept streams are
//!   bounded, each by a constant beside what it bounds.
//! - A request that is cancelled, or whose client is gone for good, is dropped, and with it the future that answers
//!   it.

mod about;
mod answering;
mod events;
mod fault;
mod frames;
pub mod http;
mod http_refusal;
mod lifecycle;
pub mod lines;
pub mod message;
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
pub use fault::RpcFault;
pub use served::{ClientRequest, RequestClient, Served};
