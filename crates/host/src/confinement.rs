//! What holds for the commands and servers of all runs that this process drives.
//!
//! A run says what is demanded of its sandbox; this process adds what only it knows: where its store
//! lies, where runs are kept, which files hold secrets, and where homes are. A server's level is never
//! wider than that of its run; whether it reaches the network is for its own entry to say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::{RunConfig, SandboxLevel};
use bonded_tools::Sandbox;
use bonded_tools::sandbox::{Launcher, OnShortfall, SandboxError, SandboxPolicy};

/// The name of the file beside a configuration that holds its secrets.
const SECRETS_FILE: &str = ".ai-agent.env";

/// How sandboxes are built here. Without a launcher there are none.
#[derive(Clone, Default)]
pub struct Confinement {
    /// The program that enters a sandbox before it becomes the command.
    pub launcher: Launcher,
    /// What no command may see: the store.
    pub hidden_paths: Vec<PathBuf>,
    /// Where the runs of this process are kept: what their accounts and results say is no agent's to change, neither
    /// theirs nor one that they call.
    pub kept: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Directories of which a run sees only the one that it works in.
    pub apart: Vec<PathBuf>,
    /// Where the homes of commands and servers are kept. Without it each command has one that goes with it.
    pub homes: Option<PathBuf>,
    /// Where copies of trees come and go. Commands in them have no home that is kept.
    pub copies: Option<PathBuf>,
    /// Told what the machine lacks, when a run starts its first command.
    pub on_shortfall: Option<OnShortfall>,
}

impl std::fmt::Debug for Confinement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Confinement").field(&self.launcher).finish()
    }
}

/// What a server says about its own sandbox; what it does not say is the run's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnWishes {
    /// Its name; commands have none.
    pub(crate) name: Option<String>,
    pub(crate) level: Option<SandboxLevel>,
    pub(crate) network: Option<bool>,
}

impl Confinement {
    /// The sandbox for the commands of a run.
    pub fn of_commands(&self, run: &RunConfig) -> Result<Arc<Sandbox>, SandboxError> {
        self.of_server(run, &OwnWishes::default())
    }

    /// The sandbox for a server that a run starts.
    ///
    /// What is kept is noted first, so that the sandbox which is built here protects it already.
    pub(crate) fn of_server(
        &self,
        run: &RunConfig,
        own: &OwnWishes,
    ) -> Result<Arc<Sandbox>, SandboxError> {
        self.note_kept(run);
        // A run of an older format says nothing, and gets the usual.
        let mut demanded = run.sandbox.as_deref().cloned().unwrap_or_default();
        if run.reads_only() {
            demanded = demanded.leaving_nothing();
        }
        let mut hidden_paths = self.hidden_paths.clone();
        hidden_paths.extend(secret_files(run));
        let works_in = |dir: &&PathBuf| Path::new(&run.dir).starts_with(dir);
        hidden_paths.extend(self.apart.iter().filter(|dir| !works_in(dir)).cloned());
        let (level, network) = (
            // Whoever wrote the entry: no server is freer than the run that starts it.
            own.level
                .map_or(demanded.level, |own| own.min(demanded.level)),
            own.network.unwrap_or(demanded.network),
        );
        let policy = SandboxPolicy {
            level,
            required: demanded.required,
            best_effort: demanded.best_effort,
            network,
            limits: demanded.limits,
            env_pass: demanded.env,
            show: demanded.show.into_iter().map(PathBuf::from).collect(),
            hidden_paths,
            protected_paths: self.kept().iter().cloned().collect(),
            // What is kept from one command for the next is a change.
            home: match run.reads_only() {
                true => None,
                false => self.home(&run.dir, own.name.as_deref(), level, network),
            },
        };
        let sandbox = Sandbox::prepare(policy, Path::new(&run.dir), &self.launcher)?;
        Ok(Arc::new(match &self.on_shortfall {
            Some(tell) => sandbox.telling(tell.clone()),
            None => sandbox,
        }))
    }
}

impl Confinement {
    /// Protects what a run is kept in, before one that it calls begins.
    pub(crate) fn note_kept(&self, run: &RunConfig) {
        let kept = run.kept.iter();
        let paths = kept.flat_map(|kept| [&kept.ledger, &kept.snapshots]);
        self.kept().extend(paths.flatten().map(PathBuf::from));
    }

    /// Shared by all copies of this, so that one run's files are protected from every other run's
    /// commands.
    fn kept(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The home for one directory, and in it for one server or for commands, and for how far they reach: what is left
    /// in a home acts on whoever has it next, so that nobody has one with those who reach further or hold other keys.
    fn home(
        &self,
        dir: &str,
        server: Option<&str>,
        level: SandboxLevel,
        network: bool,
    ) -> Option<PathBuf> {
        let is_copy = |copies: &PathBuf| Path::new(dir).starts_with(copies);
        if self.copies.as_ref().is_some_and(is_copy) {
            return None;
        }
        let of = blake3::hash(dir.as_bytes()).to_hex();
        let whose = match server {
            Some(name) => format!("server-{}", name.replace('/', "_")),
            None => "commands".into(),
        };
        let reach = match network {
            true => format!("{}-network", level.as_str()),
            false => level.as_str().to_owned(),
        };
        let homes = self.homes.as_ref()?;
        Some(homes.join(&of[..16]).join(whose).join(reach))
    }
}

/// The configuration files of a run, and the secrets beside them.
///
/// Of the agent and of its targets: commands must read neither.
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
