//! From a command to one that starts inside the sandbox.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bonded_kernel::SandboxLevel;
use rustix::process::{getpid, getuid};
use tokio::process::Command;

use super::enter::{SUPERVISE, WORD};
use super::light::LightLauncher;
use super::order::{Order, Walls};
use super::scratch::{Ending, Scratch, tmp};
use super::stand_in::StandIn;
use super::supervisor::THIS_PROGRAM;
use super::{Found, Sandbox, environment, git, secret_places};

/// Where the system looks for programs when nobody says where.
const USUAL_PATH: &str = "/bin:/usr/bin";

/// The program that [`enter`](super::enter)s the sandbox when it is started so.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Launcher {
    /// There is none: commands run with a clean environment, and with nothing else.
    #[default]
    None,
    /// The program that runs now.
    Itself,
    /// The small program that was found beside it, or where that will not do, itself.
    Light(LightLauncher),
    Program(PathBuf),
}

impl Launcher {
    /// The program that runs now, or the small one beside it. Called when the program begins: what changes in its
    /// directory afterwards is not trusted.
    pub fn own() -> Self {
        let program = std::env::current_exe().ok();
        let light = program.and_then(|program| LightLauncher::beside(&program));
        light.map_or(Self::Itself, Self::Light)
    }

    pub(super) fn program(&self) -> Option<&Path> {
        match self {
            Self::None => None,
            Self::Itself | Self::Light(_) => Some(Path::new(THIS_PROGRAM)),
            Self::Program(path) => Some(path),
        }
    }
}

/// A command that is ready to start. It is kept until its process has ended.
#[derive(Debug)]
pub struct Confined {
    pub command: Command,
    scratch: Scratch,
    _stand_in: Option<StandIn>,
    /// Whether its launcher ends it when we end.
    pub dies_with_us: bool,
}

impl Confined {
    /// Why the command was never started, if it was not. Asked for after the process has ended.
    pub fn fault(&self) -> Option<String> {
        match Ending::read(self.scratch.path())? {
            Ending::Fault(why) => Some(why),
            Ending::Exit(_) | Ending::Signal(_) => None,
        }
    }

    /// Replaces the variables that are handed on by these; the sandbox's own stay.
    pub fn set_environment<N, V>(&mut self, environment: impl IntoIterator<Item = (N, V)>)
    where
        N: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        let own = environment::own_places(&tmp(self.scratch.path()));
        self.command.env_clear().envs(environment).envs(own);
    }
}

impl Sandbox {
    /// Makes the command ready. `cwd` must be inside the working directory or harmless: what can be written
    /// does not depend on it. An error is what starting the command without a sandbox would have been.
    pub fn command<A: AsRef<OsStr>>(
        &self,
        program: &str,
        args: impl IntoIterator<Item = A>,
        cwd: &Path,
    ) -> io::Result<Confined> {
        let ours: Vec<_> = std::env::vars_os().collect();
        let path = std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
        check_program(program, cwd, &path)?;
        let scratch = Scratch::make()?;
        let stand_in = self.stand_in()?;
        let mut command = match &self.found().launcher {
            None => Command::new(program),
            Some(launcher) => {
                let order = serde_json::to_string(&self.order(&scratch))?;
                let mut command = Command::new(launcher);
                command.args([WORD, SUPERVISE, &order, program]);
                command
            }
        };
        command.args(args).current_dir(cwd);
        let mut confined = Confined {
            command,
            scratch,
            _stand_in: stand_in,
            dies_with_us: self.launcher != Launcher::None,
        };
        confined.set_environment(environment::handed_on(ours, &self.policy.env_pass));
        Ok(confined)
    }

    /// Where a mount can cover it, there is a `.git` to cover while the command runs.
    fn stand_in(&self) -> io::Result<Option<StandIn>> {
        let level = self.policy.level;
        let is_covered = self.found().means.walls(level) != Walls::None;
        match is_covered && level == SandboxLevel::WorkspaceWrite {
            true => StandIn::in_dir(&self.workdir),
            false => Ok(None),
        }
    }

    fn order(&self, scratch: &Scratch) -> Order {
        let policy = &self.policy;
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let Found {
            means, nested_git, ..
        } = self.found();
        let walls = means.walls(policy.level);
        let mut protected = policy.protected_paths.clone();
        // Looked for each time: the command before may have made one.
        protected.extend(git::kept_for(&self.workdir));
        protected.extend(nested_git.iter().cloned());
        protected.retain(|path| path.to_str().is_some());
        Order {
            parent: getpid().as_raw_pid(),
            level: policy.level,
            network: policy.network,
            walls,
            landlock: means.landlock > 0,
            seccomp: means.seccomp.is_ok(),
            private_proc: means.private_proc && walls == Walls::Namespaces,
            limits: policy.limits,
            workdir: self.workdir.clone(),
            scratch: scratch.path().to_owned(),
            hidden: secret_places::all(home.as_deref(), getuid().as_raw(), &policy.hidden_paths)
                .into_iter()
                // Whoever works in such a place has been told to.
                .filter(|place| !self.workdir.starts_with(place) && place.to_str().is_some())
                .collect(),
            protected,
        }
    }
}

/// Whether there is such a program, told before anything is set up for it.
fn check_program(program: &str, cwd: &Path, path: &OsStr) -> io::Result<()> {
    let is_executable = |file: &Path| {
        let metadata = std::fs::metadata(file)?;
        match metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        }
    };
    if program.contains('/') {
        return is_executable(&cwd.join(program));
    }
    let mut worst = io::Error::from(io::ErrorKind::NotFound);
    for dir in std::env::split_paths(path) {
        match is_executable(&cwd.join(dir).join(program)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => worst = error,
            Err(_) => {}
        }
    }
    Err(worst)
}
