//! Numbers and sizes that no decent provider comes with: each run ends within its bounds, says why, and its log is whole.

use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::reply::{Reply, calls, echo, raw, report, report_call, report_tag, tag, text};
use crate::world::{World, peak_kb, start};

const NATIVE: [&str; 2] = ["--tooling-transport", "native"];

fn invoked(log: &[Value], tool: &str) -> usize {
    let entries = log.iter().filter(|entry| entry["kind"] == "tool_invoked");
    entries.filter(|it| it["data"]["tool"] == tool).count()
}

/// What a log takes where it is written out.
fn bytes(log: &[Value]) -> usize {
    log.iter().map(|entry| entry.to_string().len()).sum()
}

/// Usages that are none: nothing, far too much, and no numbers at all.
fn lies() -> Vec<Value> {
    let same = |tokens: Value| json!({ "prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": tokens });
    let tokens = [
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(1_000_000_000_000_000_000_u64),
        json!(u64::MAX),
        json!(1e18),
        json!(1e300),
        json!(0.5),
        json!("120"),
        json!(null),
        json!([120]),
        json!({ "tokens": 120 }),
        json!(true),
    ];
    let odd = [json!("many"), json!([]), json!(7), json!({}), Value::Null];
    let mixed = json!({ "prompt_tokens": 1, "completion_tokens": u64::MAX, "total_tokens": -3,
        "prompt_tokens_details": { "cached_tokens": u64::MAX }, "cost": -1e300 });
    tokens
        .map(same)
        .into_iter()
        .chain(odd)
        .chain([mixed])
        .collect()
}

#[test]
fn a_usage_that_is_a_lie_ends_no_run_without_a_result() {
    for lie in lies() {
        let lied = |reply: Reply| reply.changed("/usage", lie.clone());
        let world = World::with_tools().says([lied(echo("a")), lied(report("done"))]);
        let outcome = world.run(&["--max-retries", "2"], "count");
        assert!(matches!(outcome.code, Some(0 | 1)), "{lie}: {outcome:?}");
        // What fills the window by its provider's word leaves the report, and that comes.
        assert_eq!(outcome.report()["content"], "done", "{lie}: {outcome:?}");
        let log = world.sound_log(outcome.run_id());
        assert!(bytes(&log) < 100_000, "{lie}");
        assert_eq!(invoked(&log, "test__test"), 1, "{lie}");
    }
}

#[test]
fn a_usage_that_is_a_lie_is_none_in_the_other_dialects_either() {
    for tokens in [
        json!(-1),
        json!("120"),
        json!(u64::MAX),
        json!(1e300),
        json!([1]),
    ] {
        let lie = json!({ "input_tokens": tokens, "output_tokens": tokens, "cache_read_input_tokens": tokens });
        let world = World::of_messages(&lie);
        let outcome = world.run(&[], "count").good();
        world.sound_log(outcome.run_id());
    }
}

/// A refusal as llama.cpp writes it.
fn too_large(window: u64) -> Reply {
    let error = json!({ "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 700, "n_ctx": window,
        "message": "the request exceeds the available context size" });
    raw(
        400,
        "application/json",
        json!({ "error": error }).to_string(),
    )
}

#[test]
fn a_window_of_512_ends_in_a_report_whoever_says_so() {
    let configured = json!({ "providers": { "first": { "contextWindow": 512 } } });
    let asked = json!({ "data": [{ "id": "one", "max_model_len": 512 }] });
    let worlds = [
        ("configured", World::with_tools().config(&configured)),
        ("asked", World::with_tools().lists(&asked)),
        ("learned", World::with_tools().says([too_large(512)])),
    ];
    for (source, world) in worlds {
        let world = world.then_always(report_call("done"));
        let flags = [&NATIVE[..], &["--max-retries", "3"]].concat();
        let outcome = world.run(&flags, "small").good();
        assert!(outcome.requests.len() <= 3, "{source}: {outcome:?}");
        let log = world.sound_log(outcome.run_id());
        assert!(bytes(&log) < 100_000, "{source}");
    }
}

#[test]
fn a_window_of_512_that_cannot_hold_half_of_the_request_is_named_and_nothing_is_sent() {
    let asked = json!({ "data": [{ "id": "one", "max_model_len": 512 }] });
    let world = World::with_tools()
        .lists(&asked)
        .prompt(&"A rule. ".repeat(1_000));
    let outcome = world.run(&[], "small").failed();
    assert_eq!(outcome.requests.len(), 0);
    assert!(
        outcome.stderr.contains("the window of first/one has 512"),
        "{}",
        outcome.stderr
    );
    world.sound_log(outcome.run_id());
}

#[test]
fn a_server_whose_context_is_no_number_of_tokens_has_not_said_anything() {
    let lies = [
        json!(0),
        json!(null),
        json!("8192"),
        json!(-1),
        json!(1e30),
        json!(8192.5),
        json!([8192]),
    ];
    for lie in lies {
        // Every question is answered so: the list's, and that of llama.cpp for its settings.
        let said = json!({
            "data": [{ "id": "one", "owned_by": "llamacpp", "meta": { "n_ctx": lie } }],
            "default_generation_settings": { "n_ctx": lie },
        });
        let world = World::new().lists(&said).says([report("done")]);
        let outcome = world.run(&[], "work").good();
        assert!(
            world.looks().iter().any(|it| it.starts_with("/props")),
            "{:?}",
            world.looks()
        );
        let log = world.sound_log(outcome.run_id());
        let target = &log[0]["data"]["config"]["targets"][0];
        assert_eq!(target["window_source"], "assumed", "{lie}: {target}");
        assert_eq!(target["window"]["tokens"], 131_072, "{lie}: {target}");
    }
}

#[test]
fn a_refusal_whose_window_is_no_number_of_tokens_teaches_nothing() {
    for lie in [json!(0), json!(null), json!("x"), json!(-1), json!(1e30)] {
        let error = json!({ "type": "exceed_context_size_error", "n_ctx": lie, "message": "the request is too large" });
        let refused = raw(
            400,
            "application/json",
            json!({ "error": error }).to_string(),
        );
        let world = World::new().then_always(refused);
        let outcome = world.run(&["--max-retries", "2"], "work").failed();
        let log = world.sound_log(outcome.run_id());
        assert!(
            log.iter().all(|entry| entry["kind"] != "target_learned"),
            "{lie}"
        );
        assert!(outcome.requests.len() <= 2, "{lie}");
    }
}

const MANY: usize = 1_000;

/// A thousand calls, natively, as tags, and as members of a batch.
fn thousands() -> [(&'static str, &'static str, Reply); 3] {
    let texts: Vec<String> = (0..MANY).map(|nth| format!("call {nth}")).collect();
    let native: Vec<(&str, Value)> = texts
        .iter()
        .map(|it| ("test__test", json!({ "text": it })))
        .collect();
    let tags = texts.iter().enumerate().map(|(nth, it)| {
        let arguments = json!({ "text": it }).to_string();
        tag(
            &format!("{:04}", nth + 1),
            "tool=\"test__test\"",
            &arguments,
        )
    });
    let members = texts.iter().enumerate().map(|(nth, it)| {
        json!({ "id": nth.to_string(), "tool": "test__test", "parameters": { "text": it } })
    });
    let batch = json!({ "calls": members.collect::<Vec<_>>() });
    [
        ("calls", "native", calls(&native)),
        ("tags", "xml", text(&tags.collect::<String>())),
        ("members", "native", calls(&[("agent__batch", batch)])),
    ]
}

/// An agent with the tool server and batches.
fn batching() -> World {
    let world = World::new().front("tools: test, batch");
    let server = world.tool_server(&json!({}));
    world.config(&json!({ "mcpServers": { "test": server } }))
}

#[test]
fn of_a_thousand_calls_in_one_reply_only_so_many_run_and_all_else_stays_small() {
    for (what, transport, reply) in thousands() {
        let last = match transport {
            "native" => report_call("done"),
            _ => report("done"),
        };
        let world = batching().says([reply, last]);
        let outcome = world
            .run(&["--tooling-transport", transport], "many")
            .good();
        let log = world.sound_log(outcome.run_id());
        assert_eq!(invoked(&log, "test__test"), 10, "{what}");
        assert!(bytes(&log) < 2_000_000, "{what}: {}", bytes(&log));
        let told = outcome.requests[1].said();
        // A tag in a place that was not offered is ignored, as the contract says.
        let is_told = told.contains("more calls of your last reply were not executed");
        assert_eq!(is_told, what != "tags", "{what}: {told}");
        assert!(told.len() < 100_000, "{what}: {}", told.len());
    }
}

const LARGE: usize = 10_000_000;

/// A text of ten megabytes, which is within what a reply may have.
fn large() -> String {
    "A line of many.\n".repeat(LARGE / 16)
}

/// The same as a stream of a hundred events.
fn streamed(said: &str) -> Reply {
    let letters = said.as_bytes().chunks(LARGE / 100);
    let event = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "id": "c", "choices": [choice] }))
    };
    let pieces = letters.map(|it| {
        event(
            json!({ "content": String::from_utf8_lossy(it) }),
            Value::Null,
        )
    });
    let end = event(json!({}), json!("stop"));
    let body: String = pieces.chain([end, "data: [DONE]\n\n".into()]).collect();
    raw(200, "text/event-stream", body)
}

/// Runs to the end, within the memory and the disk that so many large replies may take.
fn bounded(world: &World, command: &mut std::process::Command, replies: u64) -> Outcome {
    let child = start(command);
    let peak = peak_kb(&child);
    let outcome = world.finish(child);
    let peak = peak.join().expect("watching does not panic");
    assert!((1..400_000).contains(&peak), "{peak} kB");
    let most = 3 * replies * LARGE as u64;
    assert!(world.store_bytes() < most, "{} bytes", world.store_bytes());
    outcome
}

#[test]
fn an_answer_of_ten_megabytes_is_given_whole_in_bounded_memory() {
    for (flag, reply) in [
        (None, text(&large())),
        (Some("--stream"), streamed(&large())),
    ] {
        // A text is taken for the answer when it is said again.
        let world = World::new().says([reply.clone(), reply]);
        let url = world.base_url();
        let run = ["run", "--json", "--base-url", &url, "--model", "one"];
        let arguments: Vec<&str> = run.into_iter().chain(flag).chain(["a goal"]).collect();
        let outcome = bounded(&world, &mut world.command(&arguments), 2);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(outcome.stdout.len() > LARGE);
        world.sound_log(outcome.run_id());
    }
}

#[test]
fn a_report_of_ten_megabytes_is_given_whole_in_bounded_memory() {
    let replies = [
        ("native", report_call(&large())),
        ("xml-final", report(&large())),
        ("xml-final", streamed(&report_tag("pipe", &large()))),
    ];
    for (transport, reply) in replies {
        let world = World::new().says([reply]);
        let flags = ["--stream", "--tooling-transport", transport];
        let outcome = bounded(&world, &mut world.run_command(&flags, "long"), 1).good();
        let content = outcome.report()["content"].as_str().unwrap_or_default();
        let report: String = outcome.report().to_string().chars().take(600).collect();
        assert_eq!(
            content.trim().len(),
            large().trim().len(),
            "{transport}: {report}"
        );
        world.sound_log(outcome.run_id());
    }
}

#[test]
fn ten_megabytes_without_a_call_do_not_come_back_to_the_model() {
    let world = World::new().says([text(&large()), report("done")]);
    let outcome = bounded(&world, &mut world.run_command(&[], "long"), 1).good();
    assert!(outcome.requests[1].body.to_string().len() < 100_000);
    world.sound_log(outcome.run_id());
}

#[test]
fn ten_megabytes_in_a_call_that_is_refused_bring_the_run_to_its_report() {
    let arguments = json!({ "text": large() });
    let call = calls(&[("nobody", arguments)]).usage(300, 2_500_000);
    let world = World::new().says([call, report("done")]);
    let outcome = bounded(&world, &mut world.run_command(&[], "long"), 1).good();
    assert_eq!(outcome.requests.len(), 2);
    let log = world.sound_log(outcome.run_id());
    let guarded = log.iter().find(|it| it["kind"] == "context_guarded");
    let guarded = guarded.expect("no window holds that");
    assert!(guarded["data"]["still_over"][0].is_object(), "{guarded}");
}
