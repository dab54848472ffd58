//! The configuration: its layers, its variables, its queues, and what is wrong with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::reply::{call, echo, report};
use crate::world::{World, start};

/// A layer that differs from all others by what it says, and that has a key of its own.
fn layer(temperature: f64, own: &str) -> String {
    json!({
        "defaults": { "temperature": temperature },
        "providers": { "first": { "headers": { own: "here" } } },
    })
    .to_string()
}

/// The same command with the program at another place.
fn moved(command: &Command, program: &Path) -> Command {
    let mut moved = Command::new(program);
    moved.args(command.get_args()).env_clear();
    moved.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    moved.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    moved
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    moved
}

/// The program under a name of its own, so that its directory is the test's.
fn program_in(dir: &Path) -> PathBuf {
    std::fs::create_dir_all(dir).expect("a directory can be made");
    let program = dir.join("bonded");
    let built = env!("CARGO_BIN_EXE_bonded");
    if std::fs::hard_link(built, &program).is_err() {
        std::fs::copy(built, &program).expect("the program can be copied");
    }
    program
}

#[test]
fn a_layer_wins_over_all_below_it_and_objects_are_merged_key_by_key() {
    let names = ["explicit", "work", "prompts", "binary", "home"];
    let world = World::new()
        .then_always(report("done"))
        .file("explicit.json", layer(0.1, "explicit"))
        .file(
            "prompts/agent.ai",
            "---\nmodels: first/one\n---\nYou are tested.",
        )
        .file("prompts/.ai-agent.json", layer(0.3, "prompts"))
        .file("bin/.ai-agent.json", layer(0.4, "binary"));
    let below: Value = serde_json::from_str(&layer(0.5, "home")).expect("a layer is JSON");
    let mut lowest = json!({ "providers": { "first": { "type": "openai", "apiKey": "key", "baseUrl": world.base_url() } } });
    lowest["defaults"] = below["defaults"].clone();
    lowest["providers"]["first"]["headers"] = below["providers"]["first"]["headers"].clone();
    let world = world
        .file(".ai-agent.json", layer(0.2, "work"))
        .file("../home/.ai-agent/ai-agent.json", lowest.to_string());
    let program = program_in(&world.path("bin"));
    let files = [
        "explicit.json",
        ".ai-agent.json",
        "prompts/.ai-agent.json",
        "bin/.ai-agent.json",
    ];
    for highest in 0..names.len() {
        let mut arguments = vec!["run", "--agent", "prompts/agent.ai", "--json"];
        if highest == 0 {
            arguments.extend(["--config", "explicit.json"]);
        } else {
            std::fs::remove_file(world.path(files[highest - 1])).expect("a file can be removed");
        }
        arguments.push("do it");
        let command = moved(&world.command(&arguments), &program);
        let outcome = world.finish(start(&mut { command })).good();
        let request = outcome.requests.last().expect("the provider was asked");
        let temperature = (highest + 1) as f64 / 10.0;
        assert_eq!(
            request["temperature"],
            json!(temperature),
            "{}",
            names[highest]
        );
        for (at, name) in names.iter().enumerate() {
            let is_there = request.headers.contains_key(*name);
            assert_eq!(
                is_there,
                at >= highest,
                "the header of {name} below {}",
                names[highest]
            );
        }
    }
}

#[test]
fn a_variable_comes_from_the_file_beside_its_layer_then_from_the_environment() {
    let with_key = || {
        World::new().config(&json!({ "providers": { "first": { "apiKey": "${KEY_OF_MINE}" } } }))
    };
    for (beside, environment, expected) in [
        (Some("KEY_OF_MINE=from-file"), None, "Bearer from-file"),
        (
            Some("KEY_OF_MINE=from-file"),
            Some("from-process"),
            "Bearer from-file",
        ),
        (None, Some("from-process"), "Bearer from-process"),
    ] {
        let mut world = with_key().says([report("done")]);
        if let Some(text) = beside {
            world = world.file(".ai-agent.env", text);
        }
        let mut command = world.run_command(&[], "do it");
        command.envs(environment.map(|value| ("KEY_OF_MINE", value)));
        let outcome = world.finish(start(&mut command)).good();
        assert_eq!(outcome.requests[0].headers["authorization"], expected);
    }
    let world = with_key().file("../home/.ai-agent/ai-agent.env", "KEY_OF_MINE=not-its-own");
    let said = ["KEY_OF_MINE", ".ai-agent.json", "providers.first.apiKey"];
    world.run(&[], "do it").refused(4, &said);
}

#[test]
fn what_a_server_is_given_is_no_matter_of_the_layers() {
    let world = World::with_tools()
        .config(&json!({ "mcpServers": { "test": { "env": { "GIVEN": "${OF_LAYER}", "PARAMETERS": "${parameters.x}" } } } }))
        .file(".ai-agent.env", "OF_LAYER=from-layer")
        .says([call("test__env", json!({})), report("done")]);
    let mut command = world.run_command(&[], "do it");
    command.env("OF_LAYER", "from-process");
    let outcome = world.finish(start(&mut command)).good();
    let seen = outcome.tool_texts()[0];
    for literal in ["${OF_LAYER}", "${parameters.x}"] {
        assert!(seen.contains(literal), "{seen}");
    }
    assert!(!seen.contains("from-"), "{seen}");
}

#[test]
fn a_servers_secrets_come_from_the_layer_and_are_not_shown() {
    let world = World::with_tools()
        .config(&json!({ "mcpServers": { "test": { "secretEnv": { "GIVEN": "<${OF_LAYER}>" } } } }))
        .file(".ai-agent.env", "OF_LAYER=hX7-kQ2-vN9w")
        .says([call("test__env", json!({})), report("done")]);
    let outcome = world.run(&[], "do it").good();
    let seen = outcome.tool_texts()[0];
    // What is masked is what the server has seen: a variable that was not put in would be shown.
    assert!(seen.contains("\"GIVEN\":\"[secret "), "{seen}");
    assert!(!seen.contains("hX7-kQ2"), "{seen}");
}

#[test]
fn a_binding_to_a_queue_that_is_not_there_stops_the_start_and_names_those_that_are() {
    let world = World::with_tools().config(&json!({
        "queues": { "narrow": { "concurrent": 1 } },
        "mcpServers": { "test": { "queue": "wide" } },
    }));
    world
        .run(&[], "do it")
        .refused(4, &["wide", "narrow", "default", "mcpServers.test"]);
}

#[test]
fn a_queue_that_is_there_is_used_and_the_default_one_is_always_there() {
    for queue in ["narrow", "default"] {
        let world = World::with_tools()
            .config(&json!({
                "queues": { "narrow": { "concurrent": 1 } },
                "mcpServers": { "test": { "queue": queue } },
            }))
            .says([echo("hello"), report("done")]);
        let outcome = world.run(&[], "do it").good();
        assert_eq!(outcome.tool_texts(), ["hello"], "{queue}");
    }
}

#[test]
fn servers_that_are_called_local_are_started_over_stdio() {
    let world = World::with_tools()
        .config(&json!({ "mcpServers": { "test": { "type": "local" } } }))
        .says([echo("hello"), report("done")]);
    assert_eq!(world.run(&[], "do it").good().tool_texts(), ["hello"]);
}

#[test]
fn includes_are_put_in_to_the_deepest() {
    let world = World::new()
        .prompt("top ${include:a.txt}")
        .file("a.txt", "one {{include:deep/b.txt}}")
        .file("deep/b.txt", "two ${include:c.txt}")
        .file("deep/c.txt", "the deepest text")
        .says([report("done")]);
    let outcome = world.run(&[], "do it").good();
    let system = &outcome.requests[0]["messages"][0]["content"];
    assert_eq!(system, "top one two the deepest text\n");
}

#[test]
fn includes_that_may_not_be_are_refused_with_the_file_and_the_reason() {
    let nine = (1..=9).fold(World::new().prompt("${include:1.txt}"), |world, at| {
        world.file(&format!("{at}.txt"), format!("${{include:{}.txt}}", at + 1))
    });
    nine.file("10.txt", "too deep")
        .run(&[], "do it")
        .refused(4, &["deep"]);
    let world = World::new()
        .prompt("${include:.env}")
        .file(".env", "KEY=xyzzy");
    let outcome = world.run(&[], "do it").refused(4, &[".env"]);
    assert!(!outcome.stderr.contains("xyzzy"), "{}", outcome.stderr);
    let world = World::new().prompt("${include:gone.txt}");
    world
        .run(&[], "do it")
        .refused(4, &["gone.txt", "agent.ai"]);
}

#[test]
fn mistakes_of_files_are_said_with_their_place() {
    let key = World::new().front("stream: true");
    key.run(&[], "do it")
        .refused(4, &["agent.ai", "stream", "3"]);
    let key = World::new().front("temprature: 1");
    key.run(&[], "do it")
        .refused(4, &["agent.ai", "temprature", "temperature", "3"]);
    let json = World::new().file(".ai-agent.json", "{\n  \"providers\": {,}\n}");
    json.run(&[], "do it").refused(4, &[".ai-agent.json", "2"]);
    let shape = World::new().config(&json!({ "defaults": { "maxTurns": "many" } }));
    shape
        .run(&[], "do it")
        .refused(4, &["maxTurns", ".ai-agent.json"]);
    let gone = World::new();
    gone.run(&["--config", "gone.json"], "do it")
        .refused(4, &["gone.json"]);
}

#[test]
fn names_that_nobody_knows_are_said_with_those_that_are_known() {
    let tools = World::with_tools().says([report("done")]);
    let outcome = tools.run(&["--tools", "nothing"], "do it");
    for part in ["warning: ", "\"nothing\"", "test", "read"] {
        assert!(
            outcome.stderr.contains(part),
            "{part} in {}",
            outcome.stderr
        );
    }
    let models = World::new();
    models
        .run(&["--models", "nobody/one"], "do it")
        .refused(4, &["nobody"]);
    let servers = World::new().config(&json!({ "mcpServers": { "a b": { "command": "x" } } }));
    servers.run(&[], "do it").refused(4, &["mcpServers", "a b"]);
}
