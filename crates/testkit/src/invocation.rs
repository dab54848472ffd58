//! Calls as tools get them: made by the kernel, for tests of tools that do without a run.

use bonded_kernel::{
    Effect, Input, Invocation, Limits, Millis, Reply, ReplyCall, RunConfig, RunId, RunStarted,
    Target, start, step,
};
use bonded_tools::Registry;
use serde_json::Value;

/// A call that the kernel has decoded, checked and logged.
pub fn invocation(
    registry: &Registry,
    limits: &Limits,
    tool: &str,
    arguments: &Value,
) -> Invocation {
    let config = RunConfig {
        limits: limits.clone(),
        ..RunConfig::new("/", vec![Target::new("script", "none", "none")])
    };
    let started = RunStarted::new(
        "goal".into(),
        "system".into(),
        config,
        registry.catalog().clone(),
    );
    let id = RunId::new("test").expect("it is a run id");
    let (mut run, first) = start(id, Millis(0), started);
    let head = first.after();
    let Effect::Ask { turn, attempt } = first.release(head).expect("it is durable") else {
        panic!("the run asks first");
    };
    let call = ReplyCall {
        id: "c1".into(),
        tool: tool.into(),
        arguments: arguments.to_string(),
    };
    let reply = Box::new(Reply {
        calls: vec![call],
        ..Reply::default()
    });
    let next = step(
        &mut run,
        Millis(1),
        Input::Reply {
            turn,
            attempt,
            reply,
        },
    );
    let head = next.after();
    match next.release(head).expect("it is durable") {
        Effect::Invoke(invocation) => invocation,
        other => panic!("{tool} {arguments} was not let through: {other:?}"),
    }
}
