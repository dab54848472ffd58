//! Servers as they are published: fetched by `npx`, `uvx` and `pip` in the sandbox, with nothing but a network.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::reply::report;
use crate::world::World;

/// Set to the directory of `uvx` where servers may be fetched from the registries.
const WITH_UV: &str = "BONDED_PUBLISHED";

const SERVERS: [(&str, &[&str]); 10] = [
    (
        "everything",
        &["npx", "-y", "@modelcontextprotocol/server-everything"],
    ),
    (
        "files",
        &["npx", "-y", "@modelcontextprotocol/server-filesystem", "."],
    ),
    (
        "memory",
        &["npx", "-y", "@modelcontextprotocol/server-memory"],
    ),
    (
        "thinking",
        &[
            "npx",
            "-y",
            "@modelcontextprotocol/server-sequential-thinking",
        ],
    ),
    ("context7", &["npx", "-y", "@upstash/context7-mcp"]),
    ("time", &["uvx", "mcp-server-time"]),
    ("fetch", &["uvx", "mcp-server-fetch"]),
    ("git", &["uvx", "mcp-server-git"]),
    ("calculator", &["uvx", "mcp-server-calculator"]),
    (
        "pip",
        &[
            "sh",
            "-c",
            "python3 -m pip install -q --user mcp-server-time >&2; exec python3 -m mcp_server_time",
        ],
    ),
];

#[test]
fn ten_published_servers_start_and_answer_with_nothing_but_a_network() {
    let Some(uv) = std::env::var_os(WITH_UV) else {
        // Past the test harness, which would keep it to itself.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: published servers are fetched by `cargo xtask published` alone"
        );
        return;
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain([uv.into()]);
    let path = std::env::join_paths(dirs).expect("they are usable in a path");
    let failed: Vec<String> = SERVERS
        .iter()
        .filter_map(|(name, command)| {
            let world = World::new()
                .front(&format!("tools: {name}"))
                .config(&json!({ "mcpServers": { *name: { "command": command, "sandboxNetwork": true } } }))
                .then_always(report("done"));
            let began = std::time::Instant::now();
            let mut run = world.run_command(&[], "do it");
            run.env("PATH", &path);
            // Where certificates are is the tester's matter, and no secret: a person has it in the environment too.
            let certificates = ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"];
            run.envs(certificates.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
            let outcome = world.finish(crate::world::start(&mut run));
            if outcome.code != Some(0) {
                return Some(format!("{name}: {outcome:#?}"));
            }
            let log = world.log(outcome.run_id());
            let tools = offered(&log[0], name);
            let _ = writeln!(std::io::stderr(), "{name}: {tools} tools after {:?}", began.elapsed());
            (tools == 0).then(|| format!("{name} offers no tools"))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// How many tools of a server are in the catalogue of a run.
fn offered(started: &Value, server: &str) -> usize {
    let prefix = format!("{server}__");
    let catalogue = started["data"]["tools"].as_str().unwrap_or_default();
    catalogue.matches(&format!("\"name\":\"{prefix}")).count()
}
