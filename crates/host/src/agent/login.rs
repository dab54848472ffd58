//! Logins to servers: who has them, who makes them and who ends them.
//!
//! A login belongs to a server with a URL and without an `Authorization` header of its own. What is
//! learnt while logging in goes into the secrets at once, so that a token is masked from the first
//! moment on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_tools::mcp::{self, HttpEndpoint, LoggedIn, McpTransport, Oauth};

use super::AgentError;
use super::tools::settings;
use crate::config::{Config, Environment, McpServer, McpTransport as Reached};
use crate::secrets::Secrets;

/// Where tokens are kept, and who must know them so that nobody sees them.
///
/// Without a directory tokens live only as long as the process.
#[derive(Debug)]
pub(super) struct Tokens {
    dir: Option<PathBuf>,
    secrets: Arc<Secrets>,
}

impl Tokens {
    pub(super) fn new(dir: Option<PathBuf>, environment: &Environment) -> Self {
        let secrets = environment.secrets().clone();
        Self { dir, secrets }
    }

    /// How tokens of a server are had. One whose token is given by hand gets no other. `files` are the
    /// configuration that names the server.
    ///
    /// A server that is started as a command or reached through a web socket has none.
    pub(super) fn oauth(&self, files: &[String], server: &McpServer) -> Option<Oauth> {
        let (Reached::Http(endpoint) | Reached::Sse(endpoint)) = &server.transport else {
            return None;
        };
        if endpoint.has_authorization() {
            return None;
        }
        let oauth = Oauth::new(endpoint.oauth.clone().unwrap_or_default());
        let oauth = match &self.dir {
            Some(dir) => oauth.keeping(dir.clone()),
            None => oauth,
        };
        let secrets = Arc::clone(&self.secrets);
        let (files, server) = (files.to_vec(), server.name.clone());
        Some(oauth.learning(move |name, value| secrets.learn_given(&files, &server, name, value)))
    }
}

/// A server of the configuration to log in to, or out of.
///
/// Both ends take it by value: a place is used for one login or one logout.
#[derive(Debug)]
pub struct LoginPlace {
    name: String,
    endpoint: HttpEndpoint,
    oauth: Oauth,
}

impl LoginPlace {
    /// `token_dir` is where runs look for logins; `scopes`, if there are any, are asked for instead of those
    /// of the configuration.
    ///
    /// A server that is switched off is an error as well, and the names of all servers are told with
    /// one that cannot be logged in to.
    pub fn find(
        config: &Config,
        environment: &Environment,
        name: &str,
        token_dir: &Path,
        scopes: &[String],
    ) -> Result<Self, AgentError> {
        let tokens = Tokens::new(Some(token_dir.to_owned()), environment);
        let mut server = config.mcp_server(name)?;
        if let Some(McpServer {
            transport: Reached::Http(endpoint) | Reached::Sse(endpoint),
            ..
        }) = &mut server
            && !scopes.is_empty()
        {
            let oauth = endpoint.oauth.get_or_insert_default();
            oauth.scopes = scopes.to_vec();
        }
        if let Some(server) = server
            && let Some(oauth) = tokens.oauth(&[], &server)
            && let McpTransport::Http(endpoint) | McpTransport::Sse(endpoint) =
                settings(server, None)?.transport
        {
            let name = name.into();
            return Ok(Self {
                name,
                endpoint,
                oauth,
            });
        }
        Err(AgentError::NoLogin {
            name: name.into(),
            servers: config.mcp_server_names().join(", "),
        })
    }

    /// Logs in. A person is told where to go, and has ten minutes.
    ///
    /// `visit` is given the address that the person must open.
    pub async fn login(
        self,
        visit: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<LoggedIn, AgentError> {
        let endpoint = HttpEndpoint {
            oauth: Some(Arc::new(self.oauth.attended(visit))),
            ..self.endpoint
        };
        Ok(mcp::login(&self.name, &endpoint).await?)
    }

    /// Forgets the login. Whether there was one.
    pub async fn logout(self) -> Result<bool, AgentError> {
        let endpoint = HttpEndpoint {
            oauth: Some(Arc::new(self.oauth)),
            ..self.endpoint
        };
        Ok(mcp::logout(&self.name, &endpoint).await?)
    }
}
