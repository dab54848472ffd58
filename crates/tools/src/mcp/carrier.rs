//! What carries the messages of a link: a child's pipes, or the network.
//!
//! It is also where errors get their words. A server that does not come up is the most frequent trouble that
//! people have with servers, and the only clues are what it printed, how its process ended and what the sandbox
//! refused it; all of them are put into one sentence with a hint at what to do.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::ClientInitializeError;
use tokio::process::Command;

use super::child::{Living, Process, Starting};
use super::environment::environment;
use super::error::McpError;
use super::http::HttpFault;
use super::settings::{McpServer, McpTransport, StdioCommand};
use super::stdio::Stdio;
use super::witness::Witness;
use crate::sandbox::{LongWatch, Manner};

/// How long a process that has closed its stdout gets to end, so that an error can say how it did.
///
/// Waiting longer would hold up a call that has failed already.
const LAST_WORDS_MS: u64 = 500;

#[derive(Debug)]
pub(super) struct Carrier {
    /// Whoever is not a child of ours has none.
    process: Option<Process>,
    witness: Arc<Witness>,
}

impl Carrier {
    /// For a server that others have started.
    pub(super) fn remote(witness: Arc<Witness>) -> Self {
        Self {
            process: None,
            witness,
        }
    }

    /// Starts a server of ours.
    pub(super) fn stdio(
        server: &McpServer,
        stdio: &StdioCommand,
        witness: Arc<Witness>,
        living: &Living,
    ) -> Result<(Self, Stdio), McpError> {
        let starting = starting(stdio).map_err(|error| spawn_error(server, stdio, &error))?;
        let (process, stdin, stdout) = Process::spawn(starting, Arc::clone(&witness), living)
            .map_err(|error| spawn_error(server, stdio, &error))?;
        let transport = Stdio::new(stdin, stdout, Arc::clone(&witness));
        let process = Some(process);
        Ok((Self { process, witness }, transport))
    }

    /// How often the server has said that its tools are others now.
    pub(super) fn changes(&self) -> u64 {
        self.witness.changes()
    }

    /// Whether the server is a process of ours.
    pub(super) fn is_child(&self) -> bool {
        self.process.is_some()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.process.as_ref().is_some_and(Process::has_ended)
    }

    /// What watches over what the server makes.
    pub(super) fn long_watch(&self) -> Option<Arc<LongWatch>> {
        self.process.as_ref()?.long_watch.clone()
    }

    pub(super) fn stop(&self) {
        if let Some(process) = &self.process {
            process.stop();
        }
    }

    /// The end of a sentence about the server. Where the connection was closed, it waits for the process a
    /// little, because its end says more than that.
    pub(super) async fn why_not_greeted(&self, error: &ClientInitializeError) -> String {
        let why = match error {
            ClientInitializeError::JsonRpcError(error) => {
                format!("refused `initialize`: {}", error.message)
            }
            ClientInitializeError::TransportError { error, .. }
                if error.error.is::<HttpFault>() =>
            {
                error.error.to_string()
            }
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. } => {
                let last_words = self.last_words().await;
                return format!("ended before it answered `initialize`: it {last_words}");
            }
            ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ExpectedInitResponse(_) => {
                "did not answer `initialize` as the protocol requires".into()
            }
            other => format!("could not be initialised: {other}"),
        };
        format!("{why}{}", self.remarks())
    }

    /// What happened to a server that is not open any more, as the end of a sentence.
    pub(super) async fn last_words(&self) -> String {
        let what = match (self.witness.why_broken(), &self.process) {
            (Some(why), _) => why,
            (None, None) => "closed the connection".into(),
            (None, Some(process)) => {
                let wait = Duration::from_millis(LAST_WORDS_MS);
                let end = process.end_within(wait).await;
                end.unwrap_or_else(|| "closed its stdout".into())
            }
        };
        format!("{what}{}", self.remarks())
    }

    /// What is known of a server that still runs.
    pub(super) fn remarks(&self) -> String {
        match self.process {
            Some(_) => self.witness.remarks(),
            None => self.witness.noise_remarks(),
        }
    }
}

/// The command, in its sandbox where it has one.
///
/// In a sandbox the server has the environment of a server, not that of commands: what a person gave it is
/// added to the harmless variables, and the sandbox's own places stay.
fn starting(stdio: &StdioCommand) -> io::Result<Starting> {
    let environment = environment(std::env::vars_os(), &stdio.env);
    if let Some(sandbox) = &stdio.sandbox {
        let cwd = stdio.cwd.as_deref().unwrap_or(Path::new("."));
        let mut confined = sandbox.command_in(Manner::Serving, &stdio.command, &stdio.args, cwd)?;
        confined.set_environment(environment);
        return Ok(Starting::Confined(Box::new(confined)));
    }
    let mut command = Command::new(&stdio.command);
    command.args(&stdio.args).env_clear().envs(environment);
    if let Some(cwd) = &stdio.cwd {
        command.current_dir(cwd);
    }
    Ok(Starting::Plain(command))
}

/// The directory is looked at first: the system reports a missing one as if the program were missing.
fn spawn_error(server: &McpServer, stdio: &StdioCommand, error: &io::Error) -> McpError {
    let missing_cwd = stdio.cwd.as_deref().filter(|cwd| !cwd.is_dir());
    let (why, hint) = match (missing_cwd, error.kind()) {
        (Some(cwd), _) => (
            format!("its working directory {} is not there", cwd.display()),
            "make it, or correct the server's `cwd`",
        ),
        (None, io::ErrorKind::NotFound) => (
            "there is no such program".into(),
            "install it, or give its full path as the server's `command`",
        ),
        (None, io::ErrorKind::PermissionDenied) => (
            "it may not be executed".into(),
            "make it executable, or correct the server's `command`",
        ),
        (None, _) => (error.to_string(), "correct the server's `command`"),
    };
    McpError::Spawn {
        server: server.name.clone(),
        command: stdio.command.clone(),
        why,
        hint,
    }
}

pub(super) fn start_error(server: &McpServer, why: String) -> McpError {
    McpError::Start {
        server: server.name.clone(),
        command: server.address().into(),
        hint: start_hint(&server.transport, &why),
        why,
    }
}

/// What to do about a server that did not start.
///
/// `why` is read for what the sandbox may have refused, and for a login that is demanded, which says itself
/// what to do.
fn start_hint(transport: &McpTransport, why: &str) -> String {
    let check = match transport {
        McpTransport::Stdio(StdioCommand {
            sandbox: Some(sandbox),
            command,
            ..
        }) => return sandbox.refusal_of_server(command, why),
        McpTransport::Stdio(StdioCommand { sandbox: None, .. }) => {
            return "run the command by hand to see what it needs, and whether it speaks MCP on stdio"
                .into();
        }
        McpTransport::Http(_) => {
            "check the server's `url`, and that what answers there speaks MCP over streamable HTTP; \
             a server of the older transport has `type: sse`"
        }
        McpTransport::Sse(_) => {
            "check the server's `url`, and that what answers there speaks MCP over the older stream \
             of events; a newer server has `type: http`"
        }
        McpTransport::Websocket(_) => {
            "check the server's `url`, and that what answers there speaks MCP over web sockets"
        }
    };
    match why.contains("`bonded login") {
        true => "runs use that login from then on".into(),
        false => check.into(),
    }
}
