//! Tools of MCP servers: programs that this process starts, and others that it reaches over the network.
//!
//! [`McpServers`] is the pool: it starts each server at most once, gives its tools, and ends it. A server
//! that dies is started again by the next call. How a server is reached lies behind `link::Link`: a child
//! process with JSON-RPC lines on its stdin and stdout, streamable HTTP, the older stream of events, or a web socket.
//!
//! What a tool is when a run begins is what the run calls: one that its server changes later is not called.
//!
//! A server is hostile until it has shown otherwise: what it prints is bounded in memory, what it never
//! answers is bounded in time, and of our environment it sees a handful of variables and what it is given.

mod asking;
mod backoff;
mod carrier;
mod child;
mod content;
mod environment;
mod error;
mod frame;
mod http;
mod link;
mod listing;
mod news;
mod ourselves;
mod pin;
mod pool;
mod settings;
mod stdio;
mod tool;
mod upkeep;
mod witness;

pub use error::McpError;
pub use http::{
    Grant, IdentityProvider, LoggedIn, Oauth, OauthError, OauthSettings, ProviderPlace, Subject,
    SubjectKind, check_socket_url, check_url, login, logout,
};
pub use news::{McpNews, OnNews};
pub use pool::{McpServers, McpTools};
pub use settings::{HealthProbe, HttpEndpoint, McpServer, McpTransport, StdioCommand};
