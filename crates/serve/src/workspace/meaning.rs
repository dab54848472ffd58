//! Search by meaning: the embedding model of a data directory, and the task that shows it the notes.
//!
//! Both are optional: without a model notes are found by their words alone.

use std::sync::Arc;

use bonded_host::CancellationToken;
use bonded_workspace::store::WorkspaceStore;
use bonded_workspace::{Embedder, Indexer};

use super::configured::{Configured, OpenError};

/// The model that the configuration names, if it names one.
pub(super) fn embedder(configured: &Configured) -> Result<Option<Arc<Embedder>>, OpenError> {
    let embedder = Embedder::new(&configured.config.search, &configured.variables);
    let embedder = embedder.map_err(|error| configured.wrong(&error.to_string()))?;
    Ok(embedder.map(Arc::new))
}

/// Begins to index. Nothing is lost when it is let go of: what was not kept is shown to the model again.
pub(super) fn index(store: Arc<WorkspaceStore>, embedder: Arc<Embedder>, stop: CancellationToken) {
    let tell = Arc::new(|message: &str| tracing::warn!("embeddings: {message}"));
    let indexer = Indexer::new(store, embedder, tell);
    tokio::spawn(indexer.run(stop));
}
