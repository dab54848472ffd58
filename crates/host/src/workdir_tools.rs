//! The built-in tools of a working directory, which runs share.
//!
//! To open a directory and to try a sandbox costs something, and many runs have the same; so they are
//! opened once by all that could make them differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bonded_changes::{HoldsSecret, Recorder, Records};
use bonded_kernel::{OfferedSkill, OwnTools, RunConfig, SandboxConfig};
use bonded_tools::{Registry, Tool, ToolsError, Workdir, builtin};
use futures_util::future::BoxFuture;

use crate::confinement::Confinement;
use crate::error::HostError;
use crate::host::Toolset;
use crate::secrets::Secrets;
use crate::skills::SkillTool;

/// The built-in tools; runs that share a directory and what holds for their commands share them.
#[derive(Default)]
pub struct WorkdirTools {
    confinement: Confinement,
    recording: Option<ChangeRecording>,
    opened: Mutex<BTreeMap<ToolTerms, Arc<Registry>>>,
}

/// The directory, the kernel's own tools, what is demanded for commands, the files with secrets, which tools, whether only
/// those that read, and the skills.
type ToolTerms = (
    String,
    OwnTools,
    Option<Box<SandboxConfig>>,
    Vec<String>,
    Option<Vec<String>>,
    bool,
    Vec<OfferedSkill>,
);

impl std::fmt::Debug for WorkdirTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkdirTools")
    }
}

/// Where changes are recorded, and what must not be kept of them.
#[derive(Clone)]
pub(crate) struct ChangeRecording {
    pub(crate) records: Records,
    pub(crate) secrets: Arc<Secrets>,
}

/// The directory of a run, whose changes are recorded where there are records. A work item has none: its copy is
/// published whole or dropped. Nor has a run that reads only, which does not complete an undo of others either.
pub(crate) fn open_workdir(
    config: &RunConfig,
    recording: Option<&ChangeRecording>,
) -> Result<Workdir, ToolsError> {
    let workdir = Workdir::open(Path::new(&config.dir))?;
    let is_recorded = config.item.is_none() && !config.reads_only();
    let Some(ChangeRecording { records, secrets }) = recording.filter(|_| is_recorded) else {
        return Ok(workdir);
    };
    // A run must not begin on half of an undo. What cannot be settled now is met again by who undoes.
    if let Err(error) = records.settle_all() {
        tracing::warn!("warning: an interrupted undo is not completed: {error}");
    }
    let origin = config.parent.as_ref().map(|parent| parent.origin.clone());
    let recorder = Recorder::new(records.clone(), PathBuf::from(&config.dir), origin);
    let secrets = secrets.clone();
    let holds_secret: HoldsSecret =
        Arc::new(move |content| secrets.mask().finds(&String::from_utf8_lossy(content)));
    Ok(workdir.recorded_by(Arc::new(recorder.without(holds_secret))))
}

impl Toolset for WorkdirTools {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        Box::pin(std::future::ready(self.open_now(config)))
    }
}

impl WorkdirTools {
    /// `confinement` holds for the commands of all runs.
    pub fn new(confinement: Confinement) -> Self {
        Self {
            confinement,
            recording: None,
            opened: Mutex::default(),
        }
    }

    /// Records what the file tools change, so that it can be undone.
    pub(crate) fn record_in(&mut self, recording: ChangeRecording) {
        self.recording = Some(recording);
    }

    /// Under the lock, so that runs which begin together open a directory once.
    fn open_now(&self, config: &RunConfig) -> Result<Arc<Registry>, HostError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let secrets = config.targets.iter().flat_map(|it| it.secrets_in.clone());
        let key = (
            config.dir.clone(),
            config.own_tools,
            config.sandbox.clone(),
            secrets.collect(),
            config.builtin.clone(),
            config.reads_only(),
            config.skills.clone(),
        );
        if let Some(registry) = opened.get(&key) {
            return Ok(registry.clone());
        }
        let workdir = open_workdir(config, self.recording.as_ref());
        let workdir = workdir.map_err(|error| HostError::Workdir {
            dir: config.dir.clone(),
            why: error.to_string(),
        })?;
        let sandbox = self
            .confinement
            .of_commands(config)
            .map_err(|source| HostError::Sandbox { source })?;
        let is_given = |tool: &Arc<dyn Tool>| {
            let given = config.builtin.as_ref();
            given.is_none_or(|names| names.contains(&tool.spec().name))
        };
        let tools = builtin(workdir, &sandbox).into_iter().filter(is_given);
        let tools = tools.chain(SkillTool::of(config));
        let registry = Registry::of_run(tools.collect(), config)
            .map_err(|source| HostError::Catalog { source })?;
        let registry = Arc::new(registry);
        opened.insert(key, registry.clone());
        Ok(registry)
    }
}
