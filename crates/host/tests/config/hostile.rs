//! Input that means harm: it ends in a value or an error, soon, and without much memory.

use std::path::Path;
use std::time::{Duration, Instant};

use bonded_host::agent_file::{AgentFile, IncludePolicy, Variables};
use bonded_host::config::options::{Given, Sources, TABLE, resolve};
use proptest::prelude::*;
use serde_json::Value;

use crate::world::World;

fn read(text: &str) -> Result<AgentFile, String> {
    let nowhere = Path::new("/nonexistent");
    let agent = AgentFile::from_text(
        text,
        &nowhere.join("a.ai"),
        nowhere,
        IncludePolicy::InsideTree,
    );
    agent.map_err(|error| error.to_string())
}

/// Reads front matter and says how it ended; slower than this is not read at all.
fn soon(name: &str, front_matter: &str) -> String {
    let start = Instant::now();
    let result = read(&format!("---\n{front_matter}\n---\n"));
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{name} took {took:?}");
    result.map_or_else(|error| error, |agent| format!("{:?}", agent.description))
}

#[test]
fn aliases_that_multiply_are_stopped() {
    let mut laughs = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        laughs += &format!("a{level}: &a{level} [{below}]\n");
    }
    assert!(soon("laughs", &laughs).contains("too large"));
    let long = format!(
        "a: &a {}\nb: [{}]",
        "x".repeat(500_000),
        "*a, ".repeat(1000)
    );
    assert!(soon("long text", &long).contains("too large"));
    let mut tower = String::from("a0: &a0 [x]\n");
    for level in 1..200 {
        tower += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    assert!(soon("tower", &tower).contains("deeper than"));
    assert!(soon("itself", "a: &a [*a]").contains("refers to itself"));
}

#[test]
fn deep_and_long_texts_end_soon() {
    let half = 500_000;
    let rows = [
        ("brackets", "[".repeat(half)),
        ("braces", "{".repeat(half)),
        ("pairs", "{a: ".repeat(half / 4)),
        ("dashes", "- ".repeat(half)),
        ("questions", "? ".repeat(half)),
        ("colons", "a: ".repeat(half / 3)),
        ("anchors", "&a ".repeat(half / 3)),
        ("quotes", "\"".repeat(half)),
        ("one long key", format!("{}: x", "k".repeat(half))),
        (
            "many keys",
            (0..40_000).map(|n| format!("k{n}: 1\n")).collect(),
        ),
        ("comment", format!("#{}", " #".repeat(half))),
        ("spaces", " ".repeat(half)),
        ("tabs", "\t".repeat(half)),
        ("lines", "\n".repeat(half)),
        ("commas", format!("[{}", "a,".repeat(half / 2))),
        ("block", format!("a: |\n{}", " x\n".repeat(half / 3))),
        ("empty includes", "${include:".repeat(half / 10)),
    ];
    for (name, text) in rows {
        soon(name, &text);
    }
}

#[test]
fn a_deeply_nested_configuration_is_an_error() {
    let deep = format!("{}{}", r#"{"custom":"#.repeat(10_000), "}".repeat(10_000));
    assert!(
        World::with(&deep)
            .problems()
            .contains("this is not JSON: recursion limit")
    );
}

/// Text out of the pieces that mean something to the parsers.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("---\n".to_owned()),
        Just("\n".to_owned()),
        Just("  ".to_owned()),
        Just("- ".to_owned()),
        Just(": ".to_owned()),
        Just("${include:".to_owned()),
        Just("{{include:".to_owned()),
        Just("${A}".to_owned()),
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        Just("&a ".to_owned()),
        Just("*a ".to_owned()),
        Just("!!str ".to_owned()),
        Just("|\n".to_owned()),
        Just("#".to_owned()),
        Just("\r\n".to_owned()),
        "[a-z\\[\\]{}\"',?%@`0-9.+-]{1,3}",
        "\\PC{1,2}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn every_text_is_an_agent_or_an_error(text in pieces()) {
        let variables: Variables = [("A".to_owned(), "a".to_owned())].into();
        if let Ok(agent) = read(&text) {
            agent.prompt(&variables);
        }
        let fenced = format!("#!x\n---\n{text}\n---\nbody");
        if let Ok(agent) = read(&fenced) {
            let sources = Sources { front_matter: agent.options, ..Sources::default() };
            let _either = resolve(&sources);
        }
    }

    #[test]
    fn every_word_is_an_option_or_an_error(word in "\\PC{0,12}", row in 0..TABLE.len()) {
        let row = &TABLE[row];
        for value in [Value::from(word.clone()), serde_json::from_str(&word).unwrap_or(Value::Null)] {
            let given = Given { value, place: "x".into() };
            let sources = Sources { config: [(row.key.to_owned(), given)].into(), ..Sources::default() };
            let _either = resolve(&sources);
        }
    }

    #[test]
    fn every_pair_of_files_is_a_configuration_or_an_error(env in pieces(), key in pieces(), tail in pieces()) {
        let config = serde_json::json!({"providers": {"p": {"type": "openai", "apiKey": key}}});
        let world = World::with(&format!("{config}{}", tail.trim_matches(|c| "#{[".contains(c))))
            .file("cwd/.ai-agent.env", env);
        if let Ok(config) = world.try_load() {
            config.check_all();
            config.explain();
        }
    }
}
