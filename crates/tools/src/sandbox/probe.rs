//! What this machine can enforce. It is tried for real, in a process that is thrown away.
//!
//! Versions and settings of a kernel do not tell what works: a container, a profile or a boot parameter may
//! forbid any part. So the launcher is started with the word for a trial, restricts itself in every way, and
//! prints what succeeded as JSON. The answer holds for the life of this process and is kept for each launcher.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::SandboxLevel;
use rustix::mount::{MountFlags, mount};
use serde::{Deserialize, Serialize};

use super::enter::{PROBE, WORD};
use super::error::Missing;
use super::launch::Launcher;
use super::light::LightLauncher;
use super::order::Walls;
use super::supervisor::THIS_PROGRAM;
use super::{bubblewrap, files, mounts, namespaces, syscalls};

/// Whether each part works; where one does not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Means {
    /// Whether an unprivileged process can make the namespaces and mounts.
    pub namespaces: Result<(), String>,
    /// Whether a view of the sandbox's own processes can be mounted.
    pub private_proc: bool,
    /// Whether bubblewrap is there to make namespaces.
    pub bubblewrap: bool,
    /// The version of Landlock; 0 is none.
    pub landlock: u32,
    /// Whether system calls can be filtered.
    pub seccomp: Result<(), String>,
    /// Whether there is a launcher at all.
    pub launcher: Result<(), String>,
    /// Of the launcher.
    #[serde(default)]
    pub version: String,
}

/// Of this program.
///
/// A launcher of another version may read an order differently, and is not used.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Means {
    /// Nothing can be enforced, each part for the same reason.
    fn without_launcher(why: String) -> Self {
        Self {
            namespaces: Err(why.clone()),
            private_proc: false,
            bubblewrap: false,
            landlock: 0,
            seccomp: Err(why.clone()),
            launcher: Err(why),
            version: VERSION.into(),
        }
    }

    /// Whether a launcher that was found beside this program does all that this program does.
    fn will_do(&self) -> bool {
        self.version == VERSION && self.launcher.is_ok() && self.namespaces.is_ok()
    }

    /// Namespaces of our own are preferred to those of bubblewrap: they hold more in place and start faster.
    pub(super) fn walls(&self, level: SandboxLevel) -> Walls {
        match (&self.namespaces, self.bubblewrap) {
            _ if level == SandboxLevel::Full => Walls::None,
            (Ok(()), _) => Walls::Namespaces,
            (Err(_), true) => Walls::Bubblewrap,
            (Err(_), false) => Walls::None,
        }
    }

    /// What the level needs and the machine lacks.
    ///
    /// The first is the one that an error names. Without a launcher nothing else is worth naming.
    pub(super) fn missing(&self, level: SandboxLevel) -> Vec<Missing> {
        let lack = |feature, why: &str, hint| Missing {
            feature,
            why: why.to_owned(),
            hint,
        };
        let mut missing = vec![];
        if let Err(why) = &self.launcher {
            let hint = "start commands from the program `bonded`";
            missing.push(lack("a launcher", why, hint));
            return missing;
        }
        if level == SandboxLevel::Full {
            return missing;
        }
        if let (Err(why), false) = (&self.namespaces, self.bubblewrap) {
            let hint = "allow user namespaces to unprivileged users, or install bubblewrap";
            missing.push(lack("user namespaces", why, hint));
        }
        if self.landlock == 0 {
            let why = "the kernel does not have it, or it is not among its `lsm=`";
            let hint = "use Linux 5.13 or newer and boot it with lsm=landlock,...";
            missing.push(lack("Landlock", why, hint));
        }
        if let Err(why) = &self.seccomp {
            let hint = "use a kernel with CONFIG_SECCOMP_FILTER";
            missing.push(lack("seccomp filters", why, hint));
        }
        missing
    }

    /// Limits are named only where there is nothing else, since every launcher sets them.
    pub(super) fn in_force(&self, level: SandboxLevel) -> String {
        let mut parts: Vec<String> = vec![];
        if level != SandboxLevel::Full {
            match self.walls(level) {
                Walls::Namespaces => parts.push("namespaces".into()),
                Walls::Bubblewrap => parts.push("bubblewrap".into()),
                Walls::None => {}
            }
            if self.landlock > 0 {
                parts.push(format!("landlock({})", self.landlock));
            }
            if self.seccomp.is_ok() {
                parts.push("seccomp".into());
            }
        }
        match (&self.launcher, parts.is_empty()) {
            (Err(_), _) => "none".into(),
            (Ok(()), true) if level == SandboxLevel::Full => "full: limits".into(),
            (Ok(()), true) => "none: limits".into(),
            (Ok(()), false) => format!("{}: {}", level.as_str(), parts.join("+")),
        }
    }
}

/// What a launcher found, and the program that it is.
#[derive(Clone, Debug)]
pub(super) struct Looked {
    pub(super) means: Arc<Means>,
    pub(super) program: Option<PathBuf>,
}

/// Asks once for each launcher.
///
/// The lock is held while a launcher is asked, so that two commands that begin together ask once.
pub(super) fn look(launcher: &Launcher) -> Looked {
    static KNOWN: Mutex<BTreeMap<Launcher, Looked>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let looked = known.entry(launcher.clone());
    looked.or_insert_with(|| look_anew(launcher)).clone()
}

/// A light launcher that is missing, was changed, has another version or cannot make namespaces is passed over
/// for this program. A system may allow namespaces by the path of a program, which a copy in memory has not.
fn look_anew(launcher: &Launcher) -> Looked {
    let light = match launcher {
        Launcher::Light(light) => look_at_light(light),
        Launcher::None | Launcher::Itself | Launcher::Program(_) => None,
    };
    light.unwrap_or_else(|| Looked {
        means: Arc::new(match launcher.program() {
            Some(program) => ask(program),
            None => Means::without_launcher("this program cannot start itself as one".into()),
        }),
        program: launcher.program().map(Path::to_owned),
    })
}

/// The copy is kept open for good once it will do, which is one descriptor for each launcher.
fn look_at_light(light: &LightLauncher) -> Option<Looked> {
    let copy = light.copy().ok()?;
    let path = copy.path();
    let means = Arc::new(ask(&path));
    let looked = Looked {
        means,
        program: Some(path),
    };
    looked.means.will_do().then(|| {
        // It is executed for as long as this process lives.
        std::mem::forget(copy);
        looked
    })
}

/// Without variables: the trial must not depend on what this process was started with.
fn ask(program: &Path) -> Means {
    let mut child = Command::new(program);
    child.args([WORD, PROBE]).env_clear().stdin(Stdio::null());
    let answer = child.stderr(Stdio::null()).output();
    let answer = answer.map(|output| serde_json::from_slice(&output.stdout));
    match answer {
        Ok(Ok(means)) => tried(means),
        Ok(Err(_)) => Means::without_launcher("it did not answer".into()),
        Err(error) => Means::without_launcher(format!("it could not be started: {error}")),
    }
}

/// Bubblewrap that is installed may be forbidden what we want of it. It is tried from here: a process that failed to
/// make namespaces is not what it was.
fn tried(mut means: Means) -> Means {
    if means.namespaces.is_err() && means.bubblewrap {
        means.bubblewrap = bubblewrap::works();
    }
    means
}

/// Tries everything, and tells it on stdout. A word more on the command line asks for the part that only
/// a child can try.
///
/// The order is that of a command: namespaces, mounts, the child, then Landlock, and the filter last, which
/// would forbid the rest.
pub(super) fn answer() -> ExitCode {
    let is_second = std::env::args_os().nth(3).is_some();
    if is_second {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        let mounted = mount("proc", "/proc", "proc", flags, None);
        return ExitCode::from(u8::from(mounted.is_err()));
    }
    let bubblewrap = bubblewrap::find().is_some();
    let namespaces = namespaces::leave(false)
        .and_then(|()| mounts::attempt())
        .and_then(|()| namespaces::hand_rights_on());
    let private_proc = namespaces.is_ok() && {
        let second = Command::new(THIS_PROGRAM)
            .args([WORD, PROBE, "second"])
            .status();
        second.is_ok_and(|status| status.success())
    };
    let means = Means {
        namespaces,
        private_proc,
        bubblewrap,
        landlock: files::version(),
        seccomp: syscalls::deny(true),
        launcher: Ok(()),
        version: VERSION.into(),
    };
    let text = serde_json::to_string(&means).unwrap_or_default();
    let written = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(u8::from(written.is_err()))
}
