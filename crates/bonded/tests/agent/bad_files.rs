//! Files that a person got wrong: named with file and line, with the exit code of their kind, and nothing
//! is run.

use serde_json::json;

use crate::world::World;

#[test]
fn an_agent_file_that_is_wrong_is_refused_with_its_line() {
    let rows = [
        (
            "---\nmodels: [first/one\n---\nx",
            4,
            vec!["agent.ai", "line"],
        ),
        (
            "---\nmodels: first/one\nmaxTruns: 3\n---\nx",
            4,
            vec!["line 3", "maxTruns", "maxTurns"],
        ),
        (
            "---\nmodels: first/one\nmaxTurns: many\n---\nx",
            4,
            vec!["maxTurns", "many"],
        ),
        (
            "---\nmodels: first/one\nmaxTurns: 0\n---\nx",
            4,
            vec!["maxTurns"],
        ),
        ("---\nmodels: first/one\nx", 4, vec!["line 1", "---"]),
        ("---\n- a\n- b\n---\nx", 4, vec!["KEY: VALUE"]),
        (
            "---\nmodels: first/one\nstream: true\n---\nx",
            4,
            vec!["stream"],
        ),
        (
            "---\nmodels: first/one\n---\n${include:nowhere.md}",
            4,
            vec!["line 4", "nowhere.md"],
        ),
        (
            "---\nmodels: first/one\n---\n${include:agent.ai}",
            4,
            vec!["includes itself"],
        ),
        (
            "---\nmodels: first/one\noutput:\n  format: json\n  schema: { type: 7 }\n---\nx",
            5,
            vec!["agent.ai", "schema"],
        ),
        (
            "---\nmodels: first/one\ninput:\n  format: json\n  schema: { type: 7 }\n---\nx",
            5,
            vec!["agent.ai"],
        ),
        ("---\nmodels: nobody/one\n---\nx", 4, vec!["nobody"]),
        ("---\nmaxTurns: 3\n---\nx", 4, vec!["models"]),
        (
            "---\nmodels: first/one\nagents: agent.ai\ndescription: me\n---\nx",
            4,
            vec!["calls itself"],
        ),
        (
            "---\nmodels: first/one\nagents: gone.ai\n---\nx",
            4,
            vec!["gone.ai"],
        ),
    ];
    for (agent, code, said) in rows {
        let world = World::new().file("agent.ai", agent);
        let outcome = world.run(&[], "try");
        assert_eq!(outcome.code, Some(code), "{agent:?}: {}", outcome.stderr);
        outcome.refused(code, &said);
    }
}

#[test]
fn an_agent_file_that_is_no_text_or_not_there_is_refused() {
    let bytes = [b"---\nmodels: first/one\n---\n".as_slice(), &[0xff, 0xfe]].concat();
    World::new()
        .file("agent.ai", bytes)
        .run(&[], "try")
        .refused(4, &["line 4", "UTF-8"]);
    let world = World::new();
    world
        .bonded(&["run", "--agent", "gone.ai", "x"])
        .refused(4, &["gone.ai", "does not exist"]);
}

#[test]
fn a_configuration_that_is_wrong_is_refused_with_its_place() {
    let provider =
        |fields: serde_json::Value| json!({ "providers": { "first": fields } }).to_string();
    let rows = [
        ("{\n  \"providers\": {,}\n}".to_owned(), vec!["line 2", "not JSON"]),
        ("[]".to_owned(), vec![".ai-agent.json"]),
        (provider(json!({ "type": "quantum" })), vec!["providers.first.type", "quantum"]),
        (provider(json!({ "type": "openai", "apiKey": "${NO_SUCH_KEY}" })), vec!["NO_SUCH_KEY", ".ai-agent.json"]),
        (provider(json!({ "type": "openai", "baseUrl": "not a url" })), vec!["providers.first", "baseUrl"]),
        (provider(json!("openai")), vec!["providers.first"]),
        (json!({ "providers": { "first": { "type": "openai" } }, "defaults": { "maxTurns": "many" } }).to_string(), vec!["maxTurns"]),
        (json!({ "providers": { "first": { "type": "openai" } }, "queues": { "q": { "concurrent": -1 } } }).to_string(), vec!["queues.q"]),
    ];
    for (config, said) in rows {
        let world = World::new().file(".ai-agent.json", &config);
        let outcome = world.run(&[], "try");
        assert_eq!(outcome.code, Some(4), "{config}: {}", outcome.stderr);
        outcome.refused(4, &said);
    }
}

#[test]
fn a_tool_server_that_does_not_start_is_exit_code_three() {
    let rows = [
        json!({ "type": "stdio", "command": "/no/such/program" }),
        json!({ "type": "stdio", "command": "/bin/false" }),
        json!({ "type": "stdio", "command": "/bin/echo", "args": ["not a message"] }),
    ];
    for server in rows {
        let world = World::new()
            .front("tools: test")
            .config(&json!({ "mcpServers": { "test": server } }));
        world.run(&[], "try").refused(3, &["test", "tool-server"]);
    }
}

#[test]
fn a_server_that_is_not_spoken_to_or_not_there_is_refused_in_words() {
    let rows = [
        (
            json!({ "type": "sse", "url": "http://127.0.0.1:9/" }),
            3,
            ["cannot be reached", "type: http"],
        ),
        (
            json!({ "url": "http://127.0.0.1:9/sse" }),
            3,
            ["cannot be reached", "type: http"],
        ),
        (
            json!({ "url": "ws://127.0.0.1:9/" }),
            3,
            ["cannot be reached", "web sockets"],
        ),
        (
            json!({ "type": "websocket", "url": "http://127.0.0.1:9/" }),
            4,
            ["mcpServers.far.url", "wss://"],
        ),
        (
            json!({ "url": "http://127.0.0.1:9/mcp" }),
            3,
            ["cannot be reached", "tool-server"],
        ),
        (
            json!({ "url": "ftp://h/" }),
            4,
            ["ftp", "mcpServers.far.url"],
        ),
        (
            json!({ "url": "somewhere" }),
            4,
            ["not a URL", "mcpServers.far.url"],
        ),
    ];
    for (server, code, said) in rows {
        let config = json!({ "mcpServers": { "far": server } });
        let world = World::new().front("tools: far").config(&config);
        let outcome = world.run(&[], "try");
        assert_eq!(outcome.code, Some(code), "{config}: {}", outcome.stderr);
        outcome.refused(code, &["far", said[0], said[1]]);
    }
}

#[test]
fn arguments_that_are_wrong_are_exit_code_four() {
    let rows: [(&[&str], &str); 5] = [
        (&["--max-turns", "0"], "max-turns"),
        (&["--max-turns", "-1"], "max-turns"),
        (&["--temperature", "hot"], "temperature"),
        (&["--override", "nothing=1"], "nothing"),
        (&["--no-such-flag"], "--no-such-flag"),
    ];
    for (flags, said) in rows {
        let outcome = World::new().run(flags, "try");
        assert_eq!(outcome.code, Some(4), "{flags:?}: {}", outcome.stderr);
        outcome.refused(4, &[said]);
    }
}

#[test]
fn an_input_that_does_not_fit_the_agents_schema_is_exit_code_five() {
    let input = "input:\n  format: json\n  schema:\n    type: object\n    required: [city]";
    let world = World::new().front(input);
    world.run(&[], "{\"town\": 1}").refused(5, &["city"]);
    world.run(&[], "not json").refused(4, &["JSON"]);
}

#[test]
fn a_provider_that_needs_a_key_is_not_asked_without_one() {
    let agent = "---\nmodels: openrouter/some/model\n---\nx";
    for config in [
        "{}",
        r#"{"providers":{"openrouter":{"type":"openrouter"}}}"#,
    ] {
        let world = World::new()
            .file("agent.ai", agent)
            .file(".ai-agent.json", config);
        world
            .run(&[], "try")
            .refused(4, &["openrouter", "OPENROUTER_API_KEY", "apiKey"]);
    }
}
