//! MCP servers, and the queues that tools are bound to.

use bonded_host::config::{HealthProbe, McpServer, McpTransport, QueueEntry};
use serde_json::{Value, json};

use crate::world::World;

pub(crate) fn server(settings: &Value) -> Result<McpServer, String> {
    let world = World::with(&json!({"mcpServers": {"s": settings}}).to_string());
    let server = world.load().mcp_server("s");
    let server = server.map_err(|problems| world.shown(&problems))?;
    Ok(server.expect("it is there"))
}

/// The transport as a line.
fn line(transport: &McpTransport) -> String {
    match transport {
        McpTransport::Stdio { program, args, .. } => format!("stdio {program} {}", args.join(" ")),
        McpTransport::Http(endpoint) => format!("http {}", endpoint.url),
        McpTransport::Sse(endpoint) => format!("sse {}", endpoint.url),
        McpTransport::Websocket(endpoint) => format!("websocket {}", endpoint.url),
    }
}

#[test]
fn the_transport_is_said_or_follows_from_the_command_and_the_url() {
    let rows = [
        (json!({"type": "stdio", "command": "c"}), "stdio c "),
        (
            json!({"type": "local", "command": ["c", "a"], "args": ["b"]}),
            "stdio c a b",
        ),
        (json!({"command": "c d", "args": ["b"]}), "stdio c d b"),
        (json!({"command": "c", "url": "http://x"}), "stdio c "),
        (
            json!({"type": "http", "url": "http://x/sse"}),
            "http http://x/sse",
        ),
        (
            json!({"type": "remote", "url": "http://x"}),
            "http http://x",
        ),
        (
            json!({"type": "remote", "url": "http://x/sse"}),
            "sse http://x/sse",
        ),
        (json!({"type": "sse", "url": "http://x"}), "sse http://x"),
        (json!({"url": "http://x"}), "http http://x"),
        (json!({"url": "http://x/sse?a"}), "sse http://x/sse?a"),
        (json!({"url": "wss://x"}), "websocket wss://x"),
        (
            json!({"type": "websocket", "url": "ws://x"}),
            "websocket ws://x",
        ),
    ];
    for (settings, expected) in rows {
        let found = server(&settings).expect("it is good");
        assert_eq!(line(&found.transport), expected, "{settings}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_by_anything_is_a_problem() {
    let rows = [
        (json!({}), "mcpServers.s: it needs a command or a url"),
        (json!({"type": "stdio"}), "mcpServers.s: it needs a command"),
        (json!({"command": []}), "it needs a command"),
        (
            json!({"type": "http", "command": "c"}),
            "mcpServers.s: it needs a url",
        ),
        (
            json!({"type": "pigeon", "command": "c"}),
            "mcpServers.s.type must be one of stdio, http",
        ),
        (
            json!({"command": "c", "healthProbe": "poke"}),
            "mcpServers.s.healthProbe must be one of ping, listTools",
        ),
        (
            json!({"url": "nowhere"}),
            "mcpServers.s.url: it is not a URL",
        ),
        (
            json!({"type": "http", "url": "http://"}),
            "mcpServers.s.url: it is not a URL",
        ),
        (
            json!({"url": "https://h:port/"}),
            "mcpServers.s.url: it is not a URL",
        ),
        (
            json!({"url": "file:///etc/passwd"}),
            "mcpServers.s.url: the scheme is \"file\"; write an address such as https://",
        ),
        (
            json!({"type": "http", "url": "ws://h/"}),
            "mcpServers.s.url: the scheme is \"ws\"",
        ),
    ];
    for (settings, expected) in rows {
        let error = server(&settings).expect_err("it is bad");
        assert!(error.contains(expected), "{settings}: {error}");
    }
}

#[test]
fn a_server_that_says_little_gets_the_usual_settings() {
    let usual = server(&json!({"command": "c"})).expect("it is good");
    assert!(usual.enabled && usual.shared);
    assert_eq!(usual.queue, "default");
    assert_eq!(
        (usual.required, usual.request_timeout_ms, usual.health_probe),
        (None, None, None)
    );
    let said = server(&json!({
        "command": "c", "enabled": false, "shared": false, "healthProbe": "listTools",
        "requestTimeoutMs": 5, "required": true, "toolsAllowed": ["a"], "toolsDenied": ["*"], "cwd": "/x",
        "queue": "default",
    }))
    .expect("it is good");
    assert!(!said.enabled && !said.shared);
    assert_eq!(said.health_probe, Some(HealthProbe::ListTools));
    assert_eq!(
        (said.required, said.request_timeout_ms),
        (Some(true), Some(5))
    );
    let with_unit = server(&json!({"command": "c", "requestTimeoutMs": "30s"}));
    let with_unit = with_unit.expect("it is good").request_timeout_ms;
    assert_eq!(with_unit, Some(30_000));
    assert_eq!(
        (said.tools_allowed, said.tools_denied),
        (vec!["a".into()], vec!["*".into()])
    );
    assert!(matches!(said.transport, McpTransport::Stdio { cwd: Some(cwd), .. } if cwd == "/x"));
}

#[test]
fn a_default_queue_is_always_there_and_may_be_configured() {
    let queues = |config: Value, cores| {
        let queues = World::with(&config.to_string()).load().queues(cores);
        let rows = queues
            .into_iter()
            .map(|(name, QueueEntry { concurrent })| (name, concurrent));
        rows.collect::<Vec<_>>()
    };
    let named = |rows: &[(&str, u64)]| {
        let rows = rows
            .iter()
            .map(|(name, concurrent)| ((*name).to_owned(), *concurrent));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(queues(json!({}), 12), named(&[("default", 24)]));
    assert_eq!(queues(json!({}), 100), named(&[("default", 64)]));
    assert_eq!(queues(json!({}), 2), named(&[("default", 16)]));
    let config = json!({"queues": {"default": {"concurrent": 3}, "slow": {"concurrent": 1}}});
    assert_eq!(queues(config, 4), named(&[("default", 3), ("slow", 1)]));
}

#[test]
fn a_binding_to_a_queue_that_is_not_there_stops_the_start_and_names_those_that_are() {
    for section in ["mcpServers", "restTools", "openapiSpecs"] {
        let config = json!({
            section: {"x": {"command": "c", "queue": "fst"}}, "queues": {"fast": {"concurrent": 2}},
        });
        let expected = format!(
            "cwd/.ai-agent.json: {section}.x.queue names the queue \"fst\", which is not configured; the queues are default, fast"
        );
        assert_eq!(World::with(&config.to_string()).problems(), expected);
    }
    let below = World::with(r#"{"mcpServers": {"x": {"command": "c", "queue": "fast"}}}"#).file(
        "etc/ai-agent/ai-agent.json",
        r#"{"queues": {"fast": {"concurrent": 2}}}"#,
    );
    assert!(below.try_load().is_ok());
}

#[test]
fn a_binding_through_a_variable_is_checked_when_the_server_is_used() {
    let world = World::with(r#"{"mcpServers": {"x": {"command": "c", "queue": "${Q}"}}}"#);
    let error = world
        .variable("Q", "gone")
        .load()
        .mcp_server("x")
        .expect_err("no such queue");
    assert!(
        error.to_string().contains("names the queue \"gone\""),
        "{error}"
    );
}
