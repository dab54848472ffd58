//! Tools of MCP servers: programs that this process starts and talks to.
//!
//! [`McpServers`] is the pool: it starts each server at most once, gives its tools, and ends it. A server
//! that dies is started again by the next call. How a server is reached lies behind [`link::Link`]; today
//! that is a child process with JSON-RPC lines on its stdin and stdout.
//!
//! A server is hostile until it has shown otherwise: what it prints is bounded in memory, what it never
//! answers is bounded in time, and of our environment it sees a handful of variables and what it is given.

mod backoff;
mod child;
mod content;
mod environment;
mod error;
mod frame;
mod link;
mod listing;
mod name;
mod pool;
mod settings;
mod stdio;
mod tool;
mod upkeep;
mod witness;

pub use environment::Lookup;
pub use error::McpError;
pub(crate) use name::shown_name;
pub use pool::{McpServers, McpTools};
pub use settings::{McpServer, McpTransport, StdioCommand};
