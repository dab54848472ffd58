//! What `bonded` serves: agents as models of an OpenAI-compatible server and as tools of MCP clients, and the workspace.
//!
//! It knows who asks, how things are said and how they are shown. It decides nothing: a request becomes a goal or a
//! change, and the kernel and the rules decide. It reads no arguments, prints nothing and ends no process.

pub mod agents;
pub mod mcp;
pub mod workspace;
