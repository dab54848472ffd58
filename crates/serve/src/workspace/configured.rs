//! What the server itself goes by, out of `config.json`.
//!
//! The file is read once, when a command begins; a change counts after a restart. A value that means nothing is
//! warned of, one that cannot be used refuses the start, with the key that it stands under.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderName;
use bonded_host::config::Environment;
use bonded_workspace::config::{
    DescribedSetting, HostSurroundings, WorkspaceConfig, WorkspaceConfigError, data_file,
    environment,
};
use bonded_workspace::{OperatorSink, ProviderHealth, WallClock};
use bonded_workspace_rules::Workspace;

use super::data_dir::{DataDir, DataDirError};
use super::origins::Origins;
use super::site::Settings;

/// Why a data directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Something is wrong with the directory itself.
    #[error(transparent)]
    Dir(#[from] DataDirError),
    /// `config.json` is no configuration.
    #[error(transparent)]
    ConfigFile(WorkspaceConfigError),
    /// A value cannot be used; the sentence says which.
    #[error("{0}")]
    Value(String),
}

/// A configuration that was read, with what in it means nothing.
#[derive(Debug)]
pub struct Configured {
    /// As the file says, with the defaults of what it leaves out.
    pub config: WorkspaceConfig,
    /// The variables of the process, and under them those of `.env` in the directory.
    pub variables: Environment,
    /// What rules are checked against: the directory, the variables and the default memory.
    pub surroundings: Arc<HostSurroundings>,
    /// The agent's prompt.
    pub prompt_file: PathBuf,
    pub(super) warning: Option<String>,
    /// For messages.
    file: PathBuf,
}

impl Configured {
    /// Neither the prompt nor the provider is looked at here: commands on notes need neither.
    pub fn read(
        dir: &DataDir,
        process: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, OpenError> {
        let file = dir.config_file();
        let read = WorkspaceConfig::load(&file).map_err(OpenError::ConfigFile)?;
        let variables = environment(dir.path(), process)
            .map_err(|error| OpenError::Value(error.to_string()))?;
        let surroundings = read.config.surroundings(dir.path());
        // All that means nothing, in one sentence.
        let warning = || format!("{}: {}", file.display(), read.warnings.join("; "));
        Ok(Self {
            surroundings: Arc::new(surroundings.with_environment(variables.clone())),
            prompt_file: data_file(dir.path(), &read.config.agent.prompt_path),
            warning: (!read.warnings.is_empty()).then(warning),
            config: read.config,
            variables,
            file,
        })
    }

    /// The usual memory is that of the oldest workspace.
    pub fn is_first(&mut self, workspace: Option<&Workspace>) {
        let first = workspace.map(|it| it.workspace_id);
        let surroundings = HostSurroundings::clone(&self.surroundings);
        self.surroundings = Arc::new(surroundings.with_first(first));
    }

    /// The provider of the agent. `tell` is told when it is not well, and when it is again.
    pub fn provider(&self, tell: OperatorSink) -> Result<Arc<ProviderHealth>, OpenError> {
        let variables = self.variables.clone();
        let health = ProviderHealth::new(&self.config, variables, Arc::new(WallClock), tell);
        let health = health.map_err(|error| self.wrong(&format!("automation: {error}")))?;
        Ok(Arc::new(health))
    }

    /// Every key, and where its value comes from.
    pub(super) fn described(&self) -> Vec<DescribedSetting> {
        self.config.described(&self.file, &self.variables)
    }

    /// Something in the file that cannot be used.
    pub(super) fn wrong(&self, what: &str) -> OpenError {
        OpenError::Value(format!("{}: {what}", self.file.display()))
    }

    /// The settings that requests and sockets are answered by.
    /// Megabytes and milliseconds of the file become bytes and durations here.
    pub(super) fn settings(&self) -> Result<Settings, OpenError> {
        let config = &self.config;
        let (server, websocket, security) = (&config.server, &config.websocket, &config.security);
        let csrf_header =
            HeaderName::from_bytes(security.csrf_header.as_bytes()).map_err(|_| {
                let header = &security.csrf_header;
                OpenError::Value(format!(
                    "security.csrf_header: {header:?} is not the name of a header"
                ))
            })?;
        let origins = Origins::read(&server.cors_allowed_origins);
        Ok(Settings {
            request_timeout: Duration::from_millis(server.request_timeout_ms),
            body_bytes_max: (server.max_request_body_mb as usize).saturating_mul(1 << 20),
            attachment_bytes_max: (server.max_attachment_mb as usize).saturating_mul(1 << 20),
            writes_per_second_max: server.writes_per_second_max,
            secure_cookies: security.secure_cookies,
            same_site: match security.same_site.as_str() {
                "strict" => "Strict",
                _ => "Lax",
            },
            csrf_header,
            origins: origins.map_err(|error| OpenError::Value(error.to_string()))?,
            search_mode: config.search.default_mode.clone(),
            heartbeat: Duration::from_millis(websocket.heartbeat_interval_ms),
            client_timeout: Duration::from_millis(websocket.client_timeout_ms),
            replay_batch: websocket.replay_batch_size as usize,
        })
    }
}
