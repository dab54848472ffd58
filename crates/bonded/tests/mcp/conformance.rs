//! The public conformance suite of MCP for servers. It runs against the program's own protocol layer, which serves
//! what the suite wants, and, as far as that goes, against the program itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::any;
use bonded_host::CancellationToken;
use bonded_kernel::Hash;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::fixture::{CONNECTION_MAX, Fixture};
use crate::installed::installed;
use crate::served::{Served, report};
use bonded_mcp::http::Endpoint;
use bonded_web::connection;

/// How many scenarios the suite has for servers: all must pass.
const SCENARIOS: usize = 32;

/// The scenarios that want nothing but what an agent server has.
const OF_AGENTS: [&str; 6] = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
];

type Reached = State<Arc<Endpoint<Fixture>>>;

async fn reached(State(endpoint): Reached, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if let Some(refused) = endpoint.unwelcome(&head.headers) {
        return refused;
    }
    match head.method {
        Method::GET => endpoint.get(Hash::ZERO, &head.headers),
        Method::DELETE => endpoint.delete(Hash::ZERO, &head.headers),
        _ => {
            let body = whole(body).await;
            endpoint.post(Hash::ZERO, &head.headers, &body).await
        }
    }
}

async fn whole(body: Body) -> Vec<u8> {
    let pieces = body.into_data_stream();
    let pieces: Vec<_> = pieces
        .map(|piece| piece.expect("it comes whole"))
        .collect()
        .await;
    pieces.concat()
}

/// Serves the fixture until the token is cancelled.
fn serve(stop: CancellationToken) -> SocketAddr {
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime starts").block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let bound = listener.local_addr().expect("it is bound");
            sender.send(bound).expect("the test waits for it");
            let endpoint = Endpoint::new(Arc::new(Fixture), false, stop.clone())
                .closing_after(Some(CONNECTION_MAX));
            let router = Router::new().route("/mcp", any(reached));
            let router = router.with_state(Arc::new(endpoint));
            connection::accept(listener, router, stop).await;
        });
    });
    address.recv().expect("it listens")
}

/// Runs the suite, and gives what it found: for each scenario its checks. `None` where it is not installed.
fn suite(url: &str, arguments: &[&str]) -> Option<BTreeMap<String, Vec<Value>>> {
    let (node, js) = (installed("BONDED_SDK_NODE")?, installed("BONDED_MCP_JS")?);
    let temp = tempfile::tempdir().expect("a temporary directory");
    let output = Command::new(node)
        .arg(js.join("@modelcontextprotocol/conformance/dist/index.js"))
        .args(["server", "--url", url, "--output-dir", "found"])
        .args(arguments)
        .current_dir(temp.path())
        .stdin(Stdio::null())
        .output()
        .expect("node is there");
    let told = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{said}");
    Some(found(&temp.path().join("found")))
}

/// The checks that the suite has left, by the name of its directory.
fn found(dir: &Path) -> BTreeMap<String, Vec<Value>> {
    let scenarios = std::fs::read_dir(dir).expect("the suite has written");
    let scenarios = scenarios.map(|entry| entry.expect("it can be read").path());
    let named = scenarios.map(|dir| {
        let text = std::fs::read_to_string(dir.join("checks.json")).expect("it can be read");
        let checks = serde_json::from_str(&text).expect("it is a list of checks");
        let name = dir.file_name().expect("it has a name").to_string_lossy();
        (name.into_owned(), checks)
    });
    named.collect()
}

/// Nothing failed, and there is nothing to warn of.
fn check(scenario: &str, checks: &[Value]) {
    assert!(!checks.is_empty(), "{scenario}");
    for check in checks {
        let status = check["status"].as_str().unwrap_or_default();
        assert!(
            matches!(status, "SUCCESS" | "INFO"),
            "{scenario}: {check:#}"
        );
    }
}

#[test]
fn the_suite_finds_nothing_in_any_scenario_not_even_something_to_warn_of() {
    let stop = CancellationToken::new();
    let url = format!("http://{}/mcp", serve(stop.clone()));
    let Some(found) = suite(&url, &["--suite", "all"]) else {
        return;
    };
    assert_eq!(found.len(), SCENARIOS, "{:?}", found.keys());
    for (scenario, checks) in &found {
        check(scenario, checks);
    }
    // The suite does not mind a server that never closes a stream; we want to have seen it.
    let mut checks = found.values().flatten();
    let resumed = checks.find(|check| check["id"] == "server-sse-disconnect-resume");
    let resumed = resumed.map(|check| check["status"].clone());
    assert_eq!(resumed, Some("SUCCESS".into()));
    stop.cancel();
}

#[test]
fn the_suite_finds_nothing_where_agents_are_served() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
    let url = format!("http://{}/mcp", served.address);
    for scenario in OF_AGENTS {
        let Some(found) = suite(&url, &["--scenario", scenario]) else {
            return;
        };
        assert_eq!(found.len(), 1, "{scenario}");
        found.values().for_each(|checks| check(scenario, checks));
    }
}
