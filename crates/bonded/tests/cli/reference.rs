//! Help, completions, explanations and exit codes: what a person looks up.

use std::collections::BTreeSet;

use serde_json::json;

use crate::place::{Place, done};

/// The commands that the help lists: indented by two, where a wrapped line is indented by more.
fn listed(help: &str) -> BTreeSet<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| !line.trim().is_empty());
    let entries = list.filter_map(|line| line.strip_prefix("  "));
    let entries = entries.filter(|entry| !entry.starts_with(' '));
    let names = entries.filter_map(|entry| entry.split_whitespace().next());
    // Every program has this one.
    names.filter(|name| *name != "help").collect()
}

#[test]
fn the_readme_has_a_row_for_each_command_and_no_other() {
    let readme = include_str!("../../../../README.md");
    let rows = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `bonded "));
    let named: BTreeSet<&str> = rows
        .filter_map(|row| row.split([' ', '`']).next())
        .collect();
    assert_eq!(named, listed(&Place::new().bonded(&["--help"]).stdout));
}

#[test]
fn every_command_has_help_that_says_what_it_does_and_what_it_takes() {
    let place = Place::new();
    let main = place.bonded(&["--help"]);
    main.succeeds();
    for part in ["Exit codes: 0 success, 1", "Examples:", "--store"] {
        assert!(main.stdout.contains(part), "{part}: {}", main.stdout);
    }
    let commands = listed(&main.stdout);
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        let help = place.bonded(&[command, "--help"]);
        help.succeeds();
        assert_eq!(help.stderr, "", "{command}");
        let first = help.stdout.lines().next().unwrap_or_default();
        assert!(first.len() > 10, "{command}: {first:?}");
        assert!(
            help.stdout.contains(&format!("Usage: bonded {command}")),
            "{}",
            help.stdout
        );
    }
}

#[test]
fn the_help_of_run_explains_every_limit() {
    let place = Place::new();
    let help = place.bonded(&["run", "--help"]).stdout;
    for flag in [
        "--max-turns",
        "--max-calls",
        "--max-attempts",
        "--max-time",
        "--max-tokens",
        "--max-cost",
        "--no-progress",
        "--tool-timeout",
        "--tool-output",
        "--model",
        "--base-url",
        "--each",
        "--id",
    ] {
        assert!(help.contains(flag), "{flag}");
    }
}

#[test]
fn the_version_is_an_answer() {
    let place = Place::new();
    let version = place.bonded(&["--version"]);
    version.succeeds();
    assert_eq!(
        version.stdout,
        format!("bonded {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn completions_exist_for_each_shell_and_name_each_command() {
    let place = Place::new();
    let help = place.bonded(&["--help"]).stdout;
    let commands = listed(&help);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let completions = place.bonded(&["completions", shell]);
        completions.succeeds();
        for command in &commands {
            assert!(completions.stdout.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(place.bonded(&["completions", "tcsh"]).code, Some(4));
}

#[test]
fn every_code_that_explain_lists_has_a_page_that_says_where_it_is_met() {
    let place = Place::new();
    let listed = place.bonded(&["explain"]);
    listed.succeeds();
    let codes: Vec<&str> = listed.stdout.lines().collect();
    assert!(codes.len() > 20, "{codes:?}");
    for code in codes {
        let page = place.bonded(&["explain", code]);
        page.succeeds();
        assert!(
            page.stdout.starts_with(&format!("# {code}\n")),
            "{}",
            page.stdout
        );
        // Codes of the workspace are in capitals.
        let is_command = code.starts_with(|first: char| first.is_ascii_lowercase());
        let met: &[&str] = match is_command {
            true => &["Exit code"],
            false => &[
                "HTTP status",
                "socket",
                "`error_code`",
                "degraded_reason",
                "`audit.operations`",
            ],
        };
        let is_said = met.iter().any(|words| page.stdout.contains(words));
        assert!(is_said, "{}", page.stdout);
    }
    place
        .bonded(&["explain", "no-such-code"])
        .fails_with(4, "usage");
}

#[test]
fn a_mistyped_flag_is_answered_with_the_one_that_was_meant() {
    let place = Place::new();
    for (typed, meant) in [
        ("--modle", "--model"),
        ("--max-turn", "--max-turns"),
        ("--jsn", "--json"),
    ] {
        let expected = format!(
            "error[usage]: bonded run has no option {typed}. Did you mean {meant}?\n  \
             list the options: bonded run --help\n  more: bonded explain usage\n"
        );
        for words in [&[typed, "x"][..], &[&format!("{typed}=x")]] {
            let refused = place.bonded(&[&["run"], words, &["the goal"]].concat());
            assert_eq!(refused.code, Some(4), "{refused:?}");
            assert_eq!(refused.stderr, expected);
            assert_eq!(refused.stdout, "");
        }
    }
    let far = place.bonded(&["rule", "list", "--frobnicate"]);
    let expected = "error[usage]: bonded rule list has no option --frobnicate\n";
    assert!(far.stderr.starts_with(expected), "{}", far.stderr);
    let command = place.bonded(&["resmue", "x"]);
    assert_eq!(command.code, Some(4));
    let meant = "there is no command resmue. Did you mean resume?";
    assert!(command.stderr.contains(meant), "{}", command.stderr);
}

#[test]
fn a_mistyped_command_is_answered_with_the_one_that_was_meant() {
    let place = Place::new();
    let rows: [(&[&str], &str); 5] = [
        (
            &["modles"],
            "there is no command modles. Did you mean models?",
        ),
        (
            &["rnu", "the goal"],
            "there is no command rnu. Did you mean run?",
        ),
        (
            &["note", "lsit"],
            "there is no command note lsit. Did you mean note list?",
        ),
        (
            &["--store", "s.db", "docter"],
            "there is no command docter. Did you mean doctor?",
        ),
        (&["frobnicate"], "list the commands: bonded --help"),
    ];
    for (words, expected) in rows {
        let refused = place.bonded(words);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert!(
            refused.stderr.contains("error[usage]"),
            "{}",
            refused.stderr
        );
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
        assert_eq!(refused.stdout, "");
    }
}

#[test]
fn a_mistyped_model_provider_or_code_is_answered_with_the_one_that_was_meant() {
    let place = Place::new();
    let rows: [(&[&str], &str, &str); 8] = [
        (
            &["run", "--model", "gpt-5-mini", "the goal"],
            "bad-model",
            "gpt-5-mini has no provider. Did you mean openai/gpt-5-mini?",
        ),
        (
            &["run", "--model", "claude-opus-45", "the goal"],
            "bad-model",
            "Did you mean anthropic/claude-opus-4-5?",
        ),
        (
            &["run", "--model", "my-own-thing", "the goal"],
            "bad-model",
            "my-own-thing has no provider. Write PROVIDER/MODEL, such as openai/gpt-5-mini",
        ),
        (
            &["run", "--model", "opnai/gpt-5", "the goal"],
            "bad-model",
            "there is no provider opnai. Did you mean openai/gpt-5?",
        ),
        (
            &["run", "--model", "zzzzzz/gpt-5", "the goal"],
            "bad-model",
            "there is no provider zzzzzz (zzzzzz/gpt-5). Write PROVIDER/MODEL",
        ),
        (
            &["explain", "no-modle"],
            "usage",
            "there is no error code no-modle. Did you mean no-model?",
        ),
        (
            &["explain", "NOTE_NOT_FUOND"],
            "usage",
            "there is no error code NOTE_NOT_FUOND. Did you mean NOTE_NOT_FOUND?",
        ),
        (
            &["run", "--override", "maxTunrs=3", "the goal"],
            "usage",
            "did you mean maxTurns?",
        ),
    ];
    for (words, code, expected) in rows {
        let refused = place.bonded(words);
        refused.fails_with(4, code);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
        let most = refused
            .stderr
            .lines()
            .map(|line| line.matches(", ").count());
        assert!(most.max() < Some(6), "{}", refused.stderr);
    }
}

#[test]
fn durations_and_sizes_are_taken_as_people_write_them() {
    let place = Place::new();
    let flags = [
        "--max-time",
        "1h30m",
        "--tool-timeout",
        "90s",
        "--llm-timeout",
        "2m",
        "--tool-output",
        "64k",
        "--max-tokens",
        "1M",
        "--max-output-tokens",
        "2k",
        "--sandbox-memory",
        "1G",
    ];
    place.result(&flags, &[done("ok")]);
    let entries = place.entries("run");
    let config = &entries[0]["data"]["config"];
    let limits = &config["limits"];
    assert_eq!(limits["elapsed_ms_max"], 5_400_000);
    assert_eq!(limits["tool_timeout_ms"], 90_000);
    assert_eq!(limits["tool_output_bytes_max"], 65_536);
    assert_eq!(limits["tokens_max"], 1_000_000);
    assert_eq!(config["targets"][0]["timeout_ms"], 120_000);
    assert_eq!(config["output_tokens_max"], 2_000);
    assert_eq!(config["sandbox"]["limits"]["memory_bytes"], 1_u64 << 30);
}

#[test]
fn a_bare_number_counts_what_it_always_counted() {
    let place = Place::new();
    let flags = [
        "--max-time",
        "90",
        "--tool-timeout-ms",
        "1500",
        "--tool-output",
        "4096",
    ];
    place.result(&flags, &[done("ok")]);
    let limits = &place.entries("run")[0]["data"]["config"]["limits"];
    assert_eq!(limits["elapsed_ms_max"], 90_000);
    assert_eq!(limits["tool_timeout_ms"], 1_500);
    assert_eq!(limits["tool_output_bytes_max"], 4_096);
}

#[test]
fn a_duration_or_a_size_that_is_none_is_refused_with_an_example_of_one() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let huge = "9".repeat(60);
    let rows = [
        (
            ["--max-time", "5x"],
            "--max-time 5x is not a duration. Write 90s, 10m or 1h.",
        ),
        (
            ["--max-time", ""],
            "--max-time \"\" is not a duration. Write 90s, 10m or 1h.",
        ),
        (
            ["--max-time", "5 m"],
            "--max-time \"5 m\" is not a duration.",
        ),
        (["--max-time", "-5"], "--max-time -5 is not a duration."),
        (["--max-time", "1e9"], "--max-time 1e9 is not a duration."),
        (
            ["--max-time", "18446744073709551615"],
            "is too long. The most is 36500d.",
        ),
        (["--max-time", &huge], "is not a duration."),
        (
            ["--tool-timeout", "5x"],
            "--tool-timeout 5x is not a duration. Write 90s, 10m or 1h.",
        ),
        (
            ["--tool-timeout", "0s"],
            "--tool-timeout 0s is too short. The least is 1ms.",
        ),
        (
            ["--tool-output", "much"],
            "much is not a size. Write 4096, 64k or 1M.",
        ),
        (
            ["--max-tokens", "64kB"],
            "--max-tokens 64kB is not a number of tokens. Write 8000, 64k or 1M.",
        ),
        (
            ["--override", "toolTimeout=5x"],
            "--override toolTimeout 5x is not a duration.",
        ),
    ];
    for (flags, expected) in rows {
        let refused = place.bonded(&["run", flags[0], flags[1], "--model", &script, "the goal"]);
        assert_eq!(refused.code, Some(4), "{flags:?}: {refused:?}");
        assert!(
            refused.stderr.contains(expected),
            "{flags:?}: {}",
            refused.stderr
        );
    }
    assert!(!place.path("store.db").exists());
}

#[test]
fn the_help_names_durations_and_sizes() {
    let help = Place::new().bonded(&["run", "--help"]).stdout;
    for expected in [
        "--max-time <DURATION>",
        "--tool-timeout <DURATION>",
        "--sandbox-memory <SIZE>",
    ] {
        assert!(help.contains(expected), "{expected}");
    }
}

#[test]
fn values_that_make_no_sense_are_refused_before_anything_runs() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    for flags in [
        ["--max-turns", "0"],
        ["--max-turns", "-1"],
        ["--max-calls", "0"],
        ["--tool-timeout-ms", "0"],
        ["--tool-output", "0"],
        ["--max-time", "soon"],
        ["--max-cost", "much"],
        ["--price", "1"],
        ["--price", "a,b"],
        ["--temperature", "hot"],
        ["--max-output-tokens", "0"],
    ] {
        let refused = place.bonded(&["run", flags[0], flags[1], "--model", &script, "the goal"]);
        assert_eq!(refused.code, Some(4), "{flags:?}: {refused:?}");
    }
    assert!(!place.path("store.db").exists());
}

#[test]
fn exit_codes_tell_success_failure_start_up_and_arguments_apart() {
    let place = Place::new();
    let good = place.script(&[done("ok")]);
    let table: [(&[&str], i32); 6] = [
        (&["run", "--id", "run", "--model", &good, "the goal"], 0),
        (&["runs"], 0),
        (
            &[
                "run",
                "--max-turns",
                "1",
                "--model",
                &good,
                "--max-tokens",
                "1",
                "the goal",
            ],
            1,
        ),
        (
            &[
                "--store",
                "/proc/none/store.db",
                "run",
                "--model",
                &good,
                "the goal",
            ],
            3,
        ),
        (&["run", "the goal"], 4),
        (&["show", "nothing"], 4),
    ];
    for (arguments, code) in table {
        assert_eq!(place.bonded(arguments).code, Some(code), "{arguments:?}");
    }
}

/// The commands that a help text lists.
pub(crate) fn subcommands(help: &str) -> Vec<String> {
    let list = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    // What continues a line stands further to the right.
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_short_help_of_every_command_fits_a_screen_and_names_an_example() {
    const ROWS: usize = 40;
    let place = Place::new();
    let help = |words: &[&str]| {
        let shown = place.bonded(words);
        shown.succeeds();
        shown.stdout
    };
    let top = help(&["-h"]);
    let commands = subcommands(&help(&["--help"]));
    assert!(commands.len() > 25, "{commands:?}");
    for command in &commands {
        let is_named = top.split_whitespace().any(|word| word == command);
        assert!(is_named, "bonded -h does not name {command}");
        let short = help(&[command, "-h"]);
        assert!(short.lines().count() <= ROWS, "{command}: {short}");
        assert!(
            short.contains("Examples:\n  bonded ")
                || short.contains(&format!("| bonded {command}")),
            "{short}"
        );
        let whole = help(&[command, "--help"]);
        assert!(whole.contains("Examples:\n"), "{whole}");
        for inner in subcommands(&whole) {
            let short = help(&[command, &inner, "-h"]);
            assert!(short.lines().count() <= ROWS, "{command} {inner}: {short}");
        }
    }
    assert!(top.lines().count() <= 24, "{top}");
}

#[test]
fn options_appear_only_where_they_mean_something() {
    let place = Place::new();
    for command in ["logout", "login"] {
        let help = place.bonded(&[command, "--help"]).stdout;
        for flag in ["--temperature", "--max-turns", "--sandbox"] {
            assert!(!help.contains(flag), "{command}: {help}");
        }
    }
}

#[test]
fn the_doctor_reports_store_models_sandbox_and_git() {
    let place = Place::new();
    place.play(&[done("ok")]).succeeds();
    let report = place.bonded(&["doctor"]);
    report.succeeds();
    for part in [
        "store.db: 1 run\n",
        "no key: openai (OPENAI_API_KEY), ",
        " models are built in, as of 20",
        "commands, read-only: ",
        "commands, workspace-write: ",
        "(the default)",
        "commands, full: limits",
        "git",
    ] {
        assert!(report.stdout.contains(part), "{part}: {}", report.stdout);
    }
}

#[test]
fn every_error_names_its_page() {
    let place = Place::new();
    let refused = place.bonded(&["run", "the goal"]);
    refused.fails_with(4, "no-model");
    assert!(
        refused.stderr.contains("more: bonded explain no-model"),
        "{}",
        refused.stderr
    );
    assert_eq!(json!(refused.stdout), json!(""));
}

#[test]
fn an_option_that_only_agents_have_is_refused_without_one() {
    let place = Place::new();
    for flags in [
        ["--agents", "x.ai"],
        ["--format", "json"],
        ["--tooling-transport", "xml"],
    ] {
        let refused = place.bonded(&[&["run", "the goal"], &flags[..]].concat());
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert!(refused.stderr.contains(flags[0]), "{}", refused.stderr);
        assert!(refused.stderr.contains("--agent"), "{}", refused.stderr);
    }
}
