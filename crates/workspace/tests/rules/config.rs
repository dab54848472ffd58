//! `config.json`: what is not said has a value of ours, what is odd is warned about, what is wrong stops the start.

use std::path::Path;

use bonded_kernel::{Mode, WorkspaceId};
use bonded_workspace::config::{WorkspaceConfig, WorkspaceConfigError, data_file, environment};
use bonded_workspace_rules::{LoopDefaults, Surroundings as _};
use proptest::prelude::*;

fn parse(text: &str) -> Result<WorkspaceConfig, WorkspaceConfigError> {
    let read = WorkspaceConfig::parse(text, Path::new("config.json"));
    read.map(|read| read.config)
}

fn warnings(text: &str) -> Vec<String> {
    let read = WorkspaceConfig::parse(text, Path::new("config.json"));
    read.expect("it is well").warnings
}

#[test]
fn a_file_that_says_nothing_is_whole_and_so_is_the_one_that_is_written_first() {
    let usual = WorkspaceConfig::default();
    assert_eq!(parse("{}"), Ok(usual.clone()));
    assert_eq!(parse(&usual.text()), Ok(usual.clone()));
    assert_eq!(usual.loop_defaults(), LoopDefaults::default());
    assert!(usual.server.bind_addr.starts_with("127.0.0.1:"));
    let dir = tempfile::tempdir().expect("a directory");
    let absent = WorkspaceConfig::load(&dir.path().join("config.json"));
    assert_eq!(absent.map(|read| read.config), Ok(usual));
}

#[test]
fn what_is_said_takes_the_place_of_what_is_usual() {
    let config = parse(
        r#"{ "agent": { "mode": "reviewed", "loop_delay_ms": 10 }, "automation": { "model": "m", "temperature": 1 } }"#,
    );
    let defaults = config.expect("it is well").loop_defaults();
    assert_eq!(defaults.mode, Some(Mode::Reviewed));
    assert_eq!(defaults.pace.loop_delay_ms, 10);
    assert_eq!(defaults.pace.idle_delay_ms, 5000);
    assert_eq!(defaults.provider.model, "m");
    assert!((defaults.provider.temperature - 1.0).abs() < f64::EPSILON);
}

#[test]
fn durations_and_sizes_are_taken_as_people_write_them() {
    let text = r#"{ "server": { "request_timeout_ms": "1m30s" }, "agent": { "paging_bytes": "16k" },
        "automation": { "max_tokens": "8k" } }"#;
    let config = parse(text).expect("it is good");
    assert_eq!(config.server.request_timeout_ms, 90_000);
    assert_eq!(config.agent.paging_bytes, 16_384);
    assert_eq!(config.automation.max_tokens, 8_000);
}

#[test]
fn a_provider_without_a_place_is_looked_for_where_its_kind_is_and_nowhere_else() {
    let rows = [
        (r#"{}"#, "http://127.0.0.1:1234/v1"),
        (
            r#"{ "default_provider_kind": "openrouter" }"#,
            "https://openrouter.ai/api/v1",
        ),
        (
            r#"{ "default_provider_kind": "openrouter", "base_url": "http://10.0.0.1/v1" }"#,
            "http://10.0.0.1/v1",
        ),
    ];
    for (automation, expected) in rows {
        let config = parse(&format!("{{ \"automation\": {automation} }}"));
        let provider = config.expect("it is well").loop_defaults().provider;
        assert_eq!(provider.base_url.as_deref(), Some(expected), "{automation}");
    }
}

#[test]
fn keys_that_nobody_knows_are_warned_about_with_the_nearest_one() {
    let rows = [
        (
            "{\n \"sever\": {}\n}",
            "line 2: sever: there is no such key; it is ignored; did you mean server?",
        ),
        (
            "{ \"agent\": {\n \"loop_delay\": 1 } }",
            "line 2: agent.loop_delay: there is no such key; it is ignored",
        ),
        (
            "{ \"database\": { \"max\": 20 } }",
            "line 1: database: has no effect",
        ),
        (
            "{ \"server\": { \"static_dir\": \"x\" } }",
            "line 1: server.static_dir: has no effect",
        ),
    ];
    for (text, expected) in rows {
        let found = warnings(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("line "), "{found:?}");
        assert!(found[0].contains(expected), "{found:?}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_key() {
    let rows = [
        ("", "config.json, line 1"),
        ("{\n  \"agent\": }", "config.json, line 2"),
        ("[]", "line 1: must be an object, not a list of 0"),
        (
            "{\n\"server\": 1 }",
            "line 2: server: must be an object, not the number",
        ),
        (
            "{ \"server\": {\n\n \"bind_addr\": 8080 } }",
            "line 3: server.bind_addr: must be a text, not the number",
        ),
        (
            "{ \"server\": { \"bind_addr\": \"here\" } }",
            "server.bind_addr: must be an address and a port",
        ),
        (
            "{ \"server\": { \"request_timeout_ms\": \"1x\" } }",
            "server.request_timeout_ms: 1x is not a duration. Write 90s, 10m or 1h.",
        ),
        (
            "{ \"server\": { \"request_timeout_ms\": 1.5 } }",
            "server.request_timeout_ms: must be a whole number, not 1.5",
        ),
        (
            "{ \"server\": { \"request_timeout_ms\": -1 } }",
            "server.request_timeout_ms: must be a whole number, not -1",
        ),
        (
            "{ \"server\": { \"request_timeout_ms\": 0 } }",
            "server.request_timeout_ms: must be at least 1",
        ),
        (
            "{ \"server\": { \"max_request_body_mb\": 99999999999 } }",
            "server.max_request_body_mb: must be a whole number",
        ),
        (
            "{ \"server\": { \"cors_allowed_origins\": [1] } }",
            "server.cors_allowed_origins: must be a list of texts",
        ),
        (
            "{ \"automation\": {\n \"base_url\": \"127.0.0.1:1234\" } }",
            "line 2: automation.base_url: the base URL \"127.0.0.1:1234\" does not begin with http:// or https://",
        ),
        (
            "{ \"automation\": { \"base_url\": \"https://me:secret@host/v1\" } }",
            "automation.base_url: the base URL holds a user name or password",
        ),
        (
            "{ \"automation\": { \"model\": \" \" } }",
            "automation.model: must name a model",
        ),
        (
            "{ \"agent\": { \"name\": \"other\" } }",
            "agent.name: must be one of kjxlkj-agent, not \"other\"",
        ),
        (
            "{ \"agent\": { \"mode\": \"auto\" } }",
            "agent.mode: must be one of yolo, reviewed, not \"auto\"",
        ),
        (
            "{ \"automation\": { \"default_provider_kind\": \"x\" } }",
            "automation.default_provider_kind: must be one of openai,",
        ),
        (
            "{ \"automation\": { \"allowed_dirs\": [\"/srv\"] } }",
            "automation.allowed_dirs: must be an object with a list of directories",
        ),
        (
            "{ \"automation\": { \"allowed_dirs\": { \"Notes\": [\"/srv\"] } } }",
            "automation.allowed_dirs.Notes: must be the id of a workspace, or * for all",
        ),
        (
            "{ \"automation\": { \"allowed_dirs\": { \"*\": \"/srv\" } } }",
            "automation.allowed_dirs.*: must be a list of texts",
        ),
        (
            "{ \"automation\": { \"allowed_providers\": [\"openai=ftp://x\"] } }",
            "automation.allowed_providers: \"openai=ftp://x\": the base URL",
        ),
        (
            "{ \"automation\": { \"temperature\": 3 } }",
            "automation.temperature: must be a number from 0 to 2",
        ),
        (
            "{ \"automation\": { \"openrouter_api_key\": \"sk-1\" } }",
            "secrets do not belong in this file",
        ),
        (
            "{ \"search\": { \"default_mode\": \"best\" } }",
            "search.default_mode: must be one of hybrid, lexical, semantic",
        ),
        (
            "{ \"search\": {\n \"embedding_provider\": \"anthropic\" } }",
            "line 2: search.embedding_provider: must be one of openai, openrouter, mistral, lmstudio, ollama,",
        ),
        (
            "{ \"search\": { \"embedding_base_url\": \"ftp://x\" } }",
            "search.embedding_base_url: the base URL \"ftp://x\" does not begin with http",
        ),
        (
            "{ \"search\": { \"embedding_base_url\": \"http://me:pw@x/v1\" } }",
            "search.embedding_base_url: the base URL holds a user name or password",
        ),
        (
            "{ \"search\": { \"reindex_batch_size\": 0 } }",
            "search.reindex_batch_size: must be at least 1",
        ),
    ];
    for (text, expected) in rows {
        let error = parse(text).expect_err("it is refused").to_string();
        assert!(error.contains(expected), "{error} is not {expected:?}");
        assert!(!error.contains("sk-1"), "{error}");
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let error = parse(r#"{ "server": { "bind_addr": 1 }, "agent": { "loop_delay_ms": "x" } }"#);
    let error = error.expect_err("it is refused").to_string();
    assert!(
        error.contains("bind_addr") && error.contains("loop_delay_ms"),
        "{error}"
    );
}

#[test]
fn secrets_come_from_the_environment_and_from_the_file_beside_it() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(
        dir.path().join(".env"),
        "OPENROUTER_API_KEY=from-file\nOTHER='x'\n",
    )
    .expect("a file");
    let process = [("OPENROUTER_API_KEY".to_owned(), "from-process".to_owned())];
    let found = environment(dir.path(), process).expect("it is well");
    let shown = format!("{found:?}");
    assert!(
        shown.contains("OTHER") && !shown.contains("from-"),
        "{shown}"
    );
    std::fs::write(dir.path().join(".env"), "A=1\nnonsense\n").expect("a file");
    let error = environment(dir.path(), [])
        .expect_err("it is refused")
        .to_string();
    assert!(error.contains(".env, line 2"), "{error}");
}

#[test]
fn rules_use_what_is_allowed_for_their_workspace_and_never_the_data_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    for name in ["data/in", "agents/sub", "own", "other", "above/data2"] {
        std::fs::create_dir_all(path(name)).expect("a directory");
    }
    for (to, link) in [
        ("other", "agents/link"),
        ("data", "agents/data"),
        ("agents", "own/up"),
    ] {
        std::os::unix::fs::symlink(path(to), path(link)).expect("a link");
    }
    let text = |name: &str| path(name).to_string_lossy().into_owned();
    let (here, elsewhere) = (
        WorkspaceId::from_bytes([1; 16]),
        WorkspaceId::from_bytes([2; 16]),
    );
    let mut config = WorkspaceConfig::default();
    config.automation.allowed_dirs = [
        ("*".to_owned(), vec!["../agents".to_owned()]),
        (here.to_string(), vec![text("own"), text("")]),
    ]
    .into();
    let around = config.surroundings(&path("data"));
    let rows = [
        ("plan.yaml".to_owned(), true, true),
        (text("agents/tidy.ai"), true, true),
        (text("agents"), true, true),
        (text("agents/sub/not/there"), true, true),
        (text("own/x"), true, false),
        (text("other/x"), true, false),
        (text("agents/link/x"), true, false),
        ("../other/x".to_owned(), true, false),
        // What is above the data directory shows it.
        (text(""), false, false),
        ("/".to_owned(), false, false),
        (text("data"), false, false),
        (text("data/in"), false, false),
        (text("data/not/there"), false, false),
        (text("agents/data"), false, false),
        (text("agents/data/in"), false, false),
        (text("agents/../data/owner-token"), false, false),
        ("/etc/passwd".to_owned(), false, false),
    ];
    for (path, is_allowed_here, is_allowed_elsewhere) in rows {
        for (workspace, is_allowed) in [(here, is_allowed_here), (elsewhere, is_allowed_elsewhere)]
        {
            let checked = around.check_place(&workspace, &path);
            assert_eq!(checked.is_ok(), is_allowed, "{path}: {checked:?}");
        }
    }
    let none = WorkspaceConfig::default().surroundings(&path("data"));
    let refused = none
        .check_place(&here, "plan.yaml")
        .expect_err("none is listed");
    assert!(refused.contains("automation.allowed_dirs"), "{refused}");
    assert!(
        !refused.contains(&text("")),
        "a place of the machine is told: {refused}"
    );
    assert!(
        around
            .check_cron("0 0 30 2 *", "UTC")
            .is_err_and(|it| it.field == "cron")
    );
    assert!(
        around
            .check_cron("* * * * *", "X/Y")
            .is_err_and(|it| it.field == "timezone")
    );
}

#[test]
fn each_workspace_has_its_own_memories_and_the_first_one_the_usual_file() {
    let (first, second) = (
        WorkspaceId::from_bytes([1; 16]),
        WorkspaceId::from_bytes([2; 16]),
    );
    let around = WorkspaceConfig::default()
        .surroundings(Path::new("/srv/ws"))
        .with_first(Some(first));
    let usual = "./data/agent-kv-store.json";
    let rows = [
        (first, usual, Some("agent-kv-store.json".to_owned())),
        (
            first,
            "agent-kv-store.json",
            Some("agent-kv-store.json".to_owned()),
        ),
        (
            second,
            usual,
            Some(format!("memory/{second}/agent-kv-store.json")),
        ),
        (first, "inbox", Some(format!("memory/{first}/inbox.json"))),
        (
            second,
            "./data/inbox.json",
            Some(format!("memory/{second}/inbox.json")),
        ),
        (first, "owner-token", None),
        (first, "../x.json", None),
        (second, "memory/x.json", None),
    ];
    for (workspace, name, expected) in rows {
        let found = around.memory_file(&workspace, name);
        let expected = expected.map(|it| Path::new("/srv/ws").join(it));
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_data_directory_is_what_rules_call_data() {
    let dir = Path::new("/srv/ws");
    let rows = [
        ("./data/agent-prompt.json", "/srv/ws/agent-prompt.json"),
        ("data/x/y.json", "/srv/ws/x/y.json"),
        ("prompts/mine.json", "/srv/ws/prompts/mine.json"),
        ("./mine.json", "/srv/ws/mine.json"),
    ];
    for (name, expected) in rows {
        assert_eq!(data_file(dir, name), Path::new(expected));
    }
}

proptest! {
    #[test]
    fn any_text_is_a_configuration_or_is_refused(text in "\\PC{0,80}", key in "[a-z_.\"\\\\]{0,12}") {
        let _ = parse(&text);
        let object = serde_json::json!({ "server": { key: text } });
        let _ = parse(&object.to_string());
    }
}
