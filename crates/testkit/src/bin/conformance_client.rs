//! The client as the public conformance suite of MCP wants to have it: a program that is given the address of
//! a server and does with it what a client does. It calls every tool that the server offers.

use std::sync::Arc;

use bonded_kernel::{Limits, Mask, Outcome};
use bonded_testkit::invocation;
use bonded_tools::mcp::{HttpEndpoint, McpServer, McpServers};
use bonded_tools::{Queues, Registry};
use serde_json::{Value, json};

type Fault = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Fault> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(drive())
}

async fn drive() -> Result<(), Fault> {
    let url = std::env::args().nth(1).ok_or("the address is missing")?;
    let endpoint = HttpEndpoint {
        url,
        ..HttpEndpoint::default()
    };
    let mut server = McpServer::http("suite", endpoint);
    server.takes_form_defaults = true;
    let pool = McpServers::new(Arc::new(Queues::new([])?), 1);
    let called = call_all(&pool, server).await;
    pool.stop().await;
    called
}

async fn call_all(pool: &McpServers, server: McpServer) -> Result<(), Fault> {
    let registry = Registry::new(pool.start(&[server]).await?.tools)?;
    let names = registry.catalog().specs().map(|spec| spec.name.clone());
    for name in names.filter(|name| name.starts_with("suite__")) {
        let call = invocation(&registry, &Limits::default(), &name, &arguments(&name));
        let output = registry.invoke(&call, &Mask::default()).await;
        if output.outcome != Outcome::Ok {
            return Err(format!("{name}: {}", output.text).into());
        }
    }
    Ok(())
}

fn arguments(tool: &str) -> Value {
    match tool {
        "suite__add_numbers" => json!({ "a": 5, "b": 3 }),
        _ => json!({}),
    }
}
