//! What the server itself goes by, out of `config.json`.
//!
//! The file is read once, when a command begins; a change counts after a restart. A value that means nothing is
//! warned of, one that cannot be used refuses the start, with the key that it stands under.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderName;
use bonded_host::config::Environment;
use bonded_workspace::config::{HostSurroundings, WorkspaceConfig, data_file, environment};
use bonded_workspace::{OperatorSink, ProviderHealth, WallClock};
use bonded_workspace_rules::Workspace;

use crate::error::{CliError, Code};
use bonded_serve::workspace::data_dir::DataDir;
use bonded_serve::workspace::origins::Origins;
use bonded_serve::workspace::site::Settings;

/// Where agents are served where nobody says otherwise: on this machine only.
pub(crate) const LISTEN: &str = "127.0.0.1:8130";

/// A configuration that was read, with what in it means nothing.
#[derive(Debug)]
pub(crate) struct Configured {
    /// As the file says, with the defaults of what it leaves out.
    pub(crate) config: WorkspaceConfig,
    /// What rules are checked against: the directory, the variables and the default memory.
    pub(crate) surroundings: Arc<HostSurroundings>,
    /// The agent's prompt.
    pub(crate) prompt_file: PathBuf,
    pub(crate) warning: Option<String>,
}

impl Configured {
    /// The usual memory is that of the oldest workspace.
    pub(crate) fn is_first(&mut self, workspace: Option<&Workspace>) {
        let first = workspace.map(|it| it.workspace_id);
        let surroundings = HostSurroundings::clone(&self.surroundings);
        self.surroundings = Arc::new(surroundings.with_first(first));
    }
}

/// Neither the prompt nor the provider is looked at here: commands on notes need neither.
pub(crate) fn read(dir: &DataDir) -> Result<Configured, CliError> {
    let read = WorkspaceConfig::load(&dir.config_file()).map_err(|error| {
        CliError::new(Code::Config, error.to_string())
            .hint("correct the file, or remove it and start again: it is then made anew")
    })?;
    let surroundings = read.config.surroundings(dir.path());
    Ok(Configured {
        surroundings: Arc::new(surroundings.with_environment(variables(dir.path())?)),
        prompt_file: data_file(dir.path(), &read.config.agent.prompt_path),
        config: read.config,
        warning: warning(dir, &read.warnings),
    })
}

/// All that means nothing, in one sentence.
fn warning(dir: &DataDir, found: &[String]) -> Option<String> {
    let file = dir.config_file();
    (!found.is_empty()).then(|| format!("{}: {}", file.display(), found.join("; ")))
}

/// The variables of this process, and under them those of `.env` in the directory.
pub(crate) fn variables(dir: &Path) -> Result<Environment, CliError> {
    let process = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    environment(dir, process).map_err(|error| CliError::new(Code::Config, error.to_string()))
}

/// The provider of the agent. `tell` is told when it is not well, and when it is again.
pub(crate) fn provider(
    dir: &DataDir,
    config: &WorkspaceConfig,
    variables: Environment,
    tell: OperatorSink,
) -> Result<Arc<ProviderHealth>, CliError> {
    let health = ProviderHealth::new(config, variables, Arc::new(WallClock), tell);
    let health = health.map_err(|error| {
        let file = dir.config_file();
        CliError::new(
            Code::Config,
            format!("{}: automation: {error}", file.display()),
        )
    })?;
    Ok(Arc::new(health))
}

/// The settings that requests and sockets are answered by.
/// Megabytes and milliseconds of the file become bytes and durations here.
pub(crate) fn settings(config: &WorkspaceConfig) -> Result<Settings, CliError> {
    let (server, websocket, security) = (&config.server, &config.websocket, &config.security);
    let csrf_header = HeaderName::from_bytes(security.csrf_header.as_bytes()).map_err(|_| {
        let header = &security.csrf_header;
        CliError::new(
            Code::Config,
            format!("security.csrf_header: {header:?} is no name of a header"),
        )
    })?;
    Ok(Settings {
        request_timeout: Duration::from_millis(server.request_timeout_ms),
        body_bytes_max: (server.max_request_body_mb as usize).saturating_mul(1 << 20),
        writes_per_second_max: server.writes_per_second_max,
        secure_cookies: security.secure_cookies,
        same_site: match security.same_site.as_str() {
            "strict" => "Strict",
            _ => "Lax",
        },
        csrf_header,
        origins: Origins::read(&server.cors_allowed_origins)?,
        search_mode: config.search.default_mode.clone(),
        heartbeat: Duration::from_millis(websocket.heartbeat_interval_ms),
        client_timeout: Duration::from_millis(websocket.client_timeout_ms),
        replay_batch: websocket.replay_batch_size as usize,
    })
}
