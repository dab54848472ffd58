//! The sandbox that commands and stdio servers run in.
//!
//! Nothing here changes this process. A command is started through a *launcher*: a small program, or our
//! own again, which [`enter`]s the sandbox before it becomes the command. Two stages of it are needed,
//! because a process cannot enter a process namespace itself, only its children can:
//!
//! ```text
//! this process → supervisor (outside) → first process (inside) → the command
//! ```
//!
//! The supervisor makes the namespaces and their mounts, waits, and ends as the command ended. The first
//! process gives up every right and starts the command; when it dies, the kernel kills whatever is left
//! inside. Both die with us, however we die.
//!
//! [`Sandbox::prepare`] is called once for a run, [`Sandbox::command`] for each command.

mod bubblewrap;
mod devices;
mod enter;
pub(crate) mod environment;
mod error;
mod files;
mod git;
mod inside;
mod inventory;
mod launch;
mod light;
mod limits;
mod long_watch;
mod mounts;
mod namespaces;
mod order;
mod plan;
mod policy;
mod probe;
mod refusal;
mod scratch;
mod secret_places;
mod sockets;
mod stand_in;
mod supervisor;
mod syscalls;
mod toolchains;
mod view;
mod watch;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

pub use bonded_kernel::{ProcessLimits, SandboxLevel};
pub use enter::{enter, keep_descriptors_to_ourselves};
pub use error::SandboxError;
pub use launch::{Confined, Launcher, Manner};
pub use light::LightLauncher;
pub use policy::SandboxPolicy;
pub use probe::Means;

use error::Missing;
use inventory::Inventory;
pub(crate) use long_watch::{Approval, LongWatch};

/// A policy on a directory, with the means that this machine has to enforce it.
#[derive(Clone, Debug)]
pub struct Sandbox {
    policy: SandboxPolicy,
    /// Without links, absolute.
    workdir: PathBuf,
    launcher: Launcher,
    teller: ShortfallListener,
    /// Looked for when the first command starts: many runs start none, and looking takes longer than the rest of
    /// their start.
    found: OnceLock<Inspection>,
    /// What was seen of the working directory so far. Clones share it, so that each look reads only what
    /// changed since the last one.
    inventory: Arc<Mutex<Inventory>>,
    /// A command that may change what configures later programs runs alone: what is new afterwards is its.
    gate: Arc<tokio::sync::RwLock<()>>,
}

/// What the machine and the working directory were found to have.
///
/// It is found once and kept: asking the machine starts processes, and an answer that changed between two
/// commands of a run would make what is said to be in force untrue.
#[derive(Clone, Debug)]
struct Inspection {
    means: Arc<Means>,
    /// The program that starts commands, if there is one.
    launcher: Option<PathBuf>,
    /// The person's, in which almost everything is hidden.
    homes: Vec<PathBuf>,
    /// The line that `Sandbox::in_force` gives out.
    in_force: Arc<str>,
}

/// Told what a person should know: what the machine lacks, once a command runs without it, and what commands made that
/// was put aside. No event of `tracing`: it is shown at whatever level the surface logs, and each text once in the life of
/// the process, which only the surface knows.
pub type OnShortfall = Arc<dyn Fn(&str) + Send + Sync>;

/// Whom to tell, if anybody. It is a type of its own because a closure has no `Debug`, which `Sandbox` needs.
#[derive(Clone, Default)]
struct ShortfallListener(Option<OnShortfall>);

impl ShortfallListener {
    fn tell(&self, what: &str) {
        if let Self(Some(tell)) = self {
            tell(what);
        }
    }
}

impl fmt::Debug for ShortfallListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ShortfallListener")
            .field(&self.0.is_some())
            .finish()
    }
}

/// Two are the same where the same was demanded; what was found meanwhile does not count, nor what is protected by now
/// for the sake of other runs.
impl PartialEq for Sandbox {
    fn eq(&self, other: &Self) -> bool {
        let demanded = |it: &Self| SandboxPolicy {
            protected_paths: vec![],
            ..it.policy.clone()
        };
        demanded(self) == demanded(other)
            && (&self.workdir, &self.launcher) == (&other.workdir, &other.launcher)
    }
}

impl Eq for Sandbox {}

impl Sandbox {
    /// With `required`, whatever the machine lacks is an error that names it.
    pub fn prepare(
        policy: SandboxPolicy,
        workdir: &Path,
        launcher: &Launcher,
    ) -> Result<Self, SandboxError> {
        let resolved = workdir
            .canonicalize()
            .map_err(|source| SandboxError::Workdir {
                path: workdir.to_owned(),
                source,
            })?;
        if resolved.to_str().is_none() {
            return Err(SandboxError::NotUtf8 { path: resolved });
        }
        let mut policy = policy;
        for path in &mut policy.show {
            let meant = plan::meant(path, &resolved);
            if !meant.exists() {
                return Err(SandboxError::NothingToShow { path: path.clone() });
            }
            *path = meant;
        }
        if policy.required {
            let missing = probe::look(launcher).means.missing(policy.level);
            if let Some(missing) = missing.into_iter().next() {
                return Err(missing.into());
            }
        }
        stand_in::remove_left(&resolved);
        Ok(Self {
            policy,
            workdir: resolved,
            launcher: launcher.clone(),
            teller: ShortfallListener::default(),
            found: OnceLock::new(),
            inventory: Arc::default(),
            gate: Arc::default(),
        })
    }

    /// Tells somebody what the machine lacks, when the first command starts.
    #[must_use]
    pub fn telling(mut self, tell: OnShortfall) -> Self {
        self.teller = ShortfallListener(Some(tell));
        self
    }

    /// Looks at the machine when it is first asked. Shortfalls are told only with `best_effort`: without it a
    /// command that would lack something is refused, and its error says the same.
    fn found(&self) -> &Inspection {
        self.found.get_or_init(|| {
            let probe::Looked { means, program } = probe::look(&self.launcher);
            if self.policy.best_effort {
                self.shortfalls()
                    .iter()
                    .for_each(|lacking| self.teller.tell(lacking));
            }
            Inspection {
                in_force: means.in_force(self.policy.level).into(),
                homes: crate::protected::homes(),
                launcher: program,
                means,
            }
        })
    }

    pub(crate) fn policy(&self) -> &SandboxPolicy {
        &self.policy
    }

    /// As the policy demands it, whatever the machine can enforce.
    pub fn level(&self) -> SandboxLevel {
        self.policy.level
    }

    /// Whether what a command does is gone when it has ended, whatever the command is.
    pub fn leaves_nothing(&self) -> bool {
        self.policy.leaves_nothing() && self.launcher != Launcher::None
    }

    /// Commands of the level `full` always have it.
    pub fn has_network(&self) -> bool {
        self.policy.network || self.policy.level == SandboxLevel::Full
    }

    /// Written by a command that a person approved, read by all others. Whoever holds it must keep it until the
    /// command has been settled.
    pub(crate) fn gate(&self) -> &Arc<tokio::sync::RwLock<()>> {
        &self.gate
    }

    /// What holds for every command, in one line: `workspace-write: namespaces+landlock(7)+seccomp`.
    pub fn in_force(&self) -> &Arc<str> {
        &self.found().in_force
    }

    /// What the machine lacks for the level, as a person should be told.
    pub fn shortfalls(&self) -> Vec<String> {
        shortfalls(self.policy.level, &self.launcher)
    }
}

/// What this machine lacks for a level, as a person should be told.
pub fn shortfalls(level: SandboxLevel, launcher: &Launcher) -> Vec<String> {
    let missing = probe::look(launcher).means.missing(level).into_iter();
    missing
        .map(|Missing { feature, why, hint }| {
            format!("commands run without {feature}: {why}; {hint}")
        })
        .collect()
}

/// Keeps other processes of the same user from reading this one's memory and environment, which may hold
/// keys. Where the system does not know how, it is as it was.
pub fn hide_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
