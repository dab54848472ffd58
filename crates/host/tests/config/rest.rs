//! REST tools and OpenAPI documents: how they are read, and what is wrong with them.

use bonded_tools::rest::{Reach, Redirects};
use serde_json::{Value, json};

use crate::world::World;

fn with(tool: &Value) -> World {
    World::with(&json!({ "restTools": { "x": tool } }).to_string())
}

#[test]
fn a_rest_tool_is_read_with_its_variables_and_the_usual_policy() {
    let world = with(&json!({
        "url": "http://${HOST}/${parameters.a}", "headers": { "H": "${KEY}" },
        "streaming": { "mode": "json-stream", "linePrefix": "data:", "maxBytes": 5 },
    }));
    let config = world.variable("HOST", "h").variable("KEY", "k").load();
    let tool = config
        .rest_tool("x")
        .expect("it is good")
        .expect("it is there");
    assert_eq!(
        (tool.method.as_str(), tool.url.as_str()),
        ("GET", "http://h/${parameters.a}")
    );
    assert_eq!(tool.headers["H"], "k");
    assert_eq!(
        (tool.redirects, tool.reach),
        (Redirects::Refused, Reach::Public)
    );
    assert_eq!(tool.queue.as_deref(), Some("default"));
    let streaming = tool.streaming.expect("it streams");
    assert_eq!(
        (streaming.line_prefix.as_str(), streaming.bytes_max),
        ("data:", 5)
    );
    assert_eq!(
        (streaming.done_value.as_str(), streaming.timeout_ms),
        ("done", None)
    );
    let policy =
        json!({ "url": "http://h/", "redirects": "same-origin", "privateAddresses": true });
    let tool = with(&policy)
        .load()
        .rest_tool("x")
        .expect("it is good")
        .expect("it is there");
    assert_eq!(
        (tool.redirects, tool.reach),
        (Redirects::SameOrigin, Reach::Private)
    );
}

#[test]
fn a_mistake_is_said_with_its_file_and_its_key() {
    for (tool, expected) in [
        (
            json!({}),
            "cwd/.ai-agent.json: restTools.x.url: it must begin with http",
        ),
        (
            json!({ "url": "http://h/", "headers": { "A B": "s" } }),
            "restTools.x.headers[\"A B\"]: this is not the name",
        ),
        (
            json!({ "url": "http://h/", "bodyTemplate": "${parameters.}" }),
            "restTools.x.bodyTemplate: ",
        ),
        (
            json!({ "url": "http://h/", "method": "X" }),
            "restTools.x.method: it must be GET",
        ),
    ] {
        let world = with(&tool);
        let problems = world.load().rest_tool("x").expect_err("it is bad");
        let shown = world.shown(&problems);
        assert!(shown.contains(expected), "{shown}");
        assert_eq!(world.load().check_all().len(), 1);
    }
}

#[test]
fn headers_of_one_file_never_go_to_the_address_of_a_higher_one() {
    let home = r#"{"restTools": {"x": {"url": "https://good.example/", "headers": {"Authorization": "secret"}}}}"#;
    let low =
        |high: &Value| World::with(&high.to_string()).file("home/.ai-agent/ai-agent.json", home);
    let bad = low(&json!({ "restTools": { "x": { "url": "https://evil.example/" } } }));
    let problems = bad.load().rest_tool("x").expect_err("it is refused");
    let shown = bad.shown(&problems);
    assert!(
        shown.contains("cwd/.ai-agent.json: restTools.x.url would send restTools.x.headers"),
        "{shown}"
    );
    for good in [
        json!({ "restTools": { "x": { "description": "d" } } }),
        json!({ "restTools": { "x": { "url": "https://other.example/", "headers": { "Authorization": null } } } }),
        json!({ "restTools": { "x": { "url": "https://other.example/", "headers": { "Authorization": "own" } } } }),
    ] {
        assert!(low(&good).load().rest_tool("x").is_ok(), "{good}");
    }
}

#[test]
fn a_document_is_read_from_beside_its_configuration() {
    let yaml = "openapi: 3.0.0\nservers: [{url: 'http://h/v1'}]\npaths: {/a: {get: {}}}\n";
    let as_json = json!({ "openapi": "3.1.0", "servers": [{ "url": "http://h" }], "paths": { "/a": { "get": {} } } });
    let config = r#"{"openapiSpecs": {"x": {"spec": "api/doc"}}}"#;
    for text in [
        yaml.to_owned(),
        as_json.to_string(),
        format!("\u{feff}{yaml}"),
    ] {
        let world = World::with(config).file("cwd/api/doc", text);
        let read = world.load().openapi_document("x").expect("it is good");
        assert!(read.expect("it is there").document["paths"]["/a"].is_object());
    }
    for (text, expected) in [
        ("{\"a\": ", "this is not JSON"),
        ("a: [", "this is not YAML"),
        ("a: 1\na: 2", "given twice"),
        ("- 1", "not an OpenAPI document"),
        ("swagger: '2.0'", "Swagger"),
    ] {
        let world = World::with(config).file("cwd/api/doc", text);
        let problems = world.load().openapi_document("x").expect_err("it is bad");
        let shown = world.shown(&problems);
        assert!(
            shown.starts_with("cwd/.ai-agent.json: openapiSpecs.x.spec: "),
            "{shown}"
        );
        assert!(shown.contains(expected), "{shown}");
    }
    let huge = World::with(config).file("cwd/api/doc", "#".repeat(11 << 20));
    let problems = huge.load().openapi_document("x").expect_err("it is bad");
    assert!(problems.to_string().contains("larger than"), "{problems}");
}
