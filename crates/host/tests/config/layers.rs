//! Layers: which files count, which of them wins, and what is said about a bad one.

use bonded_host::config::{Config, Environment};
use bonded_host::trust::Trust;
use serde_json::json;

use crate::world::World;

/// The layers below the explicit one, highest first.
const FILES: [&str; 5] = [
    "cwd/.ai-agent.json",
    "agent/.ai-agent.json",
    "bin/.ai-agent.json",
    "home/.ai-agent/ai-agent.json",
    "etc/ai-agent/ai-agent.json",
];

fn url(world: &World) -> String {
    let provider = world.load().provider("openai").expect("it is good");
    let provider = provider.expect("it is there");
    provider.base_url.expect("a layer has the URL")
}

fn config_with_url(url: &str) -> String {
    json!({"providers": {"openai": {"type": "openai", "baseUrl": format!("http://{url}")}}})
        .to_string()
}

#[test]
fn a_layer_wins_over_all_layers_below_it() {
    for (highest, name) in FILES.iter().enumerate() {
        let mut world = World::new();
        for (rank, file) in FILES.iter().enumerate().skip(highest) {
            world = world.file(file, config_with_url(&rank.to_string()));
        }
        assert_eq!(url(&world), format!("http://{highest}"), "{name}");
        world = world.file("given/my.json", config_with_url("explicit"));
        world.places.explicit = Some(world.path("given/my.json"));
        assert_eq!(url(&world), "http://explicit");
    }
}

#[test]
fn objects_merge_key_by_key_and_lists_are_replaced() {
    let world = World::new()
        .file(
            "cwd/.ai-agent.json",
            r#"{"providers": {"p": {"baseUrl": "http://high"}},
                "mcpServers": {"s": {"args": ["high"]}}}"#,
        )
        .file(
            "home/.ai-agent/ai-agent.json",
            r#"{"providers": {"p": {"type": "openai", "baseUrl": "http://low", "tokenizer": "k"}, "q": {"type": "google"}},
                "mcpServers": {"s": {"command": "c", "args": ["low", "lower"]}}}"#,
        );
    let config = world.load();
    let provider = config
        .provider("p")
        .expect("it is good")
        .expect("it is there");
    assert_eq!(provider.base_url.as_deref(), Some("http://high"));
    assert_eq!(provider.every_model.tokenizer.as_deref(), Some("k"));
    assert!(config.provider("q").expect("it is good").is_some());
    let server = config
        .mcp_server("s")
        .expect("it is good")
        .expect("it is there");
    let shown = format!("{:?}", server.transport);
    assert!(shown.contains(r#"args: ["high"]"#), "{shown}");
}

#[test]
fn a_null_takes_back_what_lies_below_it() {
    let world = World::with(r#"{"providers": {"p": {"type": "openai", "contextWindow": 7}}}"#)
        .file("home/.ai-agent/ai-agent.json", r#"{"providers": {"p": null, "q": {"baseUrl": null}}}"#)
        .file(
            "etc/ai-agent/ai-agent.json",
            r#"{"providers": {"p": {"tokenizer": "t"}, "q": {"type": "openai", "baseUrl": "http://x"}}}"#,
        );
    let config = world.load();
    let p = config
        .provider("p")
        .expect("it is good")
        .expect("it is there");
    assert_eq!(p.every_model.context_window_tokens, Some(7));
    assert_eq!(p.every_model.tokenizer, None);
    let q = config
        .provider("q")
        .expect("it is good")
        .expect("it is there");
    assert_eq!(q.base_url, None);
}

#[test]
fn a_file_that_was_named_must_be_there_and_the_others_need_not_be() {
    let mut world = World::new();
    assert_eq!(world.load().files().count(), 0);
    world.places.explicit = Some(world.path("none.json"));
    assert_eq!(
        world.problems(),
        "the configuration file none.json does not exist"
    );
}

#[test]
fn one_file_under_two_names_is_one_layer() {
    let mut world = World::with(&config_with_url("x")).file("cwd/sub/x", "");
    world.places.explicit = Some(world.path("cwd/sub/../.ai-agent.json"));
    world.places.agent_dir = Some(world.path("cwd"));
    assert_eq!(world.load().files().count(), 1);
}

#[test]
fn a_mistake_is_said_with_its_file_and_place() {
    let rows = [
        (
            "{\n  \"providers\": {,}\n}",
            "cwd/.ai-agent.json, line 2, column 17: this is not JSON: ",
        ),
        ("", "line 1, column 0: this is not JSON: EOF"),
        ("[]", "(the whole file) must be an object, not a list of 0"),
        ("null", "(the whole file) must be an object"),
        (
            r#"{"providers": []}"#,
            "cwd/.ai-agent.json: providers must be an object, not a list of 0",
        ),
        (
            r#"{"providers": {"p": {"baseUrl": 5}}}"#,
            "providers.p.baseUrl must be a text, not the number 5",
        ),
        (
            r#"{"providers": {"p": {"models": {"gpt-4.1": {"contextWindow": 0}}}}}"#,
            "providers.p.models[\"gpt-4.1\"].contextWindow 0 is too small. The least is 1.",
        ),
        (
            r#"{"providers": {"p": {"reasoning": [1, 2]}}}"#,
            "providers.p.reasoning must be a number, a word, or a list of four",
        ),
        (
            r#"{"providers": {"p": {"models": {"m": {"overrides": {"topP": 1, "top_p": 1}}}}}}"#,
            "overrides.top_p must be left out beside topP",
        ),
        (
            r#"{"mcpServers": {"s": {"args": "a"}}}"#,
            "mcpServers.s.args must be a list of texts, not the text \"a\"",
        ),
        (
            r#"{"mcpServers": {"s": {"command": [1]}}}"#,
            "mcpServers.s.command must be a text or a list of texts",
        ),
        (
            r#"{"mcpServers": {"a b": {"command": "c"}}}"#,
            "mcpServers[\"a b\"]: a server name may contain only",
        ),
        (
            r#"{"queues": {"q": {"concurrent": 0}}}"#,
            "queues.q.concurrent must be a whole number from 1 up",
        ),
        (
            r#"{"defaults": {"maxTurns": "ten"}}"#,
            "defaults.maxTurns must be a whole number from 1 to 4294967295, not the text \"ten\"",
        ),
        (
            r#"{"defaults": {"temperature": 3}}"#,
            "defaults.temperature must be a number from 0 to 2, or none, not the number 3",
        ),
        (
            r#"{"pricing": {"p": {"m": {"prompt": -1}}}}"#,
            "pricing.p.m.prompt must be a number from 0 up",
        ),
        (
            r#"{"tooling": {"transport": true}}"#,
            "tooling.transport must be a text, not true",
        ),
        (
            r#"{"providers": {"p": {"apiKey": 12345}}}"#,
            "providers.p.apiKey must be a text, not what is there",
        ),
    ];
    for (text, expected) in rows {
        let problems = World::with(text).problems();
        assert!(problems.contains(expected), "{text} says {problems}");
    }
}

#[test]
fn all_mistakes_of_all_layers_are_said_at_once() {
    let problems = World::with(r#"{"providers": 1, "queues": 2}"#)
        .file("etc/ai-agent/ai-agent.json", "{")
        .problems();
    assert_eq!(problems.lines().count(), 3, "{problems}");
}

#[test]
fn a_check_finds_what_stops_the_loading_and_what_does_not() {
    let rows = [
        ("{", 1),
        (r#"{"providers": {"p": {}, "q": {}}}"#, 2),
        (r#"{"providers": {"openai": {}}}"#, 0),
    ];
    for (text, expected) in rows {
        let world = World::with(text);
        let found = Config::check(&world.places, Environment::default(), &Trust::once());
        assert_eq!(found.problems.len(), expected, "{text}: {found:?}");
    }
}

#[test]
fn unknown_and_unsupported_keys_are_warnings() {
    let world = World::with(
        r#"{"provders": {}, "telemetry": {"enabled": true}, "slack": {},
            "providers": {"openai": {"apikey": "x", "mergeStrategy": "deep"}},
            "mcpServers": {"s": {"command": "c", "colour": 1}},
            "defaults": {"maxTurn": 5, "formats": {}}}"#,
    );
    let config = world.load();
    let mut shown: Vec<String> = config
        .warnings()
        .iter()
        .map(|warning| world.shown(warning).replace("cwd/.ai-agent.json: ", ""))
        .collect();
    shown.sort();
    let expected = [
        "defaults.formats: this has no effect here",
        "defaults.maxTurn: unknown key; did you mean maxTurns?",
        "mcpServers.s.colour: unknown key",
        "provders: unknown key; did you mean providers?",
        "providers.openai.apikey: unknown key; did you mean apiKey?",
        "providers.openai.mergeStrategy: this has no effect here",
        "providers.openai: it has no type; openai is assumed from its name",
        "slack: Slack is not supported",
        "telemetry: telemetry is not supported",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_key_of_the_persons_goes_to_no_address_that_was_found_and_to_a_named_one_with_a_warning() {
    let low = r#"{"providers": {"p": {"type": "openai", "apiKey": "k", "baseUrl": "http://a"}}}"#;
    let high = r#"{"providers": {"p": {"baseUrl": "http://evil"}}}"#;
    let found = World::with(high).file("home/.ai-agent/ai-agent.json", low);
    let refused = found.load().provider("p").expect_err("it is refused");
    assert_eq!(
        found.shown(&refused),
        "cwd/.ai-agent.json: providers.p.baseUrl would send providers.p.apiKey of home/.ai-agent/ai-agent.json \
         to an address that is not written there; write both in one file"
    );
    let mut named = World::new()
        .file("named.json", high)
        .file("home/.ai-agent/ai-agent.json", low);
    named.places.explicit = Some(named.path("named.json"));
    let config = named.load();
    assert!(config.provider("p").is_ok());
    assert_eq!(
        named.shown(&config.warnings()[0]),
        "named.json: providers.p.baseUrl: the key from home/.ai-agent/ai-agent.json is sent to the URL from this file"
    );
    assert!(World::with(low).load().warnings().is_empty());
}
