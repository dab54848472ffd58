//! Namespaces where only bubblewrap may make them.

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
