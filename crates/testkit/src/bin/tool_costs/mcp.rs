//! A tool of a stdio server, through our client and through the SDK's own, in turns. Only this process counts: both
//! have the same server beside them.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Limits, Mask, Outcome};
use bonded_testkit::invocation;
use bonded_tools::mcp::{McpServer, McpServers, McpTransport, StdioCommand};
use bonded_tools::{Queues, Registry};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::{Costs, Fault, cpu};

const TOOL: &str = "test";
/// Calls in a row before the other client's turn comes.
const CALLS_AT_ONCE: u32 = 100;

fn arguments() -> Value {
    json!({ "text": "the tide is out and the boats lie on the sand" })
}

pub(super) async fn costs(server: &str, calls: u32) -> Result<Costs, Fault> {
    let pool = McpServers::new(Arc::new(Queues::new([])?), 1);
    let tools = pool.start(&[ours(server)]).await?.tools;
    let registry = Registry::new(tools)?;
    let (mut child, bare) = bare(server).await?;
    let (mut our_cost, mut bare_cost) = (Duration::ZERO, Duration::ZERO);
    let rounds = calls.div_ceil(CALLS_AT_ONCE).max(1);
    // The first round warms up and is not counted.
    for round in 0..=rounds {
        let begun = cpu();
        call_ours(&registry).await?;
        let between = cpu();
        call_bare(&bare).await?;
        if round > 0 {
            our_cost += between - begun;
            bare_cost += cpu() - between;
        }
    }
    pool.stop().await;
    bare.cancel().await?;
    child.kill().await?;
    let counted = rounds * CALLS_AT_ONCE;
    Ok((our_cost / counted, bare_cost / counted))
}

fn ours(program: &str) -> McpServer {
    let command = StdioCommand {
        command: program.into(),
        ..StdioCommand::default()
    };
    McpServer::new("bench", McpTransport::Stdio(command))
}

async fn bare(program: &str) -> Result<(Child, RunningService<RoleClient, ()>), Fault> {
    let mut command = Command::new(program);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdout = child.stdout.take().ok_or("the server has no stdout")?;
    let stdin = child.stdin.take().ok_or("the server has no stdin")?;
    Ok((child, ().serve((stdout, stdin)).await?))
}

async fn call_ours(registry: &Registry) -> Result<(), Fault> {
    let tool = format!("bench__{TOOL}");
    let call = invocation(registry, &Limits::default(), &tool, &arguments());
    let mask = Mask::default();
    for _ in 0..CALLS_AT_ONCE {
        let output = registry.invoke(&call, &mask).await;
        if output.outcome != Outcome::Ok {
            return Err(output.text.into());
        }
    }
    Ok(())
}

/// The text of the answer is taken out of it, as whoever calls a tool does.
async fn call_bare(client: &RunningService<RoleClient, ()>) -> Result<(), Fault> {
    let arguments = arguments();
    for _ in 0..CALLS_AT_ONCE {
        let object = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(TOOL).with_arguments(object);
        let result = client.call_tool(params).await?;
        let text = result.content.first().and_then(|part| part.as_text());
        if text.is_none_or(|text| text.text.is_empty()) {
            return Err("the server said nothing".into());
        }
    }
    Ok(())
}
