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
    /// The names of tools begin with it, and services take few characters in those.
    #[error("the name {name:?} of an MCP server cannot be used; use letters, digits, '_' and '-'")]
    BadName {
        /// As the configuration has it.
        name: String,
    },
    /// A pool has one server of a name, for all runs.
    #[error(
        "the MCP server {server:?} is already running with other settings; give this one another name"
    )]
    OtherSettings {
        /// Its name in the configuration.
        server: String,
    },
    /// Found before anything is sent.
    #[error(
        "the MCP server {server:?} has an address that cannot be used: {why}; correct its `url`"
    )]
    BadUrl {
        /// Its name in the configuration.
        server: String,
        /// Without the address, which may hold a key.
        why: String,
    },
    /// Found before anything is sent.
    #[error("the MCP server {server:?} cannot be sent the header {header:?}: {why}; correct it")]
    BadHeader {
        /// Its name in the configuration.
        server: String,

        /// Its name; a value may be a secret.
        header: String,

        /// As the end of a sentence.
        why: &'static str,
    },
    /// There is no process.
    #[error("the MCP server {server:?} cannot be started: {command:?}: {why}; {hint}")]
    Spawn {
        /// Its name in the configuration.
        server: String,

        /// The program alone: arguments may hold secrets.
        command: String,

        /// The answer of the system.
        why: String,

        /// What a person can do.
        hint: &'static str,
    },
    /// It was reached, and did not greet as a server should, or not in time.
    #[error("the MCP server {server:?} ({command}) {why}; {hint}")]
    Start {
        /// Its name in the configuration.
        server: String,

        /// The program, or the address of a server that others started.
        command: String,

        /// With what the server wrote on stderr, where it wrote something.
        why: String,

        /// What a person can do.
        hint: String,
    },
    /// A model could not tell them apart.
    #[error(
        "two MCP tools, {first} and {second}, would both be named {name:?}; deny one of them in \
         `toolsDenied`, or give a server another name"
    )]
    SameName {
        /// The name that a model would see.
        name: String,

        /// Server and tool, as the configuration and the server name them.
        first: String,

        /// The same of the other.
        second: String,
    },
    /// The settings of a server name a queue that nobody set up.
    #[error("the MCP server {server:?} is bound to a queue that does not exist: {source}")]
    Queue {
        /// Its name in the configuration.
        server: String,
        /// Which, and what there is.
        source: QueueError,
    },
    /// A login that a person began came to nothing.
    #[error("cannot log in to the MCP server {server:?}: {source}")]
    Login {
        /// Its name in the configuration.
        server: String,

        /// At which step.
        source: Box<OauthError>,
    },
    /// The pool has ended all of its servers, and starts none again.
    #[error("the MCP servers were stopped")]
    Stopped,
}
