//! Options: the table, the parsers, and which source wins.

use std::collections::{BTreeMap, BTreeSet};

use bonded_host::config::options::{
    Caching, Given, ModelRef, OptionError, OptionKind, Options, Source, Sources, TABLE,
    ToolEncoding, find, parse_override, resolve,
};
use bonded_host::skills::SkillChoice;
use bonded_kernel::{Permission, ProcessLimits};
use serde_json::{Value, json};

use crate::world::World;

fn said(key: &str, value: impl Into<Value>) -> BTreeMap<String, Given> {
    let place = "somewhere".to_owned();
    let value = value.into();
    [(key.to_owned(), Given { value, place })].into()
}

/// The options if the command line says this.
fn typed(key: &str, text: &str) -> Result<Options, OptionError> {
    let row = find(key).expect("the option exists");
    let sources = Sources {
        command_line: [(key.to_owned(), Given::typed(row, text))].into(),
        ..Sources::default()
    };
    resolve(&sources).map(|resolved| resolved.options)
}

#[test]
fn without_a_word_the_options_are_the_built_in_ones() {
    let resolved = resolve(&Sources::default()).expect("nothing is wrong");
    let options = resolved.options;
    assert!(options.models.is_empty() && options.tools.is_empty() && options.agents.is_empty());
    assert_eq!(
        (options.llm_timeout_ms, options.tool_timeout_ms),
        (600_000, 300_000)
    );
    assert_eq!(options.tool_response_bytes_max, 12_288);
    assert_eq!(options.openai_mode, None);
    assert_eq!(options.temperature, None);
    assert_eq!(
        (options.top_p, options.top_k, options.repeat_penalty),
        (None, None, None)
    );
    assert_eq!(options.output_tokens_max, 4096);
    assert_eq!((options.attempts_per_turn_max, options.turns_max), (3, 10));
    assert_eq!(options.calls_per_turn_max, 10);
    assert!(options.tool_output_paging && !options.progress_reports);
    assert_eq!(options.caching, Caching::Full);
    assert_eq!(options.encoding, ToolEncoding::XmlFinal);
    assert!(!options.stream && !options.verbose && !options.quiet);
    assert!(!options.trace_llm && !options.trace_mcp && !options.trace_tools);
    assert_eq!(options.context_window_tokens, None);
    assert_eq!(options.context_window_buffer_tokens, 256);
    assert_eq!(
        (options.sessions_dir, options.billing_file, options.format),
        (None, None, None)
    );
    assert_eq!(resolved.sources.len(), TABLE.len());
    assert!(
        resolved
            .sources
            .values()
            .all(|source| *source == Source::BuiltIn)
    );
}

#[test]
fn the_table_has_every_key_and_flag_once_and_every_row_is_whole() {
    let mut seen = BTreeSet::new();
    for row in TABLE {
        assert!(seen.insert(row.key), "{}", row.key);
        assert!(!row.help.is_empty(), "{}", row.key);
        assert!(
            row.flag.is_some() || row.overridable,
            "{} cannot be said",
            row.key
        );
        for flag in row.flag.iter().chain(row.flag_aliases) {
            assert!(flag.starts_with("--") && seen.insert(flag), "{flag}");
        }
        if let Some(default) = row.default {
            typed(row.key, default).expect("a built-in value is a value");
        }
    }
}

#[test]
fn the_higher_source_wins_and_is_named() {
    let order = [
        Source::Override,
        Source::CommandLine,
        Source::FrontMatter,
        Source::Inherited,
        Source::Config,
        Source::BuiltIn,
    ];
    for (rank, expected) in order.into_iter().enumerate() {
        let from = |place: usize| match place >= rank {
            true => said("maxTurns", 100 + place),
            false => BTreeMap::new(),
        };
        let sources = Sources {
            overrides: from(0),
            command_line: from(1),
            front_matter: from(2),
            inherited: from(3),
            config: from(4),
            ..Sources::default()
        };
        let resolved = resolve(&sources).expect("nothing is wrong");
        let turns = if expected == Source::BuiltIn {
            10
        } else {
            100 + rank
        };
        assert_eq!(resolved.options.turns_max as usize, turns);
        assert_eq!(resolved.sources["maxTurns"], expected);
    }
}

#[test]
fn what_is_typed_reaches_its_option() {
    type Check = fn(&Options) -> bool;
    let rows: [(&str, &str, Check); 33] = [
        ("models", "a/b, c/d/e", |o| {
            o.models[1]
                == ModelRef {
                    provider: "c".into(),
                    model: "d/e".into(),
                }
        }),
        ("models", "script:x/y.jsonl", |o| {
            o.models[0].provider == "script" && o.models[0].model == "x/y.jsonl"
        }),
        ("tools", "a,b,", |o| o.tools == ["a", "b"]),
        ("agents", "x.ai", |o| o.agents == ["x.ai"]),
        ("skills", "a, b", |o| {
            o.skills == SkillChoice::Named(vec!["a".into(), "b".into()])
        }),
        ("skills", "all", |o| o.skills == SkillChoice::All),
        ("llmTimeout", "5", |o| o.llm_timeout_ms == 5),
        ("toolTimeout", "6", |o| o.tool_timeout_ms == 6),
        ("toolResponseMaxBytes", "7", |o| {
            o.tool_response_bytes_max == 7
        }),
        ("temperature", "0.5", |o| o.temperature == Some(0.5)),
        ("temperature", "Unset", |o| o.temperature.is_none()),
        ("topP", "0.9", |o| o.top_p == Some(0.9)),
        ("topK", "40", |o| o.top_k == Some(40)),
        ("repeatPenalty", "1.1", |o| o.repeat_penalty == Some(1.1)),
        ("maxOutputTokens", "100", |o| o.output_tokens_max == 100),
        ("maxRetries", "1", |o| o.attempts_per_turn_max == 1),
        ("maxToolCallsPerTurn", "1", |o| o.calls_per_turn_max == 1),
        ("toolOutputPaging", "false", |o| !o.tool_output_paging),
        ("toolSearchAbove", "7", |o| o.tool_search_above == Some(7)),
        ("toolSearchAbove", "none", |o| o.tool_search_above.is_none()),
        ("contextSummary", "true", |o| o.context_summary),
        ("progressReports", "yes", |o| o.progress_reports),
        ("caching", "none", |o| o.caching == Caching::None),
        ("toolingTransport", "native", |o| {
            o.encoding == ToolEncoding::Native
        }),
        ("toolingTransport", "XML", |o| {
            o.encoding == ToolEncoding::Xml
        }),
        ("stream", "true", |o| o.stream),
        ("stream", "off", |o| !o.stream),
        ("traceTools", "true", |o| {
            o.trace_tools && !o.trace_llm && !o.trace_mcp
        }),
        ("sessionsDir", "/s", |o| {
            o.sessions_dir.as_deref() == Some("/s")
        }),
        ("billingFile", "/b", |o| {
            o.billing_file.as_deref() == Some("/b")
        }),
        ("format", "plain-text", |o| o.format == Some("pipe")),
        ("format", "terminal", |o| o.format == Some("tty")),
        ("format", "markdown+mermaid", |o| {
            o.format == Some("markdown+mermaid")
        }),
    ];
    for (key, text, holds) in rows {
        let options = typed(key, text).expect("it is good");
        assert!(holds(&options), "{key} {text}");
    }
}

#[test]
fn unset_words_take_a_nullable_number_out_in_every_case_and_source() {
    for word in ["none", "off", "unset", "default", "null", "NONE", "Off"] {
        for key in ["temperature", "topP", "topK", "repeatPenalty"] {
            let sources = Sources {
                front_matter: said(key, word),
                config: said(key, 1),
                ..Sources::default()
            };
            let options = resolve(&sources).expect("it is good").options;
            let top_k = options.top_k.map(|k| k as f64);
            let sent = match key {
                "temperature" => options.temperature,
                "topP" => options.top_p,
                "topK" => top_k,
                _ => options.repeat_penalty,
            };
            assert_eq!(sent, None, "{key} {word}");
        }
        assert!(
            typed("maxTurns", word).is_err(),
            "{word} is no number of turns"
        );
    }
}

#[test]
fn one_value_means_the_same_as_text_json_and_yaml() {
    let rows = [
        ("maxTurns", json!("5"), json!(5)),
        ("temperature", json!("0.5"), json!(0.5)),
        ("stream", json!("true"), json!(true)),
        ("tools", json!("a, b"), json!(["a", "b"])),
        ("topP", json!("none"), json!(null)),
    ];
    for (key, text, value) in rows {
        let from = |value: &Value| {
            let sources = Sources {
                inherited: said(key, value.clone()),
                ..Sources::default()
            };
            resolve(&sources).expect("it is good")
        };
        assert_eq!(from(&text), from(&value), "{key}");
    }
}

#[test]
fn a_bad_value_is_said_with_its_place_its_key_and_what_was_expected() {
    let rows = [
        (
            "maxTurns",
            json!(0),
            "somewhere: maxTurns must be a whole number from 1 to 4294967295, not the number 0",
        ),
        ("maxTurns", json!(-1), "not the number -1"),
        ("maxTurns", json!(1.5), "not the number 1.5"),
        ("maxTurns", json!("many"), "not the text \"many\""),
        ("maxTurns", json!([1]), "not a list of 1"),
        (
            "maxTurns",
            json!(4_294_967_296_u64),
            "not the number 4294967296",
        ),
        (
            "temperature",
            json!(2.1),
            "temperature must be a number from 0 to 2, or none, not the number 2.1",
        ),
        ("temperature", json!("NaN"), "not the text \"NaN\""),
        (
            "repeatPenalty",
            json!("inf"),
            "repeatPenalty must be a number from 0 up, or none",
        ),
        (
            "topK",
            json!("x"),
            "topK must be a whole number from 1 to 4294967295, or none",
        ),
        (
            "models",
            json!("gpt-4o"),
            "somewhere: gpt-4o has no provider. Did you mean openai/gpt-4o?",
        ),
        ("models", json!(["a/"]), "models must be PROVIDER/MODEL"),
        ("tools", json!([1]), "tools must be a list of names"),
        (
            "caching",
            json!("some"),
            "caching must be one of full, none",
        ),
        ("stream", json!("maybe"), "stream must be true or false"),
        (
            "reasoning",
            json!("much"),
            "reasoning must be none, minimal, low, medium, high, xhigh or max",
        ),
        (
            "reasoningTokens",
            json!("x"),
            "reasoningTokens must be a whole number of tokens, or none",
        ),
        (
            "format",
            json!("xls"),
            "format must be one of markdown, markdown+mermaid, slack-block-kit, tty, pipe, json, sub-agent",
        ),
        ("sessionsDir", json!(""), "sessionsDir must be a text"),
        (
            "toolTimeout",
            json!("5x"),
            "somewhere: toolTimeout 5x is not a duration. Write 90s, 10m or 1h.",
        ),
        ("toolTimeout", json!(0), "toolTimeout 0 is too short"),
        ("toolTimeout", json!(1e9), "is not a duration"),
        (
            "toolTimeout",
            json!([1]),
            "toolTimeout must be a duration such as",
        ),
        ("toolResponseMaxBytes", json!("2T"), "The most is 1T."),
        ("contextWindow", json!("64kB"), "is not a number of tokens"),
    ];
    for (key, value, expected) in rows {
        let sources = Sources {
            config: said(key, value),
            ..Sources::default()
        };
        let error = resolve(&sources).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = typed("maxTurns", "x").expect_err("it is bad").to_string();
    assert!(
        error.starts_with("--max-turns: maxTurns must be"),
        "{error}"
    );
}

#[test]
fn a_bad_value_is_an_error_even_where_a_higher_source_wins() {
    let sources = Sources {
        command_line: said("maxTurns", 5),
        front_matter: said("maxTurns", "five"),
        ..Sources::default()
    };
    assert!(resolve(&sources).is_err());
}

#[test]
fn an_override_names_an_option_that_may_be_overridden() {
    let good = [
        ("maxTurns=3", "maxTurns", "3"),
        (" contextWindow = 5 ", "contextWindow", "5"),
        ("models=a/b=c", "models", "a/b=c"),
    ];
    for (text, key, value) in good {
        let (found, given) = parse_override(text).expect(text);
        assert_eq!((found.as_str(), given.value), (key, json!(value)), "{text}");
    }
    let bad = [
        (
            "maxTurn=3",
            "--override: there is no option maxTurn; did you mean maxTurns?",
        ),
        ("colour=3", "--override: there is no option colour"),
        (
            "verbose=true",
            "--override: verbose cannot be set here; use --verbose",
        ),
        ("maxTurns", "--override \"maxTurns\" is not KEY=VALUE"),
    ];
    for (text, expected) in bad {
        assert_eq!(parse_override(text).expect_err(text).to_string(), expected);
    }
    let sources = Sources {
        overrides: said("verbose", true),
        ..Sources::default()
    };
    assert!(resolve(&sources).is_err());
    let sources = Sources {
        overrides: said("contextWindow", "5"),
        ..Sources::default()
    };
    assert_eq!(
        resolve(&sources)
            .expect("it is good")
            .options
            .context_window_tokens,
        Some(5)
    );
}

#[test]
fn every_place_of_the_configuration_reaches_its_option() {
    let world = World::with(
        r#"{"defaults": {"skills": ["a"], "llmTimeout": 1, "toolTimeout": 2, "toolResponseMaxBytes": 3, "temperature": 0.4,
              "topP": 0.5, "topK": 6, "repeatPenalty": 0.7, "maxOutputTokens": 8, "maxRetries": 9,
              "maxTurns": "${TURNS}", "maxToolCallsPerTurn": 11, "stream": true, "reasoning": "low",
              "toolOutputPaging": true, "toolSearchAbove": 18, "contextSummary": true, "progressReports": true, "openaiMode": "chat",
              "reasoningValue": 12, "contextWindowBufferTokens": 13, "outputFormat": "json",
              "approvals": {"ask": ["a*"]}, "untrusted": ["b*"], "afterUntrusted": "deny", "readOnly": true,
              "sandbox": "full", "sandboxRequired": true, "sandboxBestEffort": true, "sandboxNetwork": true,
              "sandboxEnv": ["HERE"], "sandboxShow": ["~/x"],
              "sandboxCpuMs": 14001, "sandboxMemoryBytes": 20000000, "sandboxProcesses": 16, "sandboxFileBytes": 17000},
            "tooling": {"transport": "native"},
            "persistence": {"sessionsDir": "/s"},
            "accounting": {"file": "/ledger"}}"#,
    )
    .variable("TURNS", "10");
    let config = world.load();
    assert!(config.warnings().is_empty(), "{:?}", config.warnings());
    let given = config.defaults().expect("it is good");
    let placed: Vec<&str> = given.keys().map(String::as_str).collect();
    let expected: BTreeSet<&str> = TABLE
        .iter()
        .filter(|row| !row.config.is_empty())
        .map(|row| row.key)
        .collect();
    assert_eq!(placed, expected.into_iter().collect::<Vec<_>>());
    assert!(
        given["maxTurns"]
            .place
            .ends_with(".ai-agent.json, defaults.maxTurns")
    );
    let sources = Sources {
        config: given,
        ..Sources::default()
    };
    let resolved = resolve(&sources).expect("it is good");
    let options = &resolved.options;
    assert_eq!(options.encoding, ToolEncoding::Native);
    assert_eq!(options.sessions_dir.as_deref(), Some("/s"));
    assert_eq!(options.billing_file.as_deref(), Some("/ledger"));
    assert_eq!((options.turns_max, options.calls_per_turn_max), (10, 11));
    assert_eq!(options.context_window_buffer_tokens, 13);
    assert_eq!(options.format, Some("json"));
    assert_eq!(options.approvals[0].tools.as_str(), "a*");
    assert_eq!(options.untrusted, Some(vec!["b*".to_owned()]));
    assert_eq!(options.after_untrusted, Permission::Deny);
    assert!(options.reads_only);
    let sandbox = &options.sandbox;
    assert_eq!(sandbox.level.as_str(), "full");
    assert!(sandbox.required && sandbox.network);
    assert_eq!(sandbox.env, ["HERE"]);
    let limits = ProcessLimits {
        cpu_s: 15,
        memory_bytes: 20_000_000,
        processes: 16,
        file_bytes: 17_000,
    };
    assert_eq!(sandbox.limits, limits);
    assert_eq!(resolved.sources["toolingTransport"], Source::Config);
}

#[test]
fn the_ledger_of_persistence_wins_over_that_of_accounting() {
    let world =
        World::with(r#"{"persistence": {"billingFile": "/p"}, "accounting": {"file": "/a"}}"#);
    assert_eq!(
        world.load().defaults().expect("it is good")["billingFile"].value,
        "/p"
    );
}

#[test]
fn a_bad_default_behind_a_variable_is_found_by_the_check_of_everything() {
    let world =
        World::with(r#"{"defaults": {"maxTurns": "${TURNS}"}, "tooling": {"transport": "smoke"}}"#)
            .variable("TURNS", "many");
    let all: Vec<String> = world
        .load()
        .check_all()
        .iter()
        .map(|p| world.shown(p))
        .collect();
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(
        all[0].contains("maxTurns must be a whole number"),
        "{all:?}"
    );
    assert!(
        all[1].contains("toolingTransport must be one of native, xml, xml-final"),
        "{all:?}"
    );
}

#[test]
fn an_agent_file_with_every_option_gives_exactly_these_options() {
    let rows = TABLE.iter().filter(|row| row.front_matter);
    let lines = rows.map(|row| match row.kind {
        OptionKind::Models => format!("{}: [p/m, q/n]\n", row.key),
        OptionKind::List | OptionKind::Patterns => format!("{}: [x, y]\n", row.key),
        OptionKind::Approvals => format!("{}: {{ask: [x]}}\n", row.key),
        OptionKind::Choice(words) => format!("{}: {}\n", row.key, words[1].0),
        OptionKind::Reasoning => format!("{}: high\n", row.key),
        OptionKind::Flag => format!("{}: true\n", row.key),
        _ => format!("{}: 1\n", row.key),
    });
    let text = format!("---\n{}---\nprompt", lines.collect::<String>());
    let world = World::new().file("agent/a.ai", text);
    let agent = bonded_host::agent_file::AgentFile::load(
        &world.path("agent/a.ai"),
        bonded_host::agent_file::IncludePolicy::InsideTree,
    );
    let sources = Sources {
        front_matter: agent.expect("it is good").options,
        ..Sources::default()
    };
    let resolved = resolve(&sources).expect("it is good");
    for row in TABLE.iter().filter(|row| row.front_matter) {
        assert_eq!(
            resolved.sources[row.key],
            Source::FrontMatter,
            "{}",
            row.key
        );
    }
    let options = resolved.options;
    assert_eq!(
        (
            options.models.len(),
            options.tools.len(),
            options.agents.len()
        ),
        (2, 2, 2)
    );
    assert_eq!(
        (options.turns_max, options.temperature, options.top_k),
        (1, Some(1.0), Some(1))
    );
    assert_eq!(options.caching, Caching::None);
}
