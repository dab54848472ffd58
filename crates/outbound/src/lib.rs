//! The one maker of HTTP clients: the certificates they trust, their timeouts and proxies, and what TLS refuses, in
//! words that a person can act upon.
//!
//! What goes to a provider and what a tool sends differ in what is asked. That nothing is sent twice, that no redirect is
//! followed unseen, and that `http:` costs no look at the certificates of the system holds for both, and is decided here.

#![warn(missing_docs)]

mod address;
mod client;
mod loopback;
mod pooled_client;
mod route;
mod tls_refusal;

pub use address::{Address, Reach};
pub use client::{IDLE_TIMEOUT, Proxy, builder, encrypted, for_scheme, plain};
pub use loopback::is_loopback;
pub use pooled_client::{PooledClient, SendError, timed_out};
pub use tls_refusal::tls_refusal;
