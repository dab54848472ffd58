//! A data directory that is ready to be served: what is there is checked, and who owns it is made.
//!
//! Everything that can be refused comes first: prompt, settings, models. Then the store is opened, and the owner made
//! where there is none. Only then is anything served.

use std::sync::Arc;

use bonded_host::CancellationToken;
use bonded_state::Store;
use bonded_workspace::store::WorkspaceStore;
use bonded_workspace::{Embedder, ProviderHealth};

use super::configured::{Configured, OpenError};
use super::data_dir::{DataDir, DataDirError};
use super::meaning;
use super::site::{Settings, Site, SiteStores};

/// Everything that was checked, until it is served. Nothing of it works yet: no rule fires and no note is indexed.
#[derive(Debug)]
pub struct OpenWorkspace {
    pub dir: DataDir,
    pub configured: Configured,
    pub(super) store: Arc<WorkspaceStore>,
    /// What requests and sockets are answered by.
    settings: Settings,
    embedder: Option<Arc<Embedder>>,
    provider: Arc<ProviderHealth>,
}

impl OpenWorkspace {
    /// Opens a directory that was made, and says where the owner's token is when it is new.
    pub async fn open(dir: DataDir, mut configured: Configured) -> Result<Self, OpenError> {
        let odd = dir.check_prompt(&configured.prompt_file)?;
        for warning in configured.warning.iter().chain(&odd) {
            tracing::warn!("warning: {warning}");
        }
        let settings = configured.settings()?;
        let embedder = meaning::embedder(&configured)?;
        let tell = Arc::new(|message: &str| tracing::warn!("provider: {message}"));
        let provider = configured.provider(tell)?;
        let store = dir.open_store()?;
        if let Some(token) = dir.set_up(&store).await? {
            let message = format!("the owner's token is in {}", token.display());
            tracing::info!("{message}");
        }
        dir.remove_unnamed_attachments(&store).await?;
        let workspaces = store.all_workspaces().await.map_err(DataDirError::Store)?;
        configured.is_first(workspaces.first());
        Ok(Self {
            dir,
            configured,
            store,
            settings,
            embedder,
            provider,
        })
    }

    /// What requests share. From now on notes are indexed, if they are to be found by meaning, and the agent's provider
    /// is looked at.
    /// Nobody waits for either: a provider that is down keeps no server from starting.
    pub(super) fn site(self, log: Arc<dyn Store>, stop: CancellationToken) -> Arc<Site> {
        let described = self.configured.described();
        let surroundings = self.configured.surroundings;
        if let Some(embedder) = &self.embedder {
            meaning::index(self.store.clone(), embedder.clone(), stop.clone());
        }
        // The first look; nobody waits for it.
        self.provider.last();
        let (embedder, provider) = (self.embedder, self.provider);
        let stores = SiteStores {
            workspace: self.store,
            runs: log,
        };
        Site::new(
            self.dir,
            stores,
            (self.settings, described),
            surroundings,
            embedder,
            provider,
            stop,
        )
    }
}
