//! The public conformance suite of MCP for servers. It runs against the program's own protocol layer, which serves
//! what the suite wants, and, as far as that goes, against the program itself.

use std::net::SocketAddr;
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
use tokio::net::TcpListener;

use crate::connection;
use crate::fixture::{CONNECTION_MAX, Fixture};
use crate::installed::installed;
use crate::layer::http::Endpoint;
use crate::served::{Served, report};

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

/// Runs the suite. `None` where it is not installed.
fn node(arguments: &[&str]) -> Option<(bool, String)> {
    let (node, js) = (installed("BONDED_SDK_NODE")?, installed("BONDED_MCP_JS")?);
    let temp = tempfile::tempdir().expect("a temporary directory");
    let output = Command::new(node)
        .arg(js.join("@modelcontextprotocol/conformance/dist/index.js"))
        .args(arguments)
        .current_dir(temp.path())
        .stdin(Stdio::null())
        .output()
        .expect("node is there");
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Some((output.status.success(), told))
}

fn passes(url: &str, scenario: &str) {
    let arguments = ["server", "--url", url, "--scenario", scenario, "--verbose"];
    if let Some((passed, told)) = node(&arguments) {
        let is_clean = !told.contains("\"FAILURE\"") && !told.contains("\"WARNING\"");
        assert!(passed && is_clean, "{scenario}: {told}");
    }
}

/// The scenarios of the suite itself: one that a later version adds is run too.
fn scenarios() -> Option<Vec<String>> {
    let told = node(&["list", "--server"])?.1;
    let lines = told.lines().filter_map(|line| line.strip_prefix("  - "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    Some(names.map(str::to_owned).collect())
}

#[test]
fn the_suite_finds_nothing_in_any_scenario_not_even_something_to_warn_of() {
    let Some(scenarios) = scenarios() else {
        return;
    };
    assert_eq!(scenarios.len(), SCENARIOS, "{scenarios:?}");
    let stop = CancellationToken::new();
    let url = format!("http://{}/mcp", serve(stop.clone()));
    for scenario in scenarios {
        passes(&url, &scenario);
    }
    stop.cancel();
}

#[test]
fn the_suite_finds_nothing_where_agents_are_served() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
    let url = format!("http://{}/mcp", served.address);
    for scenario in OF_AGENTS {
        passes(&url, scenario);
    }
}
