//! What a person says about a server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::McpError;
use super::http::Oauth;
use crate::sandbox::Sandbox;

/// A server and which of its tools may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Letters, digits, `_` and `-`. The names of its tools begin with it.
    pub name: String,
    /// Where and how it is reached.
    pub transport: McpTransport,
    /// Names as the server gives them, in any case; `*` or `any` is all of them.
    pub tools_allowed: Vec<String>,
    /// As `tools_allowed`; what is named in both is denied.
    pub tools_denied: Vec<String>,
    /// How long the server may take until its tools are known.
    pub start_timeout_ms: u64,
    /// How long any one call may take at most. The call's own timeout counts too.
    pub request_timeout_ms: Option<u64>,
    /// Whether nothing works without it. A server that is not required is left out with a warning.
    pub required: bool,
    /// The queue that its calls wait in; without one, the default queue.
    pub queue: Option<String>,
    /// Whether all runs use it together; otherwise each has one of its own, which ends with its tools.
    pub shared: bool,
    /// What is sent to find out.
    pub health_probe: HealthProbe,
    /// Whether forms that the server asks to be filled in are answered with their own defaults; otherwise
    /// they are declined, because nobody is there to read them.
    pub takes_form_defaults: bool,
}

/// How one finds out whether a server still lives, once a call was given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HealthProbe {
    /// The message of the protocol that is for this.
    #[default]
    Ping,
    /// For servers that do not answer a ping.
    ListTools,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A process of ours, which ends with the pool.
    Stdio(StdioCommand),
    /// Streamable HTTP.
    Http(HttpEndpoint),
    /// The older transport: a stream of events, which says where messages are posted to.
    Sse(HttpEndpoint),
    /// A web socket, at a `ws:` or `wss:` address.
    Websocket(HttpEndpoint),
}

impl McpTransport {
    /// Where a server is that others have started.
    pub fn endpoint(&self) -> Option<&HttpEndpoint> {
        match self {
            Self::Stdio(_) => None,
            Self::Http(endpoint) | Self::Sse(endpoint) | Self::Websocket(endpoint) => {
                Some(endpoint)
            }
        }
    }
}

/// Where a server is that others have started.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HttpEndpoint {
    /// May hold a key, and is not shown.
    pub url: String,
    /// Sent with every request, as they are.
    pub headers: BTreeMap<String, String>,
    /// How tokens are had. Without it a server that demands one is refused.
    pub oauth: Option<Arc<Oauth>>,
}

/// The command that is a server.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StdioCommand {
    /// A path, or a name that is looked for in PATH.
    pub command: String,
    /// May hold secrets, and are not shown.
    pub args: Vec<String>,
    /// What the server sees besides the few variables that every program needs, as it is.
    pub env: BTreeMap<String, String>,
    /// Without one, the directory of this process.
    pub cwd: Option<PathBuf>,
    /// Without one the server does what the user may do.
    pub sandbox: Option<Arc<Sandbox>>,
}

impl McpServer {
    /// A server with all of its tools and the usual limits.
    pub fn stdio(name: &str, command: StdioCommand) -> Self {
        Self::new(name, McpTransport::Stdio(command))
    }

    /// A server at an address, with all of its tools and the usual limits.
    pub fn http(name: &str, endpoint: HttpEndpoint) -> Self {
        Self::new(name, McpTransport::Http(endpoint))
    }

    /// All of its tools, 30 seconds to start, required, shared by all runs, in the default queue.
    pub fn new(name: &str, transport: McpTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            tools_allowed: vec!["*".into()],
            tools_denied: vec![],
            start_timeout_ms: 30_000,
            request_timeout_ms: None,
            required: true,
            queue: None,
            shared: true,
            health_probe: HealthProbe::Ping,
            takes_form_defaults: false,
        }
    }

    pub(super) fn check(&self) -> Result<(), McpError> {
        let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if self.name.is_empty() || !self.name.bytes().all(usable) {
            let name = self.name.clone();
            return Err(McpError::BadName { name });
        }
        Ok(())
    }

    pub(super) fn lets_through(&self, tool: &str) -> bool {
        names(&self.tools_allowed, tool) && !names(&self.tools_denied, tool)
    }

    pub(super) fn sandbox(&self) -> Option<&Arc<Sandbox>> {
        match &self.transport {
            McpTransport::Stdio(stdio) => stdio.sandbox.as_ref(),
            McpTransport::Http(_) | McpTransport::Sse(_) | McpTransport::Websocket(_) => None,
        }
    }

    /// What a person knows it by.
    pub(super) fn address(&self) -> &str {
        match &self.transport {
            McpTransport::Stdio(stdio) => &stdio.command,
            McpTransport::Http(endpoint)
            | McpTransport::Sse(endpoint)
            | McpTransport::Websocket(endpoint) => endpoint.shown_url(),
        }
    }
}

impl HttpEndpoint {
    /// The address without what may be a secret: all that follows the path, and a password before the host.
    fn shown_url(&self) -> &str {
        let end = self.url.find(['?', '#']).unwrap_or(self.url.len());
        let url = &self.url[..end];
        let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
        let authority = authority.split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return "an address with a password";
        }
        url
    }
}

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEndpoint")
            .field("url", &self.shown_url())
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("oauth", &self.oauth)
            .finish()
    }
}

pub(super) fn is_all(pattern: &str) -> bool {
    pattern == "*" || pattern.eq_ignore_ascii_case("any")
}

fn names(patterns: &[String], tool: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| is_all(pattern) || pattern.to_lowercase() == tool.to_lowercase())
}

/// Arguments and values may hold secrets, so that only names are shown.
impl fmt::Debug for StdioCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioCommand")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_letters_digits_underscores_and_dashes() {
        for (name, usable) in [
            ("a", true),
            ("GitHub-2_x", true),
            ("", false),
            ("a b", false),
            ("a.b", false),
            ("ä", false),
        ] {
            let server = McpServer::stdio(name, StdioCommand::default());
            assert_eq!(server.check().is_ok(), usable, "{name:?}");
        }
    }

    #[test]
    fn a_tool_is_let_through_when_it_is_allowed_and_not_denied() {
        for (allowed, denied, tool, through) in [
            (&["*"][..], &[][..], "read", true),
            (&["Any"], &[], "read", true),
            (&["READ"], &[], "read", true),
            (&["rea"], &[], "read", false),
            (&["read*"], &[], "reader", false),
            (&[], &[], "read", false),
            (&["*"], &["Read"], "rEAD", false),
            (&["read"], &["*"], "read", false),
            (&["read"], &["any"], "read", false),
            (&["*"], &["write"], "read", true),
        ] {
            let mut server = McpServer::stdio("s", StdioCommand::default());
            server.tools_allowed = allowed.iter().map(|name| (*name).into()).collect();
            server.tools_denied = denied.iter().map(|name| (*name).into()).collect();
            let case = format!("{tool} of {allowed:?} without {denied:?}");
            assert_eq!(server.lets_through(tool), through, "{case}");
        }
    }

    #[test]
    fn no_argument_and_no_value_is_shown() {
        let command = StdioCommand {
            command: "npx".into(),
            args: vec!["--key=hunter2".into()],
            env: BTreeMap::from([("KEY".into(), "hunter2".into())]),
            ..StdioCommand::default()
        };
        let shown = format!("{:?}", McpServer::stdio("s", command));
        assert!(shown.contains("KEY") && shown.contains("npx"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
        for url in ["https://a:hunter2@h/mcp", "https://h/mcp?key=hunter2"] {
            let url = url.into();
            let headers = BTreeMap::from([("Authorization".into(), "hunter2".into())]);
            let oauth = None;
            let server = McpServer::http(
                "s",
                HttpEndpoint {
                    url,
                    headers,
                    oauth,
                },
            );
            let shown = format!("{server:?} {}", server.address());
            assert!(shown.contains("Authorization"), "{shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}
