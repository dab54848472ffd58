//! `${VARIABLE}`: where its value comes from, and where it is left alone.

use bonded_host::config::{Config, ConfigError, McpTransport};

use crate::world::World;

fn key(config: &Config, provider: &str) -> String {
    let provider = config.provider(provider).expect("it is good");
    let key = provider
        .expect("it is there")
        .api_key
        .expect("it has a key");
    key.expose().to_owned()
}

fn with_key(key: &str) -> String {
    format!(r#"{{"providers": {{"p": {{"type": "openai", "apiKey": "{key}"}}}}}}"#)
}

#[test]
fn a_variable_comes_from_the_env_file_beside_its_layer_then_from_the_environment() {
    let world = World::with(&with_key("<${A}${B}>"))
        .file("cwd/.ai-agent.env", "A=file")
        .variable("A", "environment")
        .variable("B", "environment");
    assert_eq!(key(&world.load(), "p"), "<fileenvironment>");
    let home = World::new()
        .file("home/.ai-agent/ai-agent.json", with_key("${A}"))
        .file("home/.ai-agent/ai-agent.env", "A=home")
        .file("home/.ai-agent/.ai-agent.env", "A=other");
    assert_eq!(key(&home.load(), "p"), "home");
    let mut explicit = World::new()
        .file("x/my.json", with_key("${A}"))
        .file("x/.ai-agent.env", "A=beside");
    explicit.places.explicit = Some(explicit.path("x/my.json"));
    assert_eq!(key(&explicit.load(), "p"), "beside");
}

#[test]
fn an_env_file_that_cannot_be_read_is_passed_over_with_a_warning() {
    let world = World::with(&with_key("${A}")).variable("A", "from the environment");
    std::fs::create_dir(world.path("cwd/.ai-agent.env")).expect("a directory can be made");
    let config = world.load();
    let provider = config
        .provider("p")
        .expect("it is good")
        .expect("it is there");
    let key = provider.api_key.expect("it has a key");
    assert_eq!(key.expose(), "from the environment");
    let warnings: Vec<String> = config.warnings().iter().map(|it| world.shown(it)).collect();
    let told = warnings
        .iter()
        .any(|it| it.starts_with("cwd/.ai-agent.env") && it.contains("cannot be read"));
    assert!(told, "{warnings:?}");
}

#[test]
fn an_env_file_is_seen_by_its_own_layer_only() {
    let world = World::with("{}")
        .file("cwd/.ai-agent.env", "A=cwd")
        .file("etc/ai-agent/ai-agent.json", with_key("${A}"));
    let problems = world.load().provider("p").expect_err("A is not there");
    assert!(matches!(
        &problems.all()[0],
        ConfigError::MissingVariable { file, key_path, variable }
            if file.ends_with("etc/ai-agent/ai-agent.json")
                && key_path.to_string() == "providers.p.apiKey"
                && variable == "A"
    ));
}

#[test]
fn the_lines_of_an_env_file_are_read_as_a_shell_would() {
    let rows = [
        ("V=x", "x"),
        ("export V=x", "x"),
        (" V = x ", "x"),
        ("V=\"a b\"", "a b"),
        ("V='a # b'", "a # b"),
        ("V=\"a # b\" # c", "a # b"),
        ("V=a # comment", "a"),
        ("V=a#b", "a#b"),
        ("V=a=b", "a=b"),
        ("V=", ""),
        ("V=\"x", "\"x"),
        ("# V=1\n\nV=2", "2"),
        ("V=1\r\nV=2\r\n", "2"),
        ("exportX=1\nV=x", "x"),
        ("\u{feff}V=x", "x"),
        ("V=${A}", "${A}"),
    ];
    for (text, expected) in rows {
        let world = World::with(&with_key("${V}")).file("cwd/.ai-agent.env", text);
        assert_eq!(key(&world.load(), "p"), expected, "{text:?}");
    }
    for (text, line) in [("nothing", 1), ("A=1\n=2", 2), ("A B=1", 1), ("1A=2", 1)] {
        let world = World::with("{}").file("cwd/.ai-agent.env", text);
        let expected = format!("cwd/.ai-agent.env, line {line}: this is not KEY=VALUE");
        assert_eq!(world.problems(), expected, "{text:?}");
    }
}

#[test]
fn only_what_is_used_is_resolved() {
    let world = World::with(
        r#"{"providers": {"used": {"type": "openai", "apiKey": "k"},
                          "unused": {"type": "openai", "apiKey": "${UNSET}"}},
            "mcpServers": {"s": {"command": "${NOWHERE}"}}}"#,
    );
    let config = world.load();
    assert_eq!(key(&config, "used"), "k");
    let all: Vec<String> = config.check_all().iter().map(|p| world.shown(p)).collect();
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(
        all[0].contains("cwd/.ai-agent.json: providers.unused.apiKey needs the variable UNSET")
    );
    assert!(all[1].contains("mcpServers.s.command needs the variable NOWHERE"));
}

#[test]
fn a_higher_layer_that_cannot_be_resolved_does_not_fall_back_on_a_lower_one() {
    let world =
        World::with(&with_key("${UNSET}")).file("etc/ai-agent/ai-agent.json", with_key("low"));
    let problems = world.load().provider("p").expect_err("UNSET is not set");
    assert!(
        world
            .shown(&problems)
            .starts_with("cwd/.ai-agent.json: providers.p.apiKey needs")
    );
}

#[test]
fn parameters_and_what_servers_are_given_are_left_alone() {
    let world = World::with(
        r#"{"mcpServers": {
              "s": {"command": "${A}", "env": {"K": "${A}"}},
              "t": {"command": "c", "environment": {"K": "${UNSET}"}},
              "u": {"url": "http://${A}", "headers": {"H": "${A}"}}},
            "restTools": {"r": {"url": "http://${A}/${parameters.x}", "bodyTemplate": {"q": ["${parameters.y}"]}}},
            "providers": {"p": {"type": "openai", "custom": {"c": "${parameters.z}"}, "headers": {"H": "${A}"}}}}"#,
    )
    .variable("A", "a");
    let config = world.load();
    assert!(config.check_all().is_empty());
    let server = |name| {
        config
            .mcp_server(name)
            .expect("it is good")
            .expect("it is there")
            .transport
    };
    let McpTransport::Stdio { program, env, .. } = server("s") else {
        panic!("a command is run")
    };
    assert_eq!((program.as_str(), env["K"].expose()), ("a", "${A}"));
    let McpTransport::Stdio { env, .. } = server("t") else {
        panic!("a command is run")
    };
    assert_eq!(env["K"].expose(), "${UNSET}");
    let McpTransport::Http(endpoint) = server("u") else {
        panic!("a URL is asked")
    };
    assert_eq!(
        (endpoint.url.as_str(), endpoint.headers["H"].expose()),
        ("http://a", "${A}")
    );
    let tool = config
        .rest_tool("r")
        .expect("it is good")
        .expect("it is there");
    assert_eq!(tool.url, "http://a/${parameters.x}");
    assert_eq!(
        tool.body_template.expect("it has one")["q"][0],
        "${parameters.y}"
    );
    let provider = config
        .provider("p")
        .expect("it is good")
        .expect("it is there");
    assert_eq!(provider.custom["c"], "${parameters.z}");
    assert_eq!(provider.headers["H"].expose(), "a");
}

#[test]
fn text_that_only_resembles_a_variable_stays_and_values_are_not_looked_into() {
    let rows = [
        ("a$b", "a$b"),
        ("${", "${"),
        ("${}", "${}"),
        ("$A {A}", "$A {A}"),
        ("${A", "${A"),
        ("${A}}", "${B}}"),
        ("$${A}", "$${B}"),
    ];
    for (text, expected) in rows {
        let world = World::with(&with_key(text))
            .variable("A", "${B}")
            .variable("B", "b");
        assert_eq!(key(&world.load(), "p"), expected, "{text}");
    }
}

#[test]
fn the_root_of_mcp_servers_is_the_working_directory_unless_it_is_said() {
    let config = r#"{"mcpServers": {"s": {"command": "${MCP_ROOT}"}}}"#;
    let program = |world: &World| {
        let server = world.load().mcp_server("s").expect("it is good");
        match server.expect("it is there").transport {
            McpTransport::Stdio { program, .. } => program,
            other => panic!("{other:?}"),
        }
    };
    let silent = World::with(config).variable("MCP_ROOT", " ");
    assert_eq!(program(&silent), silent.places.cwd.display().to_string());
    assert_eq!(
        program(&World::with(config).variable("MCP_ROOT", "/r")),
        "/r"
    );
}

#[test]
fn the_secrets_of_a_server_are_put_in_and_said_once() {
    let world = World::with(
        r#"{"mcpServers": {
              "s": {"command": "c", "env": {"P": "${A}"}, "secretEnv": {"K": "<${A}>"}},
              "u": {"url": "http://h", "headers": {"P": "${A}"}, "secretHeaders": {"K": "<${A}>"}},
              "gone": {"command": "c", "secretEnv": {"K": "${UNSET}"}},
              "twice": {"command": "c", "env": {"K": "1"}, "secretEnv": {"K": "2"}}}}"#,
    )
    .file("cwd/.ai-agent.env", "A=file")
    .variable("A", "process");
    let config = world.load();
    let server = |name| {
        config
            .mcp_server(name)
            .map(|server| server.expect("it is there"))
    };
    let given = |name| match server(name).expect("it is good").transport {
        McpTransport::Stdio { env, .. } => env,
        McpTransport::Http(endpoint) => endpoint.headers,
        other => panic!("{other:?}"),
    };
    for name in ["s", "u"] {
        let given = given(name);
        assert_eq!(
            (given["P"].expose(), given["K"].expose()),
            ("${A}", "<file>"),
            "{name}"
        );
        assert!(!format!("{given:?}").contains("file"), "{name}");
    }
    for (name, part) in [("gone", "UNSET"), ("twice", "`secretEnv`")] {
        let problems = server(name).expect_err("it is wrong");
        let shown = world.shown(&problems);
        assert!(shown.contains(part) && shown.contains(name), "{shown}");
    }
}
