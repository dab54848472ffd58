//! What the registry holds every tool to.

use std::sync::Arc;

use bonded_kernel::{Invocation, Outcome, ToolEffect, ToolSpec};
use bonded_tools::{Registry, Tool, ToolFault, ToolValue};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::world::World;

struct Fake {
    spec: ToolSpec,
    act: fn() -> BoxFuture<'static, Result<ToolValue, ToolFault>>,
}

impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _: Value,
        _: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        (self.act)()
    }
}

fn fake(
    name: &str,
    act: fn() -> BoxFuture<'static, Result<ToolValue, ToolFault>>,
) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: name.into(),
        description: "A fake.".into(),
        schema: json!({ "type": "object" }),
        effect: ToolEffect::Read,
        sandbox: None,
        resource: None,
        deferred: false,
    };
    Arc::new(Fake { spec, act })
}

#[tokio::test]
async fn a_call_that_runs_too_long_is_timed_out() {
    let mut world = World::of(vec![fake("slow", || Box::pin(std::future::pending()))]);
    world.limits.tool_timeout_ms = 20;
    let output = world.call("slow", json!({})).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    assert_eq!(output.text, "(tool failed: timeout)");
    assert!(output.latency_ms >= 20, "{}", output.latency_ms);
}

#[tokio::test]
async fn an_output_over_the_cap_is_cut_and_its_size_recorded() {
    let act = || -> BoxFuture<'static, _> { Box::pin(async { Ok(json!("x".repeat(998)).into()) }) };
    let mut world = World::of(vec![fake("long", act)]);
    world.limits.tool_output_bytes_max = 100;
    let output = world.call("long", json!({})).await;
    assert_eq!(
        (output.outcome, output.cut_from_bytes),
        (Outcome::Ok, Some(1000))
    );
    let notice = "[TRUNCATED] Original size 1000 bytes; truncated to 100 bytes.\n\n\"xx";
    assert!(output.text.starts_with(notice), "{}", output.text);
    assert_eq!(output.text.len(), 100);
    world.limits.tool_output_bytes_max = 1000;
    let output = world.call("long", json!({})).await;
    assert_eq!((output.text.len(), output.cut_from_bytes), (1000, None));
}

#[tokio::test]
async fn a_fault_is_shown_with_its_code() {
    let act = || -> BoxFuture<'static, _> {
        Box::pin(async { Err(ToolFault::new("io", "disk on fire")) })
    };
    let world = World::of(vec![fake("bad", act)]);
    let output = world.call("bad", json!({})).await;
    assert_eq!(output.outcome, Outcome::Failed);
    assert_eq!(output.text, "(tool failed: io: disk on fire)");
}

#[tokio::test]
#[should_panic(expected = "out of cheese")]
async fn a_panic_of_a_tool_unwinds_to_the_caller() {
    let act = || -> BoxFuture<'static, _> { Box::pin(async { panic!("out of cheese") }) };
    World::of(vec![fake("panics", act)])
        .call("panics", json!({}))
        .await;
}

#[tokio::test]
async fn a_call_of_a_tool_that_is_not_there_fails() {
    let act = || -> BoxFuture<'static, _> { Box::pin(async { Ok(json!(1).into()) }) };
    let invocation = World::of(vec![fake("elsewhere", act)]).invocation("elsewhere", &json!({}));
    let output = World::new()
        .registry
        .invoke(&invocation, &bonded_kernel::Mask::default())
        .await;
    assert_eq!(output.outcome, Outcome::Failed);
    assert!(
        output.text.starts_with("(tool failed: unknown_tool: "),
        "{}",
        output.text
    );
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let act = || -> BoxFuture<'static, _> { Box::pin(async { Ok(json!(1).into()) }) };
    assert!(Registry::new(vec![fake("same", act), fake("same", act)]).is_err());
    assert!(Registry::new(vec![fake("done", act)]).is_err());
}
