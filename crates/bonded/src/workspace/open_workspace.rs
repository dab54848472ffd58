//! A data directory that is ready to be served: what was missing is made, what is there is checked.
//!
//! What is missing is made first. Everything that can be refused comes next: configuration, prompt, settings,
//! models. Then the store is opened, its directory hidden from all commands, and the owner made where there is
//! none. Only then is anything served.

use std::path::Path;
use std::sync::Arc;

use bonded_host::CancellationToken;
use bonded_workspace::store::WorkspaceStore;
use bonded_workspace::{Embedder, ProviderHealth};

use super::config_file::{self, Configured};
use super::meaning;
use crate::agents;
use crate::error::{CliError, store_error};
use crate::logging;
use bonded_serve::workspace::Site;
use bonded_serve::workspace::data_dir::DataDir;
use bonded_serve::workspace::site::Settings;

/// Everything that was checked, until it is served. Nothing of it works yet: no rule fires and no note is indexed.
#[derive(Debug)]
pub(crate) struct OpenWorkspace {
    pub(crate) dir: DataDir,
    pub(crate) store: Arc<WorkspaceStore>,
    pub(crate) configured: Configured,
    /// What requests and sockets are answered by.
    settings: Settings,
    embedder: Option<Arc<Embedder>>,
    provider: Arc<ProviderHealth>,
}

impl OpenWorkspace {
    /// Opens a directory, and says what it made and where the owner's token is when it is new.
    pub(crate) async fn open(path: &Path) -> Result<Self, CliError> {
        let (dir, made) = DataDir::make(path)?;
        let mut configured = config_file::read(&dir)?;
        logging::configure(&configured.config.logging);
        for line in made {
            tracing::info!("{line}");
        }
        let odd = dir.check_prompt(&configured.prompt_file)?;
        for warning in configured.warning.iter().chain(&odd) {
            tracing::warn!("warning: {warning}");
        }
        let settings = config_file::settings(&configured.config)?;
        let variables = config_file::variables(dir.path())?;
        let embedder = meaning::embedder(&dir, &configured.config.search, &variables)?;
        let tell = Arc::new(|message: &str| tracing::warn!("provider: {message}"));
        let provider = config_file::provider(&dir, &configured.config, variables, tell)?;
        let store = dir.open_store()?;
        agents::hide_data(dir.path());
        if let Some(token) = dir.set_up(&store).await? {
            let message = format!("the owner's token is in {}", token.display());
            tracing::info!("{message}");
        }
        let workspaces = store.all_workspaces().await.map_err(store_error)?;
        configured.is_first(workspaces.first());
        Ok(Self {
            dir,
            store,
            configured,
            settings,
            embedder,
            provider,
        })
    }

    /// What requests share. From now on notes are indexed, if they are to be found by meaning, and the agent's provider
    /// is looked at.
    /// Nobody waits for either: a provider that is down keeps no server from starting.
    pub(crate) fn site(self, stop: CancellationToken) -> Arc<Site> {
        let surroundings = self.configured.surroundings;
        if let Some(embedder) = &self.embedder {
            meaning::index(self.store.clone(), embedder.clone(), stop.clone());
        }
        // The first look; nobody waits for it.
        self.provider.last();
        let (embedder, provider) = (self.embedder, self.provider);
        Site::new(
            self.dir,
            self.store,
            self.settings,
            surroundings,
            embedder,
            provider,
            stop,
        )
    }
}
