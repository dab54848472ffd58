//! What may be shown of the configuration.

use serde_json::{Value, json};

use crate::world::World;

/// The rows as `path = value`, without the files.
fn rows(config: &Value) -> Vec<String> {
    let explained = World::with(&config.to_string())
        .variable("V", "hidden")
        .load()
        .explain();
    explained
        .iter()
        .map(|row| format!("{} = {}", row.key_path, row.value))
        .collect()
}

#[test]
fn values_are_listed_in_order_with_the_file_that_they_came_from() {
    let world = World::with(r#"{"queues": {"b": {"concurrent": 1}}, "defaults": {"maxTurns": 3}}"#)
        .file(
            "etc/ai-agent/ai-agent.json",
            r#"{"queues": {"a": {"concurrent": 2}, "b": {"concurrent": 9}}}"#,
        );
    let explained = world.load().explain();
    let found: Vec<String> = explained
        .iter()
        .map(|row| {
            format!(
                "{} = {} ({})",
                row.key_path,
                row.value,
                world.shown(&row.file.display())
            )
        })
        .collect();
    let expected = [
        "defaults.maxTurns = 3 (cwd/.ai-agent.json)",
        "queues.a.concurrent = 2 (etc/ai-agent/ai-agent.json)",
        "queues.b.concurrent = 1 (cwd/.ai-agent.json)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn secrets_are_masked_and_other_values_are_not() {
    let found = rows(&json!({
        "providers": {"keycloak": {
            "type": "openai", "apiKey": "s", "baseUrl": "http://plain/v1", "tokenizer": "t",
            "headers": {"X": "s"}, "contextWindowBufferTokens": 5,
            "custom": {"a": 1, "password": 5, "auth_token": "s", "secrets": {"b": "s"}, "list": [{"token": "s", "n": 1}]},
        }},
        "mcpServers": {"m": {"command": "c", "args": ["--key", "${V}", "x"], "env": {"PLAIN": "s"}, "secretEnv": {"A": "s"}, "secretHeaders": {"B": "s"}, "oauth": {"clientId": "i", "clientSecret": "s"}, "url": "http://u:s@h/"}},
        "restTools": {"r": {"url": "http://h/?api_key=s", "bodyTemplate": "${parameters.q}"}},
        "persistence": {"sessionsDir": "${V}/x"},
        "defaults": {"maxOutputTokens": 9},
    }));
    let expected = [
        "defaults.maxOutputTokens = 9",
        r#"mcpServers.m.args = ["--key","***","x"]"#,
        r#"mcpServers.m.command = "c""#,
        r#"mcpServers.m.env.PLAIN = "***""#,
        r#"mcpServers.m.oauth.clientId = "i""#,
        r#"mcpServers.m.oauth.clientSecret = "***""#,
        r#"mcpServers.m.secretEnv.A = "***""#,
        r#"mcpServers.m.secretHeaders.B = "***""#,
        r#"mcpServers.m.url = "***""#,
        r#"persistence.sessionsDir = "***""#,
        r#"providers.keycloak.apiKey = "***""#,
        r#"providers.keycloak.baseUrl = "http://plain/v1""#,
        "providers.keycloak.contextWindowBufferTokens = 5",
        "providers.keycloak.custom.a = 1",
        r#"providers.keycloak.custom.auth_token = "***""#,
        r#"providers.keycloak.custom.list = [{"n":1,"token":"***"}]"#,
        r#"providers.keycloak.custom.password = "***""#,
        r#"providers.keycloak.custom.secrets.b = "***""#,
        r#"providers.keycloak.headers.X = "***""#,
        r#"providers.keycloak.tokenizer = "t""#,
        r#"providers.keycloak.type = "openai""#,
        r#"restTools.r.bodyTemplate = "${parameters.q}""#,
        r#"restTools.r.url = "***""#,
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_masked_value_still_says_which_variables_are_in_it() {
    let world = World::with(r#"{"persistence": {"sessionsDir": "${V}/${UNSET}"}}"#);
    let explained = world.variable("V", "hidden").load().explain();
    assert_eq!(explained[0].variables, ["V", "UNSET"]);
}

#[test]
fn nothing_that_can_be_printed_holds_a_secret() {
    let config =
        r#"{"providers": {"p": {"type": "openai", "apiKey": "hidden", "headers": {"H": "${V}"}}}}"#;
    let config = World::with(config).variable("V", "hidden").load();
    let provider = config.provider("p").expect("it is good");
    let printed = format!("{config:?} {:?} {provider:?}", config.explain());
    assert!(!printed.contains("hidden"), "{printed}");
}
