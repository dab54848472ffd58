//! What holds for the commands and servers of all runs that this process drives.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::{RunConfig, SandboxLevel};
use bonded_tools::Sandbox;
use bonded_tools::sandbox::{Launcher, OnShortfall, SandboxError, SandboxPolicy};

/// The name of the file beside a configuration that holds its secrets.
const SECRETS_FILE: &str = ".ai-agent.env";

/// How sandboxes are built here. Without a launcher there are none.
#[derive(Clone, Default)]
pub struct Confinement {
    pub launcher: Launcher,
    /// What no command may see: the store.
    pub hidden_paths: Vec<PathBuf>,
    /// Directories of which a run sees only the one that it works in.
    pub apart: Vec<PathBuf>,
    /// Told what the machine lacks, when a run starts its first command.
    pub on_shortfall: Option<OnShortfall>,
}

impl std::fmt::Debug for Confinement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Confinement").field(&self.launcher).finish()
    }
}

/// What a server says about its own sandbox; what it does not say is the run's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnWishes {
    pub(crate) level: Option<SandboxLevel>,
    pub(crate) network: Option<bool>,
}

impl Confinement {
    /// The sandbox for the commands of a run.
    pub(crate) fn of_commands(&self, run: &RunConfig) -> Result<Arc<Sandbox>, SandboxError> {
        self.of_server(run, OwnWishes::default())
    }

    /// The sandbox for a server that a run starts.
    pub(crate) fn of_server(
        &self,
        run: &RunConfig,
        own: OwnWishes,
    ) -> Result<Arc<Sandbox>, SandboxError> {
        // A run of an older format says nothing, and gets the usual.
        let demanded = run.sandbox.as_deref().cloned().unwrap_or_default();
        let mut hidden_paths = self.hidden_paths.clone();
        hidden_paths.extend(secret_files(run));
        let works_in = |dir: &&PathBuf| Path::new(&run.dir).starts_with(dir);
        hidden_paths.extend(self.apart.iter().filter(|dir| !works_in(dir)).cloned());
        let policy = SandboxPolicy {
            level: own.level.unwrap_or(demanded.level),
            required: demanded.required,
            network: own.network.unwrap_or(demanded.network),
            limits: demanded.limits,
            env_pass: demanded.env,
            hidden_paths,
            protected_paths: vec![],
        };
        let sandbox = Sandbox::prepare(policy, Path::new(&run.dir), &self.launcher)?;
        Ok(Arc::new(match &self.on_shortfall {
            Some(tell) => sandbox.telling(tell.clone()),
            None => sandbox,
        }))
    }
}

/// The configuration files of a run, and the secrets beside them.
fn secret_files(run: &RunConfig) -> Vec<PathBuf> {
    let of_agent = run.agent.iter().flat_map(|agent| &agent.config_files);
    let of_targets = run.targets.iter().flat_map(|target| &target.secrets_in);
    let mut files: Vec<PathBuf> = of_agent.chain(of_targets).map(PathBuf::from).collect();
    let beside = files.iter().map(|file| file.with_file_name(SECRETS_FILE));
    let beside: Vec<PathBuf> = beside.collect();
    files.extend(beside);
    files.sort();
    files.dedup();
    files
}
