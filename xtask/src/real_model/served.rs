//! A model that is served on loopback.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::model::Model;
use super::program;
use crate::fault::Fault;
use crate::root;

/// Loading a gigabyte of weights from a slow disk takes a while.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(200);

/// How the model is shown its tools, and how it is told to call them.
const TEMPLATE: &str = "xtask/real-model/chat.jinja";

/// A running server; it is killed when it is dropped.
#[derive(Debug)]
pub(super) struct Served {
    process: Child,
    port: u16,
    log: PathBuf,
}

impl Served {
    /// Starts the server and waits until it has loaded the model.
    pub(super) fn start(dir: &Path, model: &Model, weights: &Path) -> Result<Self, Fault> {
        let port = free_port()?;
        let log = dir.join("server.log");
        let log_file = File::create(&log).map_err(Fault::file(&log))?;
        let mut command = program::server(dir);
        command
            .arg("--model")
            .arg(weights)
            .args(["--alias", model.name, "--host", "127.0.0.1"])
            .args(["--port", &port.to_string(), "--parallel", "1"])
            .args(["--ctx-size", &model.context_window.to_string()])
            .args(["--threads", &threads().to_string(), "--poll", "0"])
            .args(["--offline", "--jinja", "--chat-template-file"])
            .arg(root().join(TEMPLATE))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log_file);
        let process = command.spawn().map_err(|source| Fault::Missing {
            program: "llama-server".into(),
            source,
        })?;
        let mut served = Self { process, port, log };
        served.wait_until_ready()?;
        Ok(served)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    fn wait_until_ready(&mut self) -> Result<(), Fault> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let ended = self.process.try_wait().map_err(Fault::unmeasured)?;
            if let Some(status) = ended {
                return Err(self.unready(&format!("it ended with {status}")));
            }
            if is_healthy(self.port).unwrap_or(false) {
                return Ok(());
            }
            thread::sleep(LOOK);
        }
        Err(self.unready(&format!("it was not ready after {PATIENCE:?}")))
    }

    fn unready(&self, why: &str) -> Fault {
        Fault::Uninstallable {
            what: "llama.cpp's server".into(),
            why: format!("{why}; {} has what it said", self.log.display()),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A process that has ended cannot be killed, and that is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that nobody uses now. Another program could take it before the server does, which then says so.
fn free_port() -> Result<u16, Fault> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Fault::unmeasured)?;
    let address = listener.local_addr().map_err(Fault::unmeasured)?;
    Ok(address.port())
}

/// One core is left to others: threads that wait for each other are slow on a busy machine.
fn threads() -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    (cores - 1).max(1)
}

fn is_healthy(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}
