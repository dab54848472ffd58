//! From a command to one that starts inside the sandbox.
//!
//! A command is made ready in an order that each step relies on: the program is looked for first, so that a
//! mistyped name costs nothing; a machine that enforces too little is refused before anything is made; the
//! inventory is taken before the stand-in for `.git` is put there; and the order is written last, because it
//! names what the others have found.
//!
//! What comes out is an ordinary command of the launcher. Whoever starts it keeps the `Confined` until the
//! process has ended, since dropping it removes the scratch directory under the command's feet.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::SandboxLevel;
use tokio::process::Command;

use super::enter::{SUPERVISE, WORD};
use super::error::SandboxError;
use super::light::LightLauncher;
use super::long_watch::LongWatch;
use super::order::{Order, Walls, handed};
use super::scratch::{LauncherFault, ScratchDir, tmp};
use super::stand_in::StandIn;
use super::supervisor::THIS_PROGRAM;
use super::watch::Watch;
use super::{Sandbox, environment};

/// Where the system looks for programs when nobody says where.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

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
    /// A program that calls [`enter`](super::enter) first, by its path.
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

    /// The light one counts as this program here: it is used only where its copy was made and answered, and
    /// this is what is taken else.
    pub(super) fn program(&self) -> Option<&Path> {
        match self {
            Self::None => None,
            Self::Itself | Self::Light(_) => Some(Path::new(THIS_PROGRAM)),
            Self::Program(path) => Some(path),
        }
    }
}

/// How far a command is let.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// What configures later programs is out of its reach, and what it makes of that kind is put aside when it has ended.
    Watched,
    /// The same, but what it makes is left for whoever looks at the whole tree.
    Lasting,
    /// A server, which stays for long: what it makes is put aside whenever it is settled, and when it has ended.
    Serving,
    /// A person approved it: it may change what configures later programs.
    Approved,
}

/// A command that is ready to start. It is kept until its process has ended.
#[derive(Debug)]
pub struct Confined {
    /// The launcher with the command as its arguments; streams may still be set.
    pub command: Command,
    /// Drawn for this command. It tells the launcher's words in the scratch directory from those of the
    /// command.
    token: String,
    /// Its own places, which no variable of others replaces.
    own: Vec<(&'static str, OsString)>,
    /// What its launcher is told, if it has one.
    order: Option<Vec<(OsString, OsString)>>,
    /// Settled before the rest goes.
    watch: Option<Watch>,
    long_watch: Option<Arc<LongWatch>>,
    /// Declared after the watches: fields are dropped in their order.
    scratch: ScratchDir,
    _stand_in: Option<StandIn>,
    /// Whether its launcher ends it when we end, and begins a session of its own for it.
    pub dies_with_us: bool,
}

impl Confined {
    /// Why the command was never started, if it was not. Asked for after the process has ended.
    pub fn fault(&self) -> Option<String> {
        LauncherFault::read(self.scratch.path(), &self.token)
    }

    /// Looks at what the command made, after it has ended, and says what was put aside.
    ///
    /// A second call does nothing. The sentence is for whoever asked for the command; the person is told by the
    /// watch itself.
    pub fn settle(&mut self) -> Option<String> {
        match (self.watch.take(), &self.long_watch) {
            (Some(watch), _) => watch.settle(),
            (None, Some(long_watch)) => long_watch.end(),
            (None, None) => None,
        }
    }

    /// What watches over a server while it runs.
    pub(crate) fn long_watch(&self) -> Option<&Arc<LongWatch>> {
        self.long_watch.as_ref()
    }

    /// Sets a variable of the command.
    pub fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        match self.order {
            // A launcher does not take it for its own.
            Some(_) => self.command.env(handed(name.as_ref()), value),
            None => self.command.env(name, value),
        };
    }

    /// Replaces the variables that are handed on by these; the sandbox's own stay.
    pub fn set_environment<N, V>(&mut self, environment: impl IntoIterator<Item = (N, V)>)
    where
        N: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.command.env_clear();
        for (name, value) in environment {
            self.set(name, value);
        }
        for (name, value) in self.own.clone() {
            self.set(name, value);
        }
        if let Some(order) = &self.order {
            self.command.envs(order.iter().cloned());
        }
    }
}

impl Drop for Confined {
    /// Others may hold the watch over a server for longer than it lives.
    fn drop(&mut self) {
        self.settle();
    }
}

impl Sandbox {
    /// Makes a command ready whose tree somebody looks at.
    pub fn command<A: AsRef<OsStr>>(
        &self,
        program: &str,
        args: impl IntoIterator<Item = A>,
        cwd: &Path,
    ) -> io::Result<Confined> {
        self.command_in(Manner::Lasting, program, args, cwd)
    }

    /// Makes the command ready. `cwd` must be inside the working directory or harmless: what can be written
    /// does not depend on it. An error is what starting the command without a sandbox would have been, or says that
    /// there is no sandbox to start it in.
    pub fn command_in<A: AsRef<OsStr>>(
        &self,
        manner: Manner,
        program: &str,
        args: impl IntoIterator<Item = A>,
        cwd: &Path,
    ) -> io::Result<Confined> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        let file = check_program(program, cwd, &path)?;
        self.refuse_less()?;
        let scratch = ScratchDir::make()?;
        let who = match manner {
            Manner::Serving => "a server",
            Manner::Watched | Manner::Lasting | Manner::Approved => "the command",
        };
        let watch = Watch::begin(self, who)?;
        let stand_in = match manner {
            Manner::Approved => None,
            Manner::Watched | Manner::Lasting | Manner::Serving => self.stand_in()?,
        };
        let token = token()?;
        let nothing = BTreeSet::new();
        let finds = watch.as_ref().map_or(&nothing, Watch::before);
        let (order, home) = self.order(&scratch, manner, finds, &token)?;
        refuse_hidden(&file, &order)?;
        let (mut command, variables) = match &self.found().launcher {
            None => (Command::new(program), None),
            Some(launcher) => {
                let mut command = Command::new(launcher);
                command.args([WORD, SUPERVISE, program]);
                (command, Some(order.parts()?))
            }
        };
        command.args(args).current_dir(cwd);
        let (watch, long_watch) = match manner {
            Manner::Watched => (watch, None),
            Manner::Serving => (None, watch.map(LongWatch::begin)),
            Manner::Lasting | Manner::Approved => {
                watch.into_iter().for_each(Watch::let_be);
                (None, None)
            }
        };
        let mut confined = Confined {
            command,
            token,
            own: environment::own_places(&tmp(scratch.path()), home.as_deref().map(Path::new)),
            order: variables,
            watch,
            long_watch,
            scratch,
            _stand_in: stand_in,
            dies_with_us: self.launcher != Launcher::None,
        };
        let ours = std::env::vars_os();
        confined.set_environment(environment::handed_on(ours, &self.policy.env_pass));
        Ok(confined)
    }

    /// Whoever did not say that less will do gets nothing less. Without a launcher there was never a sandbox.
    fn refuse_less(&self) -> io::Result<()> {
        if self.policy.best_effort || self.launcher == Launcher::None {
            return Ok(());
        }
        let missing = self.found().means.missing(self.policy.level);
        match missing.into_iter().next() {
            None => Ok(()),
            Some(missing) => Err(io::Error::other(format!(
                "{}; `sandboxBestEffort: true` (--sandbox-best-effort) runs commands with what there is",
                SandboxError::from(missing)
            ))),
        }
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
}

/// What nobody can guess.
///
/// 16 random bytes as hexadecimal digits.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    let drawn = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    drawn.map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A program that only we see is named, instead of being missing inside.
///
/// Inside it would be "not found", which sends people looking for a mistake in their path.
fn refuse_hidden(file: &Path, order: &Order) -> io::Result<()> {
    let Ok(file) = file.canonicalize() else {
        return Ok(());
    };
    let places = order.shown.iter().chain([&order.workdir]);
    let mut seen = places.filter_map(|place| place.canonicalize().ok());
    let is_hidden = order.level != SandboxLevel::Full
        && order.hidden.iter().any(|cover| file.starts_with(cover))
        && !seen.any(|place| file.starts_with(place));
    match is_hidden {
        false => Ok(()),
        true => Err(io::Error::other(format!(
            "the sandbox hides {}; show it: `sandboxShow: [\"{}\"]` (--sandbox-show)",
            file.display(),
            file.parent().unwrap_or(&file).display()
        ))),
    }
}

/// Whether there is such a program, told before anything is set up for it.
///
/// It searches as the system would: a name with a slash is taken from the working directory, any other is
/// looked for in the directories of the path, and a file that may not be executed is reported only if no later
/// directory has one that may. The check is no guarantee; what happens afterwards is reported by the launcher.
fn check_program(program: &str, cwd: &Path, path: &OsStr) -> io::Result<PathBuf> {
    let is_executable = |file: PathBuf| {
        let metadata = std::fs::metadata(&file)?;
        match metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
            true => Ok(file),
            false => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        }
    };
    if program.contains('/') {
        return is_executable(cwd.join(program));
    }
    let mut worst = io::Error::from(io::ErrorKind::NotFound);
    for dir in std::env::split_paths(path) {
        match is_executable(cwd.join(dir).join(program)) {
            Ok(file) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => worst = error,
            Err(_) => {}
        }
    }
    Err(worst)
}
