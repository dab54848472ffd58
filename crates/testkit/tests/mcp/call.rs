//! What a call sends, and what the model is shown.

use std::sync::{Arc, Mutex};

use bonded_kernel::{Image, Outcome, ToolEffect};
use bonded_testkit::stores::logs::PIXEL;
use bonded_tools::mcp::McpNews;
use serde_json::{Value, json};

use crate::world::{World, pool, until};

#[tokio::test]
async fn a_tool_is_shown_with_its_servers_name_description_schema_and_effect() {
    let world = World::new(&[("PAGE", "2"), ("NOISE", "1")]).await;
    let catalog = world.registry.catalog();
    for (tool, effect) in [
        ("srv__test", ToolEffect::Read),
        ("srv__test-summary", ToolEffect::Idempotent),
        ("srv__count", ToolEffect::Write),
        ("srv__meta", ToolEffect::Read),
    ] {
        let spec = catalog.spec(tool).expect("every page was listed");
        assert_eq!(spec.effect, effect, "{tool}");
        let name = tool.trim_start_matches("srv__");
        assert_eq!(spec.description, format!("The tool {name} of the tests."));
    }
    let spec = catalog.spec("srv__test").expect("it is there");
    assert_eq!(spec.schema["required"], json!(["text"]));
    assert!(spec.schema["$schema"].is_string());
    assert_eq!(
        world.ok("test", json!({ "text": "through noise" })).await,
        "through noise"
    );
}

#[tokio::test]
async fn the_model_is_shown_the_text_itself() {
    let world = World::new(&[]).await;
    for (tool, arguments, text) in [
        (
            "test",
            json!({ "text": "say \"hi\"\n\tä😀" }),
            "say \"hi\"\n\tä😀".to_owned(),
        ),
        ("test", json!({ "text": "long-output" }), "#".repeat(3200)),
        (
            "test",
            json!({ "text": "context-guard-600" }),
            "@".repeat(1200),
        ),
        ("test", json!({ "text": "nothing" }), " ".into()),
        ("test", json!({ "text": "" }), " ".into()),
        ("test-summary", json!({ "value": "v" }), "summary: v".into()),
        (
            "picture",
            json!({}),
            format!(
                "[image, image/png, 3000 bytes, not shown: it is not an image: only PNG, JPEG, GIF and WebP are taken]\n\
                 [image 1: image/png, 1x1, {} bytes]",
                PIXEL.len()
            ),
        ),
    ] {
        assert_eq!(
            world.ok(tool, arguments.clone()).await,
            text,
            "{tool} {arguments}"
        );
    }
}

#[tokio::test]
async fn an_image_of_a_server_comes_beside_the_text() {
    let world = World::new(&[]).await;
    let output = world.call("picture", json!({})).await;
    let pixel = Image::read(PIXEL).expect("a pixel is an image");
    assert_eq!(output.images, [pixel]);
}

#[tokio::test]
async fn a_failure_that_the_server_reports_is_a_failed_call() {
    let world = World::new(&[]).await;
    let reason = world
        .fault("test", json!({ "text": "trigger-mcp-failure" }))
        .await;
    assert_eq!(reason, "mcp_tool_failed: the failure that was asked for");
}

#[tokio::test]
async fn a_long_text_is_cut_by_the_registry() {
    let mut world = World::new(&[]).await;
    world.limits.tool_output_bytes_max = 200;
    let output = world.call("test", json!({ "text": "long-output" })).await;
    assert_eq!(
        (output.text.len(), output.cut_from_bytes),
        (200, Some(3200))
    );
    let notice = "[TRUNCATED] Original size 3200 bytes; truncated to 200 bytes.\n\n###";
    assert!(output.text.starts_with(notice), "{}", output.text);
}

#[tokio::test]
async fn every_execution_of_a_call_carries_the_same_key() {
    let world = World::new(&[]).await;
    for _ in 0..2 {
        let meta: Value = world
            .ok("meta", json!({}))
            .await
            .parse()
            .expect("it is JSON");
        assert_eq!(meta["bonded/idempotencyKey"], json!("test/1/0"), "{meta}");
    }
}

#[tokio::test]
async fn a_call_is_executed_once() {
    let world = World::new(&[]).await;
    for expected in ["1", "2", "3"] {
        assert_eq!(world.ok("count", json!({})).await, expected);
    }
    assert_eq!(world.lines("count").len(), 3);
}

#[tokio::test]
async fn the_server_sees_what_it_is_given_and_nothing_of_ours_but_the_harmless() {
    let world = World::new(&[("TOKEN", "<${PATH}>")]).await;
    let seen: Value = world
        .ok("env", json!({}))
        .await
        .parse()
        .expect("it is JSON");
    assert_eq!(seen["TOKEN"], json!("<${PATH}>"));
    assert_eq!(
        seen["PATH"],
        json!(std::env::var("PATH").expect("it is set"))
    );
    let ours = std::env::var("CARGO_MANIFEST_DIR");
    assert!(
        ours.is_ok() && seen.get("CARGO_MANIFEST_DIR").is_none(),
        "{seen}"
    );
    // Where things are, and what toolchains and certificates are found by.
    let harmless = [
        "CARGO_HOME",
        "COLORTERM",
        "CONDA_PREFIX",
        "CURL_CA_BUNDLE",
        "GOPATH",
        "GOROOT",
        "HOME",
        "JAVA_HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "MANPATH",
        "NODE_EXTRA_CA_CERTS",
        "NODE_PATH",
        "NO_COLOR",
        "NVM_DIR",
        "PATH",
        "PKG_CONFIG_PATH",
        "PYENV_ROOT",
        "RBENV_ROOT",
        "REQUESTS_CA_BUNDLE",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "SHELL",
        "SOURCE_DATE_EPOCH",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
    ];
    let given = ["TOKEN", "COUNT_FILE", "LOG_FILE", "EXTRA_TOOLS_FILE"];
    for name in seen.as_object().expect("an object").keys() {
        let is_known = harmless.contains(&name.as_str()) || given.contains(&name.as_str());
        let is_place = name.starts_with("LC_") || name.starts_with("XDG_");
        assert!(is_known || is_place, "{name}");
    }
}

#[tokio::test]
async fn a_call_that_runs_too_long_is_cancelled_and_the_server_stays() {
    let mut world = World::new(&[]).await;
    let pid = world.pid().await;
    world.limits.tool_timeout_ms = 100;
    let output = world
        .call("test", json!({ "text": "trigger-timeout" }))
        .await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    assert_eq!(output.text, "(tool failed: timeout)");
    world.limits.tool_timeout_ms = 20_000;
    until("the server was told", || {
        let is_told = |line: &String| line.starts_with("notifications/cancelled {");
        world.lines("log").iter().any(is_told)
    })
    .await;
    assert_eq!(world.ok("test", json!({ "text": "next" })).await, "next");
    assert_eq!(world.pid().await, pid);
}

#[tokio::test]
async fn calls_run_side_by_side() {
    let world = World::new(&[]).await;
    let slow = world.call("slow", json!({ "ms": 3000 }));
    let quick = async {
        let text = world.ok("test", json!({ "text": "quick" })).await;
        (text, std::time::Instant::now())
    };
    let (slow, (text, quick_at)) =
        tokio::join!(async { (slow.await, std::time::Instant::now()) }, quick);
    assert_eq!(text, "quick");
    assert_eq!(slow.0.text, "slept 3000 ms");
    assert!(quick_at < slow.1);
}

#[tokio::test]
async fn progress_is_told_and_prolongs_nothing() {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let ear = Arc::clone(&heard);
    let pool = pool(4).telling(Arc::new(move |news| {
        if let McpNews::Progress { server, text } = news {
            let mut heard = ear.lock().expect("nobody panics");
            heard.push(format!("{server}: {text}"));
        }
    }));
    let mut world = World::with(pool, &[]).await;
    assert_eq!(world.ok("progress", json!({})).await, "done");
    let told = heard.lock().expect("nobody panics").clone();
    assert_eq!(told, ["srv: 1 of 3", "srv: 2 of 3", "srv: 3 of 3"]);
    world.limits.tool_timeout_ms = 250;
    let output = world.call("progress", json!({})).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
}

#[tokio::test]
async fn servers_of_every_version_are_spoken_to_in_it() {
    for (version, is_said) in [
        ("2024-11-05", false),
        ("2025-03-26", false),
        ("2025-06-18", false),
        ("2025-11-25", false),
        ("2026-07-28", true),
    ] {
        let world = World::new(&[("PROTOCOL", version)]).await;
        let text = world.ok("test", json!({ "text": version })).await;
        assert_eq!(text, version);
        let meta = world.ok("meta", json!({})).await;
        let says = format!("\"io.modelcontextprotocol/protocolVersion\":\"{version}\"");
        assert_eq!(meta.contains(&says), is_said, "{meta}");
    }
}
