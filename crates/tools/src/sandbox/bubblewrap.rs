//! Namespaces where only bubblewrap may make them.
//!
//! Some systems forbid user namespaces to ordinary programs and except bubblewrap. There the supervisor starts
//! it, and it starts the second stage, which sets the limits, Landlock and seccomp as it does everywhere. What
//! is put where comes from `view::places`, so that both ways of mounting give a command the same files. Two
//! things are weaker here: a protected link cannot be held in its place, and what was protected may have been
//! replaced, so that a watch compares the numbers of files besides their paths.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::order::Order;
use super::scratch::{nothing_at, void};
use super::view::{self, Put};

/// Where bubblewrap is, if it is installed. Nowhere else is looked: whoever makes the walls is not found by a path.
pub(super) fn find() -> Option<PathBuf> {
    let places = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
    places
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.is_file())
}

/// Whether it is here and may make what we ask of it.
///
/// The trial makes the namespaces and mounts that a command would have and starts bubblewrap itself inside,
/// which is certainly there. That the file exists says nothing: a profile or a setting of the kernel may still
/// forbid it.
pub(super) fn works() -> bool {
    let Some(bubblewrap) = find() else {
        return false;
    };
    let mut trial = Command::new(bubblewrap);
    namespaces(&mut trial, false);
    trial.args(["--tmpfs", "/tmp", "--", "/proc/self/exe", "--version"]);
    trial.env_clear().stdin(Stdio::null());
    let ended = trial.stdout(Stdio::null()).stderr(Stdio::null()).status();
    ended.is_ok_and(|status| status.success())
}

/// Everything begins read-only, and what a command may write is bound over it afterwards: the arguments work in
/// their order.
fn namespaces(command: &mut Command, network: bool) {
    command.args(["--unshare-user", "--unshare-pid", "--unshare-ipc"]);
    if !network {
        command.arg("--unshare-net");
    }
    command.args(["--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]);
    command.args(["--tmpfs", "/dev/shm", "--proc", "/proc"]);
}

/// The same view of the files as our own mounts give, with the second stage still to be named.
pub(super) fn command(order: &Order) -> Result<Command, String> {
    let bubblewrap = find().ok_or("bubblewrap is not installed any more")?;
    let this =
        std::env::current_exe().map_err(|error| format!("could not find itself: {error}"))?;
    let cwd = std::env::current_dir()
        .map_err(|error| format!("could not find its directory: {error}"))?;
    let mut command = Command::new(bubblewrap);
    namespaces(&mut command, order.network);
    let (mut words, mut hollow) = (vec![], vec![]);
    let bind = |words: &mut Vec<OsString>, how: &str, from: &Path, to: &Path| {
        words.extend([OsStr::new(how), from.as_os_str(), to.as_os_str()].map(OsStr::to_owned));
    };
    for (path, put) in view::places(order) {
        match put {
            Put::Pin | Put::Itself => bind(&mut words, "--bind", &path, &path),
            Put::Other(other) => bind(&mut words, "--bind", &other, &path),
            // It cannot hold a link; one that was replaced is found afterwards.
            Put::ReadOnly if path.is_symlink() => {}
            Put::ReadOnly => bind(&mut words, "--ro-bind-try", &path, &path),
            Put::Hollow => {
                words.extend([OsString::from("--tmpfs"), path.clone().into()]);
                hollow.push(path);
            }
            Put::Nothing => match std::fs::metadata(&path).map(|metadata| metadata.is_dir()) {
                Ok(true) => bind(&mut words, "--ro-bind", &void(&order.scratch), &path),
                Ok(false) => bind(&mut words, "--ro-bind", &nothing_at(&order.scratch), &path),
                Err(_) => {}
            },
        }
    }
    command.args(words);
    for path in hollow {
        command.arg("--remount-ro").arg(path);
    }
    command.arg("--chdir").arg(cwd).arg("--").arg(this);
    Ok(command)
}
