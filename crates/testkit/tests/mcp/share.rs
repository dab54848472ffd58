//! One process for many users, and how servers are started side by side.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bonded_kernel::{Limits, Mask};
use bonded_tools::mcp::{McpServer, McpTransport, StdioCommand};
use serde_json::json;

use crate::world::{invocation, is_alive, pool, registry, server, until};

#[tokio::test]
async fn a_server_is_started_once_however_many_ask_for_it() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let pool = pool(4);
    let wanted = [server("srv", &temp, &[])];
    let (first, second) = tokio::join!(pool.start(&wanted), pool.start(&wanted));
    let third = pool.start(&wanted).await;
    let mut pids = vec![];
    for started in [first, second, third] {
        let registry = registry(started.expect("it starts"));
        let call = invocation(&registry, &Default::default(), "srv__pid", &json!({}));
        pids.push(registry.invoke(&call, &Mask::default()).await.text);
    }
    assert!(pids[0] == pids[1] && pids[1] == pids[2], "{pids:?}");
    let mut other = server("srv", &temp, &[("OTHER", "1")]);
    let error = pool
        .start(&[other.clone()])
        .await
        .expect_err("it runs already");
    assert!(error.to_string().contains("with other settings"), "{error}");
    other.name = "srv2".into();
    let started = pool.start(&[other]).await.expect("it has its own name");
    assert!(started.tools[0].spec().name.starts_with("srv2__"));
}

#[tokio::test]
async fn a_server_that_did_not_start_can_be_tried_again_with_other_settings() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let pool = pool(4);
    let mut wanted = server("srv", &temp, &[]);
    let McpTransport::Stdio(good) = wanted.transport.clone() else {
        panic!("it is a command");
    };
    let mut bad = good.clone();
    bad.command = "/no/such/program".into();
    wanted.transport = McpTransport::Stdio(bad);
    pool.start(&[wanted.clone()])
        .await
        .expect_err("there is no such program");
    wanted.transport = McpTransport::Stdio(good);
    pool.start(&[wanted]).await.expect("it starts now");
}

#[tokio::test]
async fn no_more_servers_are_started_at_once_than_may_be() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let pool = pool(1);
    let wanted = ["a", "b", "c"].map(|name| server(name, &temp, &[("START_DELAY_MS", "200")]));
    let begun = Instant::now();
    let started = pool.start(&wanted).await.expect("they start");
    assert!(begun.elapsed() >= Duration::from_millis(600));
    assert_eq!(started.tools.len() % 3, 0);
    let names: Vec<&str> = started
        .tools
        .iter()
        .map(|tool| tool.spec().name.as_str())
        .collect();
    assert!(
        names.contains(&"a__pid") && names.contains(&"c__pid"),
        "{names:?}"
    );
}

#[tokio::test]
async fn tools_of_two_servers_with_one_name_are_refused() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let extra = json!([{ "name": "b__pid", "inputSchema": { "type": "object" } }]).to_string();
    let wanted = [
        server("a", &temp, &[("EXTRA_TOOLS", &extra)]),
        server("a__b", &temp, &[]),
    ];
    let error = pool(4).start(&wanted).await.expect_err("the names collide");
    assert!(error.to_string().contains("\"a__b__pid\""), "{error}");
}

#[tokio::test]
async fn tools_that_are_denied_or_unusable_are_not_offered() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let extra = json!([{ "name": "bad", "inputSchema": { "type": "string" } }]).to_string();
    let mut wanted = server("srv", &temp, &[("EXTRA_TOOLS", &extra)]);
    wanted.tools_denied = vec!["CRASH".into()];
    let started = pool(4).start(&[wanted]).await.expect("it starts");
    let names: Vec<&str> = started
        .tools
        .iter()
        .map(|tool| tool.spec().name.as_str())
        .collect();
    assert!(names.contains(&"srv__test"), "{names:?}");
    assert!(
        !names.contains(&"srv__crash") && !names.contains(&"srv__bad"),
        "{names:?}"
    );
    assert_eq!(started.warnings.len(), 1, "{:?}", started.warnings);
}

#[tokio::test]
async fn a_servers_own_limit_times_a_call_out_too() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let mut wanted = server("srv", &temp, &[]);
    wanted.request_timeout_ms = Some(100);
    let pool = pool(4);
    let registry = registry(pool.start(&[wanted]).await.expect("it starts"));
    let slow = json!({ "text": "trigger-timeout" });
    for (arguments, text) in [
        (slow, "(tool failed: timeout)"),
        (json!({ "text": "next" }), "next"),
    ] {
        let call = invocation(&registry, &Default::default(), "srv__test", &arguments);
        assert_eq!(registry.invoke(&call, &Mask::default()).await.text, text);
    }
}

#[tokio::test]
async fn calls_of_one_queue_do_not_run_side_by_side() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let mut wanted = server("srv", &temp, &[]);
    wanted.queue = Some("narrow".into());
    let pool = pool(4);
    let registry = registry(pool.start(&[wanted]).await.expect("it starts"));
    let call = invocation(
        &registry,
        &Default::default(),
        "srv__slow",
        &json!({ "ms": 150 }),
    );
    let begun = Instant::now();
    let mask = Mask::default();
    let outputs = tokio::join!(registry.invoke(&call, &mask), registry.invoke(&call, &mask),);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    for output in [outputs.0, outputs.1] {
        assert_eq!(output.text, "slept 150 ms");
        assert!(output.latency_ms < 300, "{}", output.latency_ms);
    }
}

#[tokio::test]
async fn a_server_that_is_not_shared_is_one_for_each_run_and_ends_with_it() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let mut wanted = server("srv", &temp, &[]);
    wanted.shared = false;
    let pool = pool(4);
    let mut pids = vec![];
    let mut runs = vec![];
    for _ in 0..2 {
        let started = pool.start(std::slice::from_ref(&wanted)).await;
        let registry = registry(started.expect("it starts"));
        let call = invocation(&registry, &Default::default(), "srv__pid", &json!({}));
        pids.push(registry.invoke(&call, &Mask::default()).await.text);
        runs.push(registry);
    }
    assert_ne!(pids[0], pids[1]);
    drop(runs.remove(0));
    until("the first run's server has ended", || !is_alive(&pids[0])).await;
    assert!(is_alive(&pids[1]));
    pool.stop().await;
    assert!(!is_alive(&pids[1]));
}

#[tokio::test]
async fn a_timeout_restarts_a_private_server_and_no_shared_one() {
    for shared in [false, true] {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let mut wanted = server("srv", &temp, &[]);
        wanted.shared = shared;
        let pool = pool(4);
        let registry = registry(pool.start(&[wanted]).await.expect("it starts"));
        let mut pids = vec![];
        let slow = json!({ "text": "trigger-timeout" });
        for (tool, arguments, tool_timeout_ms) in [
            ("pid", json!({}), 20_000),
            ("test", slow, 100),
            ("pid", json!({}), 20_000),
        ] {
            let tool = format!("srv__{tool}");
            let limits = Limits {
                tool_timeout_ms,
                ..Limits::default()
            };
            let call = invocation(&registry, &limits, &tool, &arguments);
            pids.push(registry.invoke(&call, &Mask::default()).await.text);
        }
        assert_eq!(pids[1], "(tool failed: timeout)");
        assert_eq!(pids[0] == pids[2], shared, "{pids:?}");
    }
}

#[tokio::test]
async fn a_server_that_fails_at_once_is_told_before_a_slow_one_is_up() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let slow = || server("slow", &temp, &[("START_DELAY_MS", "60000")]);
    let broken = |required| McpServer {
        required,
        ..McpServer::stdio(
            "broken",
            StdioCommand {
                command: "/bin/false".into(),
                ..StdioCommand::default()
            },
        )
    };
    let starting = pool(4);
    let error = starting.start(&[slow(), broken(true)]).await;
    let error = error.expect_err("it cannot start").to_string();
    assert!(error.contains("\"broken\""), "{error}");
    starting.stop().await;

    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    let pool = Arc::new(pool(4).telling(Arc::new(move |news| {
        let _ = sender.send(format!("{news:?}"));
    })));
    let (starting, wanted) = (Arc::clone(&pool), [slow(), broken(false)]);
    let started = tokio::spawn(async move { starting.start(&wanted).await.map(drop) });
    // That both begin, and that one is through, is told too.
    let told = loop {
        let told = told.recv().await.expect("it is told");
        if !told.starts_with("Start") {
            break told;
        }
    };
    assert!(
        told.contains("broken") && told.contains("left out"),
        "{told}"
    );
    assert!(!started.is_finished(), "the slow one still starts");
    pool.stop().await;
}
