//! REST tools against real servers: what is sent, and what never is.

use std::sync::Arc;

use bonded_kernel::{Outcome, ToolEffect};
use bonded_tools::rest::{NameLookup, RestEndpoints, RestTool, system_lookup};
use bonded_tools::{Queues, Tool};
use serde_json::{Value, json};

use crate::rest_server::Server;
use crate::world::World;

pub(crate) fn endpoints(lookup: NameLookup) -> RestEndpoints {
    let queues = Queues::new([]).expect("the default queue is usable");
    RestEndpoints::new(Arc::new(queues), lookup)
}

fn tool(settings: &RestTool) -> Arc<dyn Tool> {
    let made = endpoints(system_lookup()).tool(settings);
    made.expect("the settings are good")
}

pub(crate) fn world(settings: &RestTool) -> World {
    World::of(vec![tool(settings)])
}

pub(crate) fn settings(method: &str, url: &str) -> RestTool {
    RestTool::new("x", method, url)
}

#[tokio::test]
async fn a_request_is_sent_as_it_is_described() {
    let server = Server::saying(
        200,
        "content-type: application/json\r\n",
        r#"{ "ok": true }"#,
    );
    let mut described = settings(
        "post",
        &server.url("/v1/${parameters.id}?q=${parameters.q}&lang=en"),
    );
    described.headers = [("X-Team", "blue"), ("X-Q", "<${parameters.q}>")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    described.body_template = Some(json!({ "n": "${parameters.n}", "t": "n=${parameters.n}" }));
    described.parameters_schema = Some(json!({
        "id": { "type": "string" }, "q": { "type": "string" }, "n": { "type": "integer" },
    }));
    let world = world(&described);
    let arguments = json!({ "id": "a/b", "q": "x&y", "n": 5 });
    let invocation = world.invocation("rest__x", &arguments);
    let output = world
        .registry
        .invoke(&invocation, &bonded_kernel::Mask::default())
        .await;
    assert_eq!(
        (output.outcome, output.text.as_str()),
        (Outcome::Ok, r#"{"ok":true}"#)
    );
    let [seen] = <[_; 1]>::try_from(server.seen()).expect("one request came");
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str()),
        ("POST", "/v1/a%2Fb?q=x%26y&lang=en")
    );
    assert_eq!(seen.body, r#"{"n":5,"t":"n=5"}"#);
    for (name, value) in [
        ("x-team", "blue"),
        ("x-q", "<x&y>"),
        ("content-type", "application/json"),
        ("idempotency-key", &invocation.key()),
    ] {
        assert_eq!(
            seen.headers.get(name).map(String::as_str),
            Some(value),
            "{name}"
        );
    }
    assert_eq!(
        seen.headers.get("accept-encoding"),
        None,
        "nothing may come compressed"
    );
}

#[test]
fn the_method_says_what_a_call_does_to_the_world() {
    for (method, effect) in [
        ("GET", ToolEffect::Read),
        ("head", ToolEffect::Read),
        ("OPTIONS", ToolEffect::Read),
        ("PUT", ToolEffect::Idempotent),
        ("Delete", ToolEffect::Idempotent),
        ("POST", ToolEffect::Write),
        ("PATCH", ToolEffect::Write),
    ] {
        let tool = tool(&settings(method, "http://h/"));
        assert_eq!(tool.spec().effect, effect, "{method}");
        assert_eq!(tool.spec().name, "rest__x");
        assert_eq!(tool.queue().map(bonded_tools::Queue::name), Some("default"));
    }
}

type Spoil = fn(&mut RestTool);

#[test]
fn settings_that_cannot_work_are_refused_with_the_key_that_is_wrong() {
    let good = || settings("GET", "http://h/${parameters.a}");
    let rows: [(&str, Spoil); 6] = [
        ("", |it| it.name = "a b".into()),
        ("method", |it| it.method = "TRACE".into()),
        ("url", |it| it.url = "http://${parameters.a}/".into()),
        ("headers.Host", |it| {
            drop(it.headers.insert("Host".into(), "evil".into()));
        }),
        ("bodyTemplate", |it| {
            it.body_template = Some(json!({ "a": "${parameters.}" }));
        }),
        ("parametersSchema", |it| {
            it.parameters_schema = Some(json!({ "type": "array" }));
        }),
    ];
    assert_eq!(good().check(), Ok(()));
    for (key, spoil) in rows {
        let mut settings = good();
        spoil(&mut settings);
        let error = settings.check().expect_err("it is bad");
        assert_eq!(error.key(), key, "{error}");
    }
    let mut unbound = good();
    unbound.queue = Some("nowhere".into());
    let error = endpoints(system_lookup())
        .tool(&unbound)
        .err()
        .expect("there is no such queue");
    assert_eq!(error.key(), "queue");
}

#[tokio::test]
async fn no_argument_leads_a_request_elsewhere() {
    let server = Server::saying(200, "", "ok");
    let elsewhere = Server::saying(200, "", "elsewhere");
    let described = settings(
        "GET",
        &server.url("/api/${parameters.id}/get?q=${parameters.id}"),
    );
    let world = world(&described);
    let port = elsewhere.port();
    let hostile = [
        "../../admin".to_owned(),
        "..".into(),
        "%2e%2e/%2e%2e/admin".into(),
        "..%2f..%2fadmin".into(),
        format!("@127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}/"),
        format!("\\\\127.0.0.1:{port}\\"),
        "#".into(),
        "?admin=1".into(),
        "x&admin=1".into(),
        "x\r\nHost: evil\r\n\r\nGET /admin HTTP/1.1".into(),
        "\0".into(),
        "．．／admin".into(),
        "x".repeat(10 << 20),
    ];
    for id in &hostile {
        let output = world.call("rest__x", json!({ "id": id })).await;
        assert!(output.text.len() < 500, "{}", output.text.len());
    }
    assert!(elsewhere.seen().is_empty());
    let seen = server.seen();
    assert!(
        seen.len() >= 5,
        "what encoding disarms is sent: {}",
        seen.len()
    );
    for seen in seen {
        let (path, query) = seen.target.split_once('?').expect("it has a query");
        let parts: Vec<&str> = path.split('/').collect();
        assert_eq!(
            (parts.len(), parts[1], parts[3]),
            (4, "api", "get"),
            "{path}"
        );
        assert!(query.starts_with("q=") && !query.contains('&'), "{query}");
        assert!(!seen.headers.values().any(|value| value == "evil"));
    }
}

#[test]
fn nothing_that_can_be_printed_holds_a_secret() {
    let mut described = settings("GET", "http://h/?key=hunter2");
    described
        .headers
        .insert("Authorization".into(), "hunter2".into());
    described.body_template = Some(Value::String("hunter2".into()));
    let all = endpoints(system_lookup());
    let made = all.tool(&described).expect("it is good");
    let printed = format!("{described:?} {all:?} {:?}", made.spec());
    assert!(!printed.contains("hunter2"), "{printed}");
}
