//! REST tools and OpenAPI documents in the hands of an agent.

use serde_json::{Value, json};

use crate::provider::Provider;
use crate::reply::{call, raw, report};
use crate::world::World;

const SHOP: &str = "
openapi: 3.1.0
paths:
  /items/{id}:
    get:
      operationId: item
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
    post:
      operationId: upload
      requestBody: { required: true, content: { multipart/form-data: {} } }
";

fn json_server() -> Provider {
    Provider::serving(|_| raw(200, "application/json", r#"{ "t": 21 }"#))
}

fn url(server: &Provider, path: &str) -> String {
    server.origin() + path
}

#[test]
fn a_rest_tool_is_called_by_either_name_and_its_secret_stays_out_of_the_log() {
    for named in ["weather", "rest__weather"] {
        let server = json_server();
        let weather = json!({
            "description": "The weather of a city.",
            "url": url(&server, "/now/${parameters.city}"),
            "headers": { "Authorization": "Bearer ${WEATHER_KEY}" },
            "parametersSchema": { "city": { "type": "string" } },
        });
        let world = World::new()
            .front(&format!("tools: {named}"))
            .config(&json!({ "restTools": { "weather": weather } }))
            .file(".ai-agent.env", "WEATHER_KEY=hunter2")
            .says([
                call("rest__weather", json!({ "city": "../Köln" })),
                call("rest__weather", json!({ "city": "Köln" })),
                report("21"),
            ]);
        let outcome = world.run(&[], "how warm is it?").good();
        assert!(outcome.requests[0].tools().contains(&"rest__weather"));
        let texts = outcome.tool_texts();
        assert!(
            texts[0].starts_with("(tool failed: bad_arguments"),
            "{}",
            texts[0]
        );
        assert_eq!(texts[1], r#"{"t":21}"#);
        let seen = server.heard();
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].path, "/now/K%C3%B6ln");
        assert_eq!(seen[0].headers["authorization"], "Bearer hunter2");
        let log = Value::Array(world.log(outcome.run_id())).to_string();
        assert!(log.contains("rest__weather") && !log.contains("hunter2"));
    }
}

#[test]
fn a_secret_that_a_server_says_again_is_not_shown() {
    let server = Provider::serving(|asked| {
        let said = format!("{} {}", asked.path, asked.headers["x-shop-token"]);
        raw(200, "text/plain", said)
    });
    let shop = json!({
        "url": url(&server, "/?api_key=planted-9xQ2wL7mZk4"),
        "headers": { "X-Shop-Token": "planted-Vb3Nm6Qw9Er" },
    });
    let world = World::new()
        .front("tools: shop")
        .config(&json!({ "restTools": { "shop": shop } }))
        .says([call("rest__shop", json!({})), report("seen")]);
    let outcome = world.run(&[], "look").good();
    assert_eq!(
        outcome.tool_texts(),
        ["/?api_key=[secret api_key] [secret X-Shop-Token]"]
    );
    assert_eq!(
        server.heard()[0].headers["x-shop-token"],
        "planted-Vb3Nm6Qw9Er"
    );
}

#[test]
fn the_operations_of_a_document_are_called_and_what_is_left_out_is_said() {
    let server = json_server();
    let shop = json!({ "spec": "api/shop.yaml", "baseUrl": url(&server, "/v2") });
    let world = World::new()
        .front("tools: openapi:shop")
        .config(&json!({ "openapiSpecs": { "shop": shop } }))
        .file("api/shop.yaml", SHOP)
        .says([
            call("openapi__shop__item", json!({ "id": "a b" })),
            report("seen"),
        ]);
    let outcome = world.run(&[], "look").good();
    assert_eq!(outcome.tool_texts(), [r#"{"t":21}"#]);
    assert_eq!(server.heard()[0].path, "/v2/items/a%20b");
    let warned = "openapi:shop: POST /items/{id} is left out: its body is multipart/form-data";
    assert!(outcome.stderr.contains(warned), "{}", outcome.stderr);
}

#[test]
fn a_tool_that_the_service_cannot_be_told_of_is_left_out_and_the_run_goes_on() {
    let server = json_server();
    let tool = |schema: Value| json!({ "url": url(&server, "/"), "parametersSchema": schema });
    let union = json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
        "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] });
    // Its reference leads nowhere once the union is gone, and a part with a name of its own keeps it from being moved.
    let knot = json!({ "type": "object", "properties": {
            "a": { "$id": "urn:a", "type": "string" }, "b": { "$ref": "#/anyOf/0/properties/c" } },
        "anyOf": [{ "properties": { "c": { "type": "integer" } } }] });
    let world = World::new()
        .front("tools: [union, knot]")
        .config(&json!({ "restTools": { "union": tool(union), "knot": tool(knot) } }))
        .says([
            call("rest__union", json!({})),
            call("rest__union", json!({ "b": "x" })),
            call("rest__knot", json!({ "b": 1 })),
            report("seen"),
        ]);
    let outcome = world.run(&[], "look").good();
    let asked = &outcome.requests[0];
    assert!(asked.tools().contains(&"rest__union"));
    assert!(!asked.tools().contains(&"rest__knot"));
    assert!(!asked.body["tools"].to_string().contains("\"anyOf\":"));
    let texts = outcome.tool_texts();
    assert!(texts[0].contains("anyOf"), "{}", texts[0]);
    assert_eq!(texts[1..], [r#"{"t":21}"#, r#"{"t":21}"#]);
    let warned =
        "the tool \"rest__knot\" is left out: what the service would accept of it is unusable";
    let times = outcome.stderr.matches(warned).count();
    assert_eq!(times, 1, "{}", outcome.stderr);
}

#[test]
fn settings_that_cannot_work_are_refused_before_anything_runs() {
    let rest = |tool: Value| json!({ "restTools": { "x": tool } });
    let openapi = |document: Value| json!({ "openapiSpecs": { "x": document } });
    let rows = [
        (
            "x",
            rest(json!({ "url": "http://${parameters.h}/" })),
            &["restTools.x.url", "host"][..],
        ),
        (
            "x",
            rest(json!({ "url": "http://h/", "method": "LOOK" })),
            &["restTools.x.method", "GET"],
        ),
        (
            "x",
            rest(json!({ "url": "http://h/", "redirects": "all" })),
            &["restTools.x.redirects", "same-origin"],
        ),
        (
            "x",
            rest(json!({ "url": "http://h/", "streaming": { "mode": "lines" } })),
            &["streaming.mode", "json-stream"],
        ),
        (
            "x",
            rest(json!({ "url": "http://h/", "headers": { "Host": "secret-value" } })),
            &["restTools.x.headers.Host"],
        ),
        (
            "x",
            rest(json!({ "url": "http://h/", "parametersSchema": { "type": "string" } })),
            &["restTools.x.parametersSchema", "object"],
        ),
        (
            "openapi:x",
            openapi(json!({ "spec": "gone.yaml" })),
            &["openapiSpecs.x.spec", "gone.yaml"],
        ),
        (
            "openapi:x",
            openapi(json!({ "spec": "https://h/api.json" })),
            &["openapiSpecs.x.spec", "local file"],
        ),
        (
            "openapi:x",
            openapi(json!({ "spec": "shop.yaml" })),
            &["openapiSpecs.x.baseUrl", "server"],
        ),
        (
            "openapi:x",
            openapi(json!({ "spec": "agent.md" })),
            &["openapiSpecs.x.spec", "OpenAPI"],
        ),
    ];
    for (named, config, said) in rows {
        let world = World::new()
            .front(&format!("tools: {named}"))
            .config(&config)
            .file("shop.yaml", SHOP)
            .file("agent.md", "# no document\n");
        let outcome = world.run(&[], "x").refused(4, said);
        assert!(
            !outcome.stderr.contains("secret-value"),
            "{}",
            outcome.stderr
        );
    }
}
