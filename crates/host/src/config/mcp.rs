//! The MCP servers of the configuration.
//!
//! An entry is read when it is used, with its variables put in. What holds secrets is learnt there, so
//! that it is hidden from then on, and is held against whose word the address is.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;

use bonded_kernel::{Measure, SandboxLevel};
use bonded_tools::DEFAULT_QUEUE;
use bonded_tools::mcp::{OauthSettings, check_socket_url, check_url};

use super::entry::ConfigEntry;
use super::oauth::{OAUTH_ADDRESSES, OAUTH_SECRETS, oauth_secrets};
use super::{Config, ConfigError, Problems, Secret};

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that is started and spoken to through its pipes.
    Stdio {
        program: String,
        args: Vec<String>,
        /// `env` as written, and `secretEnv` with its variables put in.
        env: BTreeMap<String, Secret>,
        cwd: Option<String>,
    },
    /// Streamable HTTP at an address.
    Http(McpEndpoint),
    /// Server-sent events, which older servers speak.
    Sse(McpEndpoint),
    /// A web socket; there are no logins for it.
    Websocket(McpEndpoint),
}

/// A server that is asked over the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpEndpoint {
    /// Checked to be one that a request can be sent to.
    pub url: String,
    /// `headers` as written, and `secretHeaders` with their variables put in.
    pub headers: BTreeMap<String, Secret>,
    /// How tokens are had, where the configuration says something about it.
    pub oauth: Option<OauthSettings>,
}

impl McpEndpoint {
    /// Whether a token is given by hand.
    pub fn has_authorization(&self) -> bool {
        let mut names = self.headers.keys();
        names.any(|name| name.eq_ignore_ascii_case("authorization"))
    }
}

/// How one finds out whether a server still lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthProbe {
    /// The protocol's own ping.
    Ping,
    /// The tools are listed, instead of a ping.
    ListTools,
}

/// The words of `healthProbe`.
pub(super) const PROBES: [(&str, HealthProbe); 2] = [
    ("ping", HealthProbe::Ping),
    ("listTools", HealthProbe::ListTools),
];

/// A server as the configuration has it, with all variables put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Letters, digits, `-` and `_`: it becomes part of its tools' names.
    pub name: String,
    /// Where it is, or how it is started.
    pub transport: McpTransport,
    /// Unless it is said, `true`.
    pub enabled: bool,
    /// Names without regard to case; `*` and `any` mean all. Empty means that nothing was said.
    pub tools_allowed: Vec<String>,
    /// Names without regard to case; they count more than those that are allowed.
    pub tools_denied: Vec<String>,
    /// The queue that its calls wait in; the default one where nothing is said.
    pub queue: String,
    /// One client for all runs of the process.
    pub shared: bool,
    /// `None` if the configuration does not say.
    pub health_probe: Option<HealthProbe>,
    /// Milliseconds; `None` leaves the client's own.
    pub request_timeout_ms: Option<u64>,
    /// Whether a run must not start without it; `None` if the configuration does not say.
    pub required: Option<bool>,
    /// How far a stdio server may reach, where it is not as far as the run's commands.
    pub sandbox: Option<SandboxLevel>,
    /// Whether a stdio server reaches the network; `None` if it is as the run's commands are.
    pub sandbox_network: Option<bool>,
}

/// What decides who gets the secrets of a server that is started.
const STARTED: [&str; 5] = ["type", "command", "args", "cwd", "env"];

/// The words of `type`, before the address has been looked at.
#[derive(Clone, Copy)]
pub(super) enum TransportKind {
    Stdio,
    Http,
    Sse,
    Websocket,
    /// Http or, by its URL, Sse.
    Remote,
}

pub(super) const KINDS: [(&str, TransportKind); 6] = [
    ("stdio", TransportKind::Stdio),
    ("http", TransportKind::Http),
    ("sse", TransportKind::Sse),
    ("websocket", TransportKind::Websocket),
    ("local", TransportKind::Stdio),
    ("remote", TransportKind::Remote),
];

impl Config {
    /// A server with its variables put in; `None` if the configuration does not have it.
    pub fn mcp_server(&self, name: &str) -> Result<Option<McpServer>, Problems> {
        let mut problems = Vec::new();
        let server = self
            .entry(&["mcpServers", name], &mut problems)
            .and_then(|entry| self.server(name, &entry, &mut problems));
        Problems::none_of(problems)?;
        Ok(server)
    }

    /// Also those that are switched off, or that cannot be read.
    pub fn mcp_server_names(&self) -> Vec<&str> {
        self.names("mcpServers")
    }

    /// Every mistake of the entry is told, also where the transport is unusable and there is no server
    /// in the end.
    fn server(
        &self,
        name: &str,
        entry: &ConfigEntry<'_>,
        problems: &mut Vec<ConfigError>,
    ) -> Option<McpServer> {
        let transport = self.transport(entry, problems);
        problems.extend(self.misdirected(&entry.path, &["secretEnv"], &STARTED));
        let sent = ["headers", "secretHeaders"];
        problems.extend(self.misdirected(&entry.path, &sent, &["url", "type"]));
        problems.extend(self.misdirected(&entry.path, &OAUTH_SECRETS, &OAUTH_ADDRESSES));
        for field in ["secretEnv", "secretHeaders"] {
            for (name, value) in entry.secrets(field) {
                self.environment.secrets().learn_key(&name, value.expose());
            }
        }
        for (name, value) in oauth_secrets(entry) {
            self.environment.secrets().learn_key(name, &value);
        }
        let health_probe = entry.word("healthProbe", &PROBES, problems);
        let levels = SandboxLevel::ALL.map(|level| (level.as_str(), level));
        let sandbox = entry.word("sandbox", &levels, problems);
        let queue = self.queue_of(entry, problems);
        Some(McpServer {
            name: name.into(),
            transport: transport?,
            enabled: entry.flag("enabled").unwrap_or(true),
            tools_allowed: entry.texts("toolsAllowed"),
            tools_denied: entry.texts("toolsDenied"),
            queue,
            shared: entry.flag("shared").unwrap_or(true),
            health_probe,
            request_timeout_ms: entry.measured("requestTimeoutMs", Measure::Ms),
            required: entry.flag("required"),
            sandbox,
            sandbox_network: entry.flag("sandboxNetwork"),
        })
    }

    /// The queue that an entry is bound to.
    pub(super) fn queue_of(
        &self,
        entry: &ConfigEntry<'_>,
        problems: &mut Vec<ConfigError>,
    ) -> String {
        let Some(queue) = entry.text("queue") else {
            return DEFAULT_QUEUE.into();
        };
        let path = entry.path.child("queue");
        problems.extend(self.unknown_queue(&queue, path, entry.file("queue")));
        queue
    }
}

impl Config {
    /// Without a `type` a command means stdio, a socket address a web socket, and any other address
    /// HTTP, or SSE where its path says so.
    fn transport(
        &self,
        entry: &ConfigEntry<'_>,
        problems: &mut Vec<ConfigError>,
    ) -> Option<McpTransport> {
        let url = entry.text("url");
        let written = match entry.text("type") {
            Some(_) => Some(entry.word("type", &KINDS, problems)?),
            None => None,
        };
        let has_command = !entry.texts("command").is_empty();
        let kind = match (written, &url) {
            (Some(kind), _) => kind,
            (None, _) if has_command => TransportKind::Stdio,
            (None, Some(url)) if url.starts_with("ws://") || url.starts_with("wss://") => {
                TransportKind::Websocket
            }
            (None, Some(_)) => TransportKind::Remote,
            (None, None) => {
                let why = "it needs a command or a url".into();
                problems.extend(entry.lacking(&["command", "url"], why));
                return None;
            }
        };
        if let TransportKind::Stdio = kind {
            return stdio(entry, problems);
        }
        let Some(url) = url.filter(|url| !url.is_empty()) else {
            problems.extend(entry.lacking(&["url", "type"], "it needs a url".into()));
            return None;
        };
        let is_sse = url.contains("/sse");
        let headers = with_secrets(entry, "headers", "secretHeaders", problems);
        let oauth = self.oauth(entry, problems);
        let endpoint = McpEndpoint {
            url,
            headers,
            oauth,
        };
        if endpoint.oauth.is_some() && endpoint.has_authorization() {
            let why = "it has an Authorization header and `oauth`; remove one of them";
            problems.push(entry.unusable(why));
        }
        let (checked, such_as) = match kind {
            TransportKind::Websocket => (check_socket_url(&endpoint.url), "wss://HOST/PATH"),
            TransportKind::Stdio
            | TransportKind::Http
            | TransportKind::Sse
            | TransportKind::Remote => (check_url(&endpoint.url), "https://HOST/PATH"),
        };
        problems.extend(bad_url(entry, checked, such_as));
        Some(match kind {
            TransportKind::Websocket => {
                if endpoint.oauth.is_some() {
                    let why = "`oauth` does not work over a web socket; put a token in its `secretHeaders`";
                    problems.push(entry.unusable(why));
                }
                McpTransport::Websocket(endpoint)
            }
            TransportKind::Sse => McpTransport::Sse(endpoint),
            TransportKind::Remote if is_sse => McpTransport::Sse(endpoint),
            TransportKind::Http | TransportKind::Remote | TransportKind::Stdio => {
                McpTransport::Http(endpoint)
            }
        })
    }
}

/// An address that no request can be sent to is found before anything starts.
fn bad_url(
    entry: &ConfigEntry<'_>,
    checked: Result<(), String>,
    such_as: &str,
) -> Option<ConfigError> {
    let why = checked.err()?;
    Some(ConfigError::Unusable {
        file: entry.file("url"),
        key_path: entry.path.child("url"),
        message: format!("{why}; write an address such as {such_as}"),
    })
}

/// A command is a program, or a list of a program and its first arguments.
fn stdio(entry: &ConfigEntry<'_>, problems: &mut Vec<ConfigError>) -> Option<McpTransport> {
    let mut command = entry.texts("command").into_iter();
    let Some(program) = command.next().filter(|program| !program.is_empty()) else {
        problems.extend(entry.lacking(&["command"], "it needs a command".into()));
        return None;
    };
    Some(McpTransport::Stdio {
        program,
        args: command.chain(entry.texts("args")).collect(),
        env: with_secrets(entry, "env", "secretEnv", problems),
        cwd: entry.text("cwd"),
    })
}

/// What is handed on as it is written, together with what holds secrets. A name is said once.
fn with_secrets(
    entry: &ConfigEntry<'_>,
    plain: &str,
    secret: &str,
    problems: &mut Vec<ConfigError>,
) -> BTreeMap<String, Secret> {
    let mut all = entry.secrets(plain);
    for (name, value) in entry.secrets(secret) {
        if all.insert(name.clone(), value).is_some() {
            let why =
                format!("{name} is in `{plain}` and in `{secret}`; remove it from one of them");
            problems.push(entry.unusable(why));
        }
    }
    all
}
