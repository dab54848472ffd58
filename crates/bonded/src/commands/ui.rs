//! `bonded ui`: the pages of the store, on this machine only, behind a link that works once.
//!
//! The pages drive nothing: whatever goes on after a verdict is a `bonded resume` of its own, in a process group of its
//! own, so that neither closing the pages nor Ctrl-C here ends a run.

use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use bonded_host::trust::Stance;
use bonded_kernel::RunId;
use bonded_serve::console::{self, ConsoleDoor, Resumer, RunPages};
use bonded_work::Workshop;
use tempfile::NamedTempFile;
use tokio::net::TcpListener;

use crate::args::UiArgs;
use crate::error::{CliError, Code};
use crate::review::person;
use crate::signals::{Stopping, stop_on_signal};
use crate::{logging, output, settings, stderr_writer};

/// There is nothing to wait for: pages are asked again.
const STOPPING: Stopping = Stopping {
    message: "closing the pages; runs continue",
    exit_code: 130,
};

pub(crate) async fn ui(args: &UiArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    if !args.listen.ip().is_loopback() {
        let message = format!(
            "--listen {}: the pages are for this machine only",
            args.listen
        );
        let hint = "listen on 127.0.0.1, and reach it from elsewhere through ssh -L";
        return Err(CliError::new(Code::Usage, message).hint(hint));
    }
    let (host, tools) = settings::host(settings::open_store(store)?, Stance::Refuse);
    let listener = bind(args.listen).await?;
    let address = listener
        .local_addr()
        .map_err(|error| unbound(args.listen, &error))?;
    let (door, secret) = ConsoleDoor::of_store(person());
    let link = link(address, &secret);
    // Before anything is left in the file system: a signal that came too early would leave it there.
    let stop = stop_on_signal(STOPPING);
    stderr_writer::begin();
    output::stdout(&link);
    logging::say_always(&format!("listening on http://{address}"));
    logging::say_always("the link works once; Ctrl-C closes the pages");
    // It is there as long as the pages are: a browser may be slow to start.
    let _page = match args.no_open {
        true => None,
        false => open(&link),
    };
    let pages = run_pages(door, store)?;
    console::serve(listener, Arc::new(host), pages, stop).await;
    tools.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// The pages of a store whose runs are driven by processes of this program.
pub(super) fn run_pages(door: ConsoleDoor, store: Option<&Path>) -> Result<RunPages, CliError> {
    let path = settings::store_path(store)?;
    let path = std::path::absolute(&path).unwrap_or(path);
    let server = settings::store_address(store)?.and(store);
    Ok(RunPages {
        door,
        workshop: Workshop::beside(&path),
        resumer: Arc::new(ProcessResumer {
            store: server.map_or(path, Path::to_owned),
        }),
    })
}

/// What opens the pages once.
pub(crate) fn link(address: SocketAddr, secret: &str) -> String {
    format!("http://{address}/#enter={secret}")
}

async fn bind(address: SocketAddr) -> Result<TcpListener, CliError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| unbound(address, &error))
}

fn unbound(address: SocketAddr, error: &std::io::Error) -> CliError {
    let message = format!("cannot listen on {address}: {error}");
    CliError::new(Code::Listen, message).hint("choose another port with --listen, or leave it out")
}

/// Where a person sits at a desktop. That it did not work is no fault: the link is printed.
///
/// The browser is given a file that only this user can read, and not the link: every user of the machine can read what a
/// program was started with, and the first one to open the link is let in.
fn open(link: &str) -> Option<NamedTempFile> {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|it| !it.is_empty()));
    if !has_desktop {
        return None;
    }
    let mut page = tempfile::Builder::new().suffix(".html").tempfile().ok()?;
    let redirect = format!(r#"<meta http-equiv="refresh" content="0;url={link}">"#);
    page.write_all(redirect.as_bytes()).ok()?;
    let mut opener = detached("xdg-open").arg(page.path()).spawn().ok()?;
    std::thread::spawn(move || opener.wait());
    Some(page)
}

/// Drives runs by processes of this program.
struct ProcessResumer {
    /// A file, or the address of a server.
    store: PathBuf,
}

impl Resumer for ProcessResumer {
    /// What belongs to a plan continues with its plan alone.
    fn resume(&self, run: &RunId, plan: Option<&str>) -> Result<(), String> {
        match plan {
            Some(plan) => Err(format!("resume its plan: bonded work --resume {plan}")),
            None => self.start(run).map_err(|error| error.to_string()),
        }
    }
}

impl ProcessResumer {
    fn start(&self, run: &RunId) -> std::io::Result<()> {
        let program = std::env::current_exe()?;
        // Not as an argument, which every user of the machine can read: there may be a password in it.
        let mut child = detached(program)
            .env("BONDED_STORE", &self.store)
            .args(["resume", run.as_str(), "--quiet", "--no-prompt"])
            .spawn()?;
        // Whoever is not waited for stays as a zombie as long as the pages are open.
        std::thread::spawn(move || child.wait());
        Ok(())
    }
}

/// Without our terminal: Ctrl-C is for the pages.
fn detached(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    command
}
