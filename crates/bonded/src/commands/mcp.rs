//! `bonded mcp`: agents as tools of an MCP client that has started this program.
//!
//! stdout belongs to the protocol: nothing else may be written there, and all words go to stderr. There is no
//! token, because whoever started the process is the person already. The client's end is the end of the process,
//! and cancels the runs under way; a signal lets go of them instead, so that they can be resumed.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::CancellationToken;

use super::serve::ServedAgents;
use crate::args::McpArgs;
use crate::error::CliError;
use crate::signals::{Stopping, let_go_on_signal};
use crate::stderr_writer;
use bonded_mcp::stdio;
use bonded_serve::agents::{AgentServer, ServerSettings};
use bonded_serve::mcp::Offer;

/// The client decides when it is over, so runs are not waited for.
const STOPPING: Stopping = Stopping {
    message: "interrupting the active runs; press Ctrl-C again to stop now",
    exit_code: 1,
};

/// The order at the end: the conversation is over, the runs are cancelled, then waited for, and the tools that they
/// use are stopped last.
pub(crate) async fn mcp(args: &McpArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    stderr_writer::begin();
    let prepared = ServedAgents::new(&args.served, store, |_| Ok(((), vec![])))?;
    let end_runs = CancellationToken::new();
    let (host, tools) = (prepared.host, prepared.tools);
    let settings = ServerSettings {
        asks_clients: args.ask_client,
        ..prepared.settings
    };
    let server = AgentServer::new(settings, host, tools.clone(), end_runs.clone());
    let offer = Arc::new(Offer::new(server.clone()));
    let stop = let_go_on_signal(STOPPING);
    stdio::talk(offer, std::io::stdin(), std::io::stdout(), &stop).await;
    end_runs.cancel();
    server.runs_ended().await;
    tools.stop().await;
    Ok(ExitCode::SUCCESS)
}
