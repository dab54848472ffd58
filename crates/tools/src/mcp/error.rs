//! Why a server's tools cannot be had, in words that a person can act upon; and the codes of failed calls.

use super::http::OauthError;
use crate::queue::QueueError;

/// The server reported that the call failed.
pub(super) const TOOL_FAILED: &str = "mcp_tool_failed";
/// The server refused the request.
pub(super) const REQUEST_REFUSED: &str = "mcp_request_refused";
/// The server ended, or spoke nonsense, while the call was under way. Its outcome is unknown.
pub(super) const SERVER_ENDED: &str = "mcp_server_ended";
/// The server is down, and could not be started again.
pub(super) const RESTART_FAILED: &str = "mcp_restart_failed";
/// The server is being started again.
pub(super) const RESTART_IN_PROGRESS: &str = "mcp_restart_in_progress";
/// The server cannot be reached. Nothing was executed.
pub(super) const UNREACHABLE: &str = "mcp_unreachable";
/// The servers were stopped for good.
pub(super) const STOPPED: &str = "mcp_stopped";

/// Why a server's tools cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("the name {name:?} of an MCP server is not usable; take letters, digits, '_' and '-'")]
    BadName { name: String },
    #[error(
        "the MCP server {server:?} runs already with other settings; give this one another name"
    )]
    OtherSettings { server: String },
    #[error(
        "the MCP server {server:?} has an address that cannot be used: {why}; correct its `url`"
    )]
    BadUrl { server: String, why: String },
    #[error("the MCP server {server:?} cannot be sent the header {header:?}: {why}; correct it")]
    BadHeader {
        server: String,
        header: String,
        why: &'static str,
    },
    #[error("the MCP server {server:?} cannot be started: {command:?}: {why}; {hint}")]
    Spawn {
        server: String,
        command: String,
        why: String,
        hint: &'static str,
    },
    #[error("the MCP server {server:?} ({command}) {why}; {hint}")]
    Start {
        server: String,
        command: String,
        why: String,
        hint: String,
    },
    #[error(
        "two MCP tools, {first} and {second}, would both be named {name:?}; deny one of them in \
         `toolsDenied`, or give a server another name"
    )]
    SameName {
        name: String,
        first: String,
        second: String,
    },
    #[error("the MCP server {server:?} is bound to a queue that does not exist: {source}")]
    Queue { server: String, source: QueueError },
    #[error("there is no login to the MCP server {server:?}: {source}")]
    Login {
        server: String,
        source: Box<OauthError>,
    },
    #[error("the MCP servers were stopped")]
    Stopped,
}
