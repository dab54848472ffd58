//! Namespaces where only bubblewrap may make them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::order::Order;
use super::scratch::{nothing_at, void};

/// Where bubblewrap is, if it is installed.
pub(super) fn find() -> Option<PathBuf> {
    let places = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
    places
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.is_file())
}

/// The same view of the files as our own mounts give, with the second stage still to be named.
pub(super) fn command(order: &Order) -> Result<Command, String> {
    let bubblewrap = find().ok_or("bubblewrap is not installed any more")?;
    let this =
        std::env::current_exe().map_err(|error| format!("could not find itself: {error}"))?;
    let cwd = std::env::current_dir()
        .map_err(|error| format!("could not find its directory: {error}"))?;
    let mut command = Command::new(bubblewrap);
    command.args(["--unshare-user", "--unshare-pid", "--unshare-ipc"]);
    if !order.network {
        command.arg("--unshare-net");
    }
    command.args([
        "--die-with-parent",
        "--ro-bind",
        "/",
        "/",
        "--dev-bind",
        "/dev",
        "/dev",
    ]);
    command.args(["--tmpfs", "/dev/shm", "--proc", "/proc"]);
    let mut bind = |how: &str, from: &Path, to: &Path| {
        command.args([OsStr::new(how), from.as_os_str(), to.as_os_str()]);
    };
    for dir in order.writable().iter().chain([&order.scratch]) {
        bind("--bind", dir, dir);
    }
    for path in order.protected.iter().filter(|path| path.exists()) {
        bind("--ro-bind", path, path);
    }
    for path in &order.hidden {
        match std::fs::metadata(path).map(|metadata| metadata.is_dir()) {
            Ok(true) => bind("--ro-bind", &void(&order.scratch), path),
            Ok(false) => bind("--ro-bind", &nothing_at(&order.scratch), path),
            Err(_) => {}
        }
    }
    command.arg("--chdir").arg(cwd).arg("--").arg(this);
    Ok(command)
}
