//! What a worker has of a workspace: its notes and the keys of its directory, for runs of its rules that work in loops.
//!
//! Nothing is made in the directory, nothing is served, and no rule fires.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_host::Host;
use bonded_host::agent::{AgentTools, Workplace};
use bonded_host::trust::Stance;
use bonded_serve::workspace::configured::Configured;
use bonded_serve::workspace::serving;
use bonded_state::Store;
use bonded_workspace::store::WorkspaceStore;

use crate::agents::{self, Verbosity};
use crate::error::CliError;
use crate::workspace::place;

pub(crate) struct WorkerNotes {
    configured: Configured,
    store: Arc<WorkspaceStore>,
    /// Where the runs of its rules are kept.
    runs: PathBuf,
}

impl WorkerNotes {
    /// Opens a directory that must be there already.
    pub(crate) fn open(data: &Path) -> Result<Self, CliError> {
        let dir = place::open(data)?;
        let configured = Configured::read(&dir, agents::variables())?;
        agents::hide_data(dir.path());
        Ok(Self {
            configured,
            store: dir.open_store()?,
            runs: dir.runs_file(),
        })
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.runs.clone()
    }

    /// As the runs of its rules name it.
    pub(crate) fn dir(&self) -> &Path {
        self.configured.surroundings.data_dir()
    }

    /// Drives runs of every kind, with the keys that the directory has.
    pub(crate) fn host(&self, runs: Arc<dyn Store>) -> (Host, Arc<AgentTools>) {
        let place = Workplace {
            environment: self.configured.variables.clone(),
            ..agents::bare_workplace(Stance::Refuse)
        };
        let (host, tools) = agents::unsealed_host(runs, place, Verbosity::default(), vec![]);
        let host = serving::with_notes(host, self.store.clone(), tools.clone());
        (host, tools)
    }
}
