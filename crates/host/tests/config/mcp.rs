//! MCP servers, and the queues that tools are bound to.

use bonded_host::config::{HealthProbe, McpServer, McpTransport, Queue};
use bonded_tools::mcp::{
    Grant, IdentityProvider, OauthSettings, ProviderPlace, Subject, SubjectKind,
};
use bonded_tools::rest::Reach;
use serde_json::{Value, json};

use crate::world::World;

fn server(settings: &Value) -> Result<McpServer, String> {
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
            .map(|(name, Queue { concurrent })| (name, concurrent));
        rows.collect::<Vec<_>>()
    };
    let named = |rows: &[(&str, u64)]| {
        let rows = rows
            .iter()
            .map(|(name, concurrent)| ((*name).to_owned(), *concurrent));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(queues(json!({}), 4), named(&[("default", 8)]));
    assert_eq!(queues(json!({}), 100), named(&[("default", 64)]));
    assert_eq!(queues(json!({}), 0), named(&[("default", 1)]));
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
            "cwd/.ai-agent.json: {section}.x.queue names the queue \"fst\", which is not configured; known are default, fast"
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

#[test]
fn how_tokens_are_had_is_read_and_what_contradicts_itself_is_named() {
    let with = |oauth: Value| json!({"url": "https://x/mcp", "oauth": oauth});
    let found = |settings: &Value| match server(settings)?.transport {
        McpTransport::Http(endpoint) => Ok(endpoint.oauth),
        other => Err(format!("{other:?}")),
    };
    assert_eq!(found(&json!({"url": "https://x/mcp"})), Ok(None));
    let all = with(
        json!({"grant": "client_credentials", "clientId": "i", "clientSecret": "hidden",
        "scopes": ["a b", "c"], "issuer": "https://y", "redirectPort": 8123, "privateAddresses": true}),
    );
    let oauth = found(&all).expect("it is good").expect("it is there");
    let expected = OauthSettings {
        grant: Grant::ClientCredentials,
        client_id: Some("i".into()),
        client_secret: Some("hidden".into()),
        private_key_pem: None,
        scopes: vec!["a".into(), "b".into(), "c".into()],
        issuer: Some("https://y".into()),
        identity_provider: None,
        redirect_port: Some(8123),
        reach: Reach::Private,
    };
    assert_eq!(oauth, expected);
    assert!(!format!("{oauth:?}").contains("hidden"));
    assert_eq!(found(&with(json!({}))), Ok(Some(OauthSettings::default())));
    for (settings, part) in [
        (with(json!({"grant": "password"})), "client_credentials"),
        (with(json!({"grant": "client_credentials"})), "clientId"),
        (with(json!({"clientSecret": "s"})), "clientId"),
        (with(json!({"redirectPort": 70000})), "65535"),
        (
            with(json!({"clientId": "i", "clientSecret": "s", "privateKey": "p"})),
            "take out",
        ),
        (
            json!({"url": "https://x", "oauth": {}, "secretHeaders": {"authorization": "s"}}),
            "take one of them out",
        ),
    ] {
        let error = found(&settings).expect_err("it is wrong");
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn who_vouches_for_a_person_is_read_and_what_is_missing_is_named() {
    let with = |provider: &Value| {
        let oauth =
            json!({"grant": "identity_assertion", "clientId": "i", "identityProvider": provider});
        json!({"url": "https://x/mcp", "oauth": oauth})
    };
    let found = |settings: &Value| match server(settings)?.transport {
        McpTransport::Http(endpoint) => Ok(endpoint.oauth.and_then(|it| it.identity_provider)),
        other => Err(format!("{other:?}")),
    };
    let in_file = json!({"issuer": "https://p", "clientId": "d", "clientSecret": "hidden",
        "tokenFile": "/run/identity", "tokenType": "refresh_token"});
    let expected = IdentityProvider {
        place: ProviderPlace::Issuer("https://p".into()),
        client_id: "d".into(),
        client_secret: Some("hidden".into()),
        subject: Subject::InFile("/run/identity".into()),
        subject_kind: SubjectKind::RefreshToken,
    };
    assert_eq!(found(&with(&in_file)), Ok(Some(expected)));
    let said = json!({"tokenEndpoint": "https://p/token", "clientId": "d", "token": "hidden"});
    let provider = found(&with(&said))
        .expect("it is good")
        .expect("it is there");
    assert_eq!(provider.subject, Subject::Said("hidden".into()));
    assert!(!format!("{provider:?} {:?}", provider.subject).contains("hidden"));
    let but = |change: Value| {
        let mut provider = said.clone();
        let fields = change.as_object().cloned().unwrap_or_default();
        provider.as_object_mut().expect("an object").extend(fields);
        with(&provider)
    };
    let alone = json!({"url": "https://x", "oauth": {"identityProvider": said}});
    let nobody =
        json!({"url": "https://x", "oauth": {"grant": "identity_assertion", "clientId": "i"}});
    for (settings, part) in [
        (with(&json!({})), "issuer, or a tokenEndpoint"),
        (with(&json!({})), "token, or a tokenFile"),
        (with(&json!({})), "needs a clientId"),
        (but(json!({"issuer": "https://p"})), "not both"),
        (but(json!({"tokenFile": "/f"})), "not both"),
        (but(json!({"token": null, "tokenFile": "f"})), "absolute"),
        (but(json!({"tokenType": "saml"})), "id_token, refresh_token"),
        (alone, "need each other"),
        (nobody, "need each other"),
    ] {
        let error = found(&settings).expect_err("it is wrong");
        assert!(error.contains(part), "{part} in {error}");
    }
}
