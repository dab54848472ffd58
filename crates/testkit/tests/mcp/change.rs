//! Servers that change their tools while a run uses them.

use std::sync::{Arc, Mutex};

use bonded_kernel::Mask;
use bonded_tools::Registry;
use bonded_tools::mcp::McpNews;
use serde_json::{Value, json};

use crate::world::{World, invocation, pool, registry, server, until};

/// A tool that is an alias for nothing: the server knows it only from its list.
fn extra(description: &str, schema: &Value) -> String {
    json!([{ "name": "extra", "description": description, "inputSchema": schema }]).to_string()
}

fn object() -> Value {
    json!({ "type": "object" })
}

struct Changing {
    world: World,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Changing {
    /// A world whose server offers one more tool, which can become another one.
    async fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(temp.path().join("tools"), extra("first", &object())).expect("written");
        let warnings = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&warnings);
        let pool = pool(4).telling(Arc::new(move |news| {
            if let McpNews::Warning(warning) = news {
                heard.lock().expect("nobody panics").push(warning.into());
            }
        }));
        let started = pool.start(&[server("srv", &temp, &[])]).await;
        let world = World {
            registry: registry(started.expect("it starts")),
            temp,
            pool,
            limits: Default::default(),
        };
        Self { world, warnings }
    }

    fn become_other(&self, tools: &str) {
        std::fs::write(self.world.path("tools"), tools).expect("it is written");
    }

    async fn check_refused(&self, part: &str) {
        let reason = self.world.fault("extra", json!({})).await;
        for part in ["tool_changed: ", "\"srv\"", "\"extra\"", part] {
            assert!(reason.contains(part), "{part} in {reason}");
        }
        let warnings = self.warnings.lock().expect("nobody panics");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains(part), "{warnings:?}");
    }
}

#[tokio::test]
async fn a_tool_that_its_server_announces_as_changed_is_not_called() {
    for (tools, part) in [
        (extra("second", &object()), "the description"),
        (
            extra("first", &json!({ "type": "object", "title": "x" })),
            "the input schema",
        ),
        ("[]".into(), "no longer offers"),
    ] {
        let changing = Changing::new().await;
        let world = &changing.world;
        // The server has no such tool: it answers an error, so that the call has reached it.
        let reason = world.fault("extra", json!({})).await;
        assert!(reason.starts_with("mcp_request_refused: "), "{reason}");
        changing.become_other(&tools);
        world.ok("announce", json!({})).await;
        changing.check_refused(part).await;
        changing.check_refused(part).await;
        assert_eq!(
            world.ok("test", json!({ "text": "others stay" })).await,
            "others stay"
        );
    }
}

#[tokio::test]
async fn a_tool_that_is_another_one_after_a_restart_is_not_called() {
    let changing = Changing::new().await;
    changing.become_other(&extra("second", &object()));
    changing.world.fault("crash", json!({})).await;
    changing.check_refused("the description").await;
}

#[tokio::test]
async fn a_run_that_begins_later_is_offered_what_there_is_by_then() {
    let changing = Changing::new().await;
    let world = &changing.world;
    changing.become_other(&extra("second", &object()));
    world.ok("announce", json!({})).await;
    let wanted = [server("srv", &world.temp, &[])];
    let later = registry(world.pool.start(&wanted).await.expect("it runs"));
    let spec = later.catalog().spec("srv__extra").expect("it is offered");
    assert_eq!(spec.description, "second");
    let call = invocation(&later, &world.limits, "srv__extra", &json!({}));
    let text = later.invoke(&call, &Mask::default()).await.text;
    assert!(text.contains("mcp_request_refused"), "{text}");
    changing.check_refused("the description").await;
}

#[tokio::test]
async fn a_run_that_is_resumed_calls_no_tool_that_became_another_one() {
    let changing = Changing::new().await;
    let world = &changing.world;
    let before = world.registry.catalog().clone();
    changing.become_other(&extra("second", &object()));
    world.ok("announce", json!({})).await;
    let wanted = [server("srv", &world.temp, &[])];
    let now = registry(world.pool.start(&wanted).await.expect("it runs"));
    let resumed: Arc<Registry> = Arc::new(now).pinned_to(&before);
    for (tool, part) in [("srv__extra", "tool_changed: "), ("srv__pid", "")] {
        let call = invocation(&resumed, &world.limits, tool, &json!({}));
        let text = resumed.invoke(&call, &Mask::default()).await.text;
        assert!(text.contains(part), "{tool}: {text}");
        assert_eq!(
            text.contains("tool_changed"),
            !part.is_empty(),
            "{tool}: {text}"
        );
    }
    until("a person is warned", || {
        !changing.warnings.lock().expect("nobody panics").is_empty()
    })
    .await;
}
