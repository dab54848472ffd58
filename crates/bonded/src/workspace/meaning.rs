//! Search by meaning: the embedding model of a data directory, and the task that shows it the notes.
//!
//! Both are optional: without a model notes are found by their words alone.

use std::sync::Arc;

use bonded_host::CancellationToken;
use bonded_host::config::Environment;
use bonded_workspace::config::SearchSection;
use bonded_workspace::store::WorkspaceStore;
use bonded_workspace::{Embedder, Indexer};

use crate::error::{CliError, Code};
use bonded_serve::workspace::data_dir::DataDir;

/// The model that the configuration names, if it names one.
pub(super) fn embedder(
    dir: &DataDir,
    search: &SearchSection,
    variables: &Environment,
) -> Result<Option<Arc<Embedder>>, CliError> {
    let embedder = Embedder::new(search, variables).map_err(|error| {
        let file = dir.config_file();
        CliError::new(Code::Config, format!("{}: {error}", file.display()))
    })?;
    Ok(embedder.map(Arc::new))
}

/// Begins to index. Nothing is lost when it is let go of: what was not kept is shown to the model again.
pub(super) fn index(store: Arc<WorkspaceStore>, embedder: Arc<Embedder>, stop: CancellationToken) {
    let tell = Arc::new(|message: &str| tracing::warn!("embeddings: {message}"));
    let indexer = Indexer::new(store, embedder, tell);
    tokio::spawn(indexer.run(stop));
}
