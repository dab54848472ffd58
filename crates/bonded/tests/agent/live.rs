//! What a model is saying, shown while it says it.

use serde_json::{Value, json};

use crate::reply::{refusal, report, report_tag, streamed_text, text};
use crate::world::{Outcome, World};

const LIVE: [&str; 2] = ["--stream-json", "--live"];
const WRONG_TAG: &str = "<ai-agent-00000000-FINAL>no</ai-agent-00000000-FINAL>";

/// Runs the agent with flags, not with `--json`.
fn run(world: &World, flags: &[&str]) -> Outcome {
    world.write();
    let fixed = ["run", "--agent", "agent.ai", "--id", "own"];
    let arguments: Vec<&str> = fixed
        .iter()
        .chain(flags)
        .copied()
        .chain(["do it"])
        .collect();
    world.bonded(&arguments)
}

fn lines(outcome: &Outcome) -> Vec<Value> {
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    parsed(outcome)
}

fn parsed(outcome: &Outcome) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("each line is JSON");
    outcome.stdout.lines().map(parse).collect()
}

/// What was said in an attempt, put together.
fn said(lines: &[Value], turn: u32, attempt: u32) -> String {
    let live = lines.iter().filter_map(|line| line.get("live"));
    let of_attempt = live.filter(|live| live["turn"] == turn && live["attempt"] == attempt);
    of_attempt
        .map(|live| {
            assert_eq!(live["run"], lines[0]["runId"]);
            live["text"].as_str().expect("a text")
        })
        .collect()
}

#[test]
fn only_the_text_of_the_report_is_shown_however_its_tags_are_cut() {
    let cases = [
        (
            report_tag("pipe", "\nGröße: 5 🦀\nnext <b>\n"),
            "Größe: 5 🦀\nnext <b>",
        ),
        (
            format!("I think. {} Bye.", report_tag("pipe", "only this")),
            "only this",
        ),
        (format!("{WRONG_TAG}{}", report_tag("pipe", "yes")), "yes"),
        (
            "<ai-agent-NONCE-FINAL tool=\"agent__final_report\" format=\"pipe\">not closed".into(),
            "not closed",
        ),
    ];
    for (written, wanted) in cases {
        for (letters, transport) in [
            (1, "xml-final"),
            (1, "xml"),
            (3, "xml"),
            (1000, "xml-final"),
        ] {
            let world = World::new().says([streamed_text(&written, letters)]);
            let flags = [&LIVE[..], &["--tooling-transport", transport]].concat();
            let lines = lines(&run(&world, &flags));
            assert_eq!(
                said(&lines, 1, 1),
                wanted,
                "{transport} by {letters}: {written}"
            );
            assert_eq!(world.requests()[0]["stream"], true);
        }
    }
}

#[test]
fn what_is_no_report_is_not_shown_and_is_said_again_by_the_next_attempt() {
    let right = report_tag("pipe", "yes");
    let world = World::new().says([streamed_text(WRONG_TAG, 1), streamed_text(&right, 1)]);
    let lines = lines(&run(&world, &LIVE));
    assert_eq!(said(&lines, 1, 1), "");
    let all: String = [(1, 2), (2, 1)]
        .map(|(turn, attempt)| said(&lines, turn, attempt))
        .concat();
    assert_eq!(all, "yes");
}

#[test]
fn who_writes_no_tags_is_shown_as_it_speaks() {
    let aloud = "thinking aloud: 🦀 <b> <ai-agent-00000000-FINAL>";
    let native = ["--tooling-transport", "native", "--max-turns", "1"];
    let world = World::new().then_always(streamed_text(aloud, 1));
    let agent = run(&world, &[&LIVE[..], &native].concat());
    let url = world.base_url();
    let model = ["--model", "m", "--base-url", &url, "--max-turns", "1"];
    let fixed = ["run", "--id", "plain", "do it"];
    let plain = world.bonded(&[&fixed[..], &LIVE, &model].concat());
    for outcome in [agent, plain] {
        assert_eq!(said(&parsed(&outcome), 1, 1), aloud, "{outcome:#?}");
    }
}

#[test]
fn a_secret_that_is_said_in_pieces_is_not_shown() {
    let written = report_tag("pipe", "my key is key-9xQ2wL7m, not key-");
    for letters in [1, 2, 1000] {
        let world = World::new()
            .config(&json!({ "providers": { "first": { "apiKey": "key-9xQ2wL7m" } } }))
            .says([streamed_text(&written, letters)]);
        let said = said(&lines(&run(&world, &LIVE)), 1, 1);
        assert!(said.starts_with("my key is [secret "), "{letters}: {said}");
        assert!(said.ends_with("], not key-"), "{letters}: {said}");
    }
}

#[test]
fn what_is_said_stands_between_the_entries_of_its_attempt_and_not_in_the_log() {
    let written = report_tag("pipe", "only this");
    let world = World::new().says([streamed_text(&written, 1)]);
    let lines = lines(&run(&world, &LIVE));
    let kind = |line: &Value| line["kind"].as_str().unwrap_or("live").to_owned();
    let mut kinds: Vec<String> = lines.iter().map(kind).collect();
    kinds.dedup();
    assert_eq!(
        kinds[..4],
        ["run_started", "attempt_started", "live", "decision_made"]
    );
    assert!(!kinds[4..].contains(&"live".to_owned()), "{kinds:?}");
    let entries: Vec<Value> = lines
        .into_iter()
        .filter(|line| line.get("live").is_none())
        .collect();
    assert_eq!(entries, world.log("own"));
}

#[test]
fn nobody_who_did_not_ask_is_told() {
    let written = report_tag("pipe", "only this");
    let unasked: [&[&str]; 3] = [
        &["--stream-json", "--stream"],
        &["--stream"],
        &["--json", "--stream"],
    ];
    for flags in unasked {
        let world = World::new().says([streamed_text(&written, 1)]);
        let outcome = run(&world, flags);
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        assert!(!outcome.stdout.contains("\"live\""), "{flags:?}");
        let tails = outcome
            .stderr
            .lines()
            .filter(|line| line.starts_with("    "));
        assert_eq!(tails.count(), 0, "{}", outcome.stderr);
    }
    let whole = World::new().says([report("only this")]);
    let lines = lines(&run(&whole, &LIVE));
    assert_eq!(
        said(&lines, 1, 1),
        "",
        "a reply that comes whole is its entry"
    );
}

#[test]
fn live_text_goes_with_the_entries_as_json_and_needs_a_stream() {
    let alone: &[&str] = &["--live"];
    for flags in [
        alone,
        &["--live", "--json"],
        &["--live", "--stream-json", "--no-stream"],
    ] {
        let world = World::new().says([text("unheard")]);
        run(&world, flags).refused(4, &["usage"]);
    }
}

#[test]
fn elsewhere_a_failure_is_told_at_once_and_then_with_its_count() {
    let world = World::new()
        .front("models: first/a, second/b")
        .then_always(refusal(503, "loading the model"));
    let outcome = run(&world, &["--max-retries", "4"]);
    assert_eq!((outcome.code, outcome.requests.len()), (Some(1), 4));
    let failed: Vec<&str> = outcome
        .stderr
        .lines()
        .filter(|it| it.contains(" turn 1: failed: "))
        .collect();
    assert_eq!(failed.len(), 4, "{failed:#?}");
    for (nth, (target, count)) in [
        ("first/a", ""),
        ("second/b", ""),
        ("first/a", " x 2"),
        ("second/b", " x 2"),
    ]
    .into_iter()
    .enumerate()
    {
        let line = failed[nth];
        assert!(
            line.contains(target) && line.ends_with(&format!("loading the model{count}")),
            "{line}"
        );
    }
    let last = outcome.stderr.trim_end().lines().last().unwrap_or_default();
    assert!(last.contains("loading the model"), "{}", outcome.stderr);
}
