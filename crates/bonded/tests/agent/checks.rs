//! `config check`: every mistake of every stage at once, through the agents that are called.

use serde_json::{Value, json};

use crate::reply::report;
use crate::world::World;

/// What a check of an agent of this world prints.
fn checked(world: &World, agent: &str) -> Value {
    let outcome = world.bonded(&["config", "check", "--agent", agent, "--json"]);
    let object: Value = serde_json::from_str(&outcome.stdout).expect("a check prints an object");
    let code = if object["ok"] == true { 0 } else { 4 };
    assert_eq!(outcome.code, Some(code), "{outcome:?}");
    object
}

fn lines(object: &Value, key: &str) -> Vec<String> {
    let all = object[key].as_array().expect("a list");
    let texts = all.iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Each of the parts is in one line of its own, and there are no others.
fn assert_each(found: &[String], parts: &[&str]) {
    for part in parts {
        let with = found.iter().filter(|line| line.contains(part)).count();
        assert_eq!(with, 1, "{part:?} in {found:#?}");
    }
    assert_eq!(found.len(), parts.len(), "{found:#?}");
}

/// A mistake in every stage that a run goes through, each of which would stop it.
fn a_mistake_in_every_stage() -> World {
    let config = json!({
        "providers": {
            "first": { "type": "openai", "apiKey": "${NOT_SET_ANYWHERE}", "contextWindow": "large" },
            "second": { "type": "quantum" },
        },
        "mcpServers": {
            "shape": { "command": 7 },
            "bound": { "command": "x", "queue": "nowhere" },
            "url": { "url": "ftp://h/" },
        },
        "restTools": { "rest": { "description": "d", "method": "GET", "url": "no url" } },
        "openapiSpecs": { "doc": { "spec": "gone.yaml" } },
        "defaults": { "temperature": "hot" },
    });
    let agent = "---\n\
        models: first/one, second/two, nobody/three, script:gone.jsonl\n\
        maxTruns: 3\n\
        maxTurns: many\n\
        topP: 9\n\
        tools: url, rest, openapi:doc, bound, nothing\n\
        agents: gone.ai, called.ai, called.ai\n\
        output: { format: json, schema: { type: 7 } }\n\
        ---\n\
        ${include:nowhere.md} and ${include:.env}\n";
    let called = "---\n\
        models: nobody/four\n\
        agents: agent.ai\n\
        llmTimeout: soon\n\
        ---\n\
        x";
    World::new()
        .file(".ai-agent.json", config.to_string())
        .file("agent.ai", agent)
        .file("called.ai", called)
}

#[test]
fn every_mistake_of_every_stage_and_of_called_agents_is_found_at_once() {
    let world = a_mistake_in_every_stage();
    let object = checked(&world, "agent.ai");
    assert_eq!(world.requests_count(), 0);
    assert_each(
        &lines(&object, "problems"),
        &[
            "NOT_SET_ANYWHERE",
            "providers.first.contextWindow",
            "providers.second.type",
            "mcpServers.shape.command",
            "mcpServers.bound.queue",
            "mcpServers.url.url",
            "restTools.rest.url",
            "openapiSpecs.doc.spec",
            "defaults.temperature",
            "(nobody/three)",
            "gone.jsonl",
            "unknown key maxTruns",
            "maxTurns must be",
            "topP must be",
            "gone.ai",
            "two agents are called \"called\"",
            "JSON Schema",
            "nowhere.md",
            "\".env\"",
            "(nobody/four)",
            "called.ai has no description",
            "calls itself",
            "llmTimeout soon is not a duration",
        ],
    );
    let warnings = lines(&object, "warnings");
    assert!(
        warnings.iter().any(|line| line.contains("\"nothing\"")),
        "{warnings:#?}"
    );
    // What a person reads is the same.
    let shown = world.bonded(&["config", "check", "--agent", "agent.ai"]);
    for line in lines(&object, "problems") {
        assert!(shown.stderr.contains(&line), "{line} in {}", shown.stderr);
    }
}

#[test]
fn what_no_agent_uses_is_told_and_refuses_none() {
    let config = json!({
        "providers": { "unused": { "type": "openai", "apiKey": "${NOT_SET_ANYWHERE}" } },
        "mcpServers": { "unused": { "url": "ftp://h/" } },
        "openapiSpecs": { "unused": { "spec": "gone.yaml" } },
    });
    let world = World::new().config(&config).says([report("done")]);
    world.write();
    let object = checked(&world, "agent.ai");
    assert_each(&lines(&object, "problems"), &[]);
    assert_each(
        &lines(&object, "warnings"),
        &["NOT_SET_ANYWHERE", "mcpServers.unused.url", "gone.yaml"],
    );
    assert_eq!(world.run(&[], "go").code, Some(0));
    // Who asks about the configuration asks about all of it.
    let all = world.bonded(&["config", "check", "--json"]);
    let all: Value = serde_json::from_str(&all.stdout).expect("a check prints an object");
    assert_each(
        &lines(&all, "problems"),
        &["NOT_SET_ANYWHERE", "mcpServers.unused.url", "gone.yaml"],
    );
}

#[test]
fn an_entry_that_only_a_called_agent_uses_is_its_mistake() {
    let config = json!({ "openapiSpecs": { "doc": { "spec": "gone.yaml" } } });
    let called = |name: &str| {
        format!(
            "---\nmodels: first/one\ndescription: d\nagents: {name}\ntools: openapi:doc\n---\nx"
        )
    };
    let world = World::new()
        .config(&config)
        .front("agents: sub/one.ai")
        .file("sub/one.ai", called("two.ai"))
        .file("sub/two.ai", called("one.ai"));
    world.write();
    let object = checked(&world, "agent.ai");
    assert_each(&lines(&object, "problems"), &["gone.yaml", "calls itself"]);
}

#[test]
fn an_agent_that_can_run_is_good() {
    let world = World::with_tools().front("agents: child.ai").file(
        "child.ai",
        "---\nmodels: second/x\ndescription: d\ntools: test\n---\nx",
    );
    world.write();
    let object = checked(&world, "agent.ai");
    assert_eq!(object["ok"], true, "{object}");
    assert_eq!(lines(&object, "warnings"), Vec::<String>::new());
}

#[test]
fn a_tool_that_is_not_there_is_left_out_and_told_once() {
    let world = World::new()
        .front("tools: read, nonsense")
        .says([report("done")]);
    let outcome = world.run(&[], "go");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = outcome.stderr.matches("\"nonsense\"").count();
    assert_eq!(told, 1, "{}", outcome.stderr);
    let offered = outcome.requests[0].body["tools"].to_string();
    assert!(
        offered.contains("read") && !offered.contains("nonsense"),
        "{offered}"
    );
}

#[test]
fn many_keys_without_an_effect_are_one_line_before_a_run() {
    let config = json!({
        "telemetry": { "enabled": true }, "slack": {}, "colour": 1,
        "defaults": { "formats": {}, "maxTurn": 3 },
    });
    let world = World::new().config(&config).then_always(report("done"));
    let told = |flags: &[&str]| {
        let stderr = world.run(flags, "go").stderr;
        let lines = stderr.lines().filter(|line| line.starts_with("warning: "));
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    let short = told(&[]);
    assert_eq!(short.len(), 1, "{short:#?}");
    assert!(
        short[0].contains("5 settings") && short[0].contains("config check"),
        "{short:?}"
    );
    assert_eq!(told(&["--verbose"]).len(), 5);
    let checked = checked(&world, "agent.ai");
    assert_eq!(lines(&checked, "warnings").len(), 5);
}

#[test]
fn no_retries_is_one_attempt() {
    for front in ["maxRetries: 0", "maxRetries: 1"] {
        let world =
            World::new()
                .front(front)
                .then_always(crate::reply::raw(500, "text/plain", "down"));
        assert_eq!(world.run(&[], "go").requests.len(), 1, "{front}");
    }
}

#[test]
fn a_log_names_the_program_that_began_it() {
    let world = World::new().says([report("done")]);
    let outcome = world.run(&[], "go");
    let log = world.log(outcome.run_id());
    let program = format!("bonded {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(log[0]["data"]["program"], json!(program));
}
