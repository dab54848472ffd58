//! The examples of the pages that people begin with, run as they are printed.
//!
//! Every block of these pages is in the table: with what runs it, or with the reason why nothing can.

use std::process::Command;

use bonded_testkit::place::{
    Done, Place, call, clean_command, done, finish, program, report, start,
};
use serde_json::{Value, json};

use crate::markdown::{blocks, page};
use crate::operate;

/// What is done with a block.
enum Use {
    Runs(fn(&str)),
    /// Why it is not run.
    Needs(&'static str),
}

/// Page, how the block begins, and what is done with it.
const EXAMPLES: &[(&str, &str, Use)] = &[
    ("docs/agents.md", "#!/usr/bin/env bonded", Use::Runs(agent)),
    (
        "docs/agents.md",
        "bonded run --agent review.ai",
        Use::Runs(agent_command),
    ),
    ("docs/agents.md", "{", Use::Runs(configuration)),
    (
        "docs/agents.md",
        "bonded trust [DIR]",
        Use::Needs("a synopsis with brackets; the target attack runs these commands"),
    ),
    (
        "docs/agents.md",
        ".agents/skills/release/SKILL.md",
        Use::Runs(skill),
    ),
    ("docs/agents.md", "\"restTools\"", Use::Runs(requests)),
    (
        "docs/work.md",
        "$ bonded work plan.yaml",
        Use::Runs(transcript),
    ),
    ("docs/work.md", "- id: greeting", Use::Runs(plan)),
    (
        "docs/work.md",
        "bonded verify RECEIPT.json",
        Use::Needs("receipts whose places differ each time; the target work runs these commands"),
    ),
    ("docs/rules.md", "{", Use::Runs(rule)),
    (
        "docs/rules.md",
        "bonded init data",
        Use::Runs(rule_commands),
    ),
    ("docs/rules.md", "\"trigger\"", Use::Runs(schedule)),
    ("docs/rules.md", "\"action_json\"", Use::Runs(webhook)),
    (
        "docs/rules.md",
        "BODY=",
        Use::Needs("a server that runs, and the secret of a rule there"),
    ),
    (
        "docs/rules.md",
        "\"automation\": { \"allowed_webhooks\"",
        Use::Runs(allowed),
    ),
    ("docs/rules.md", "\"automation\"", Use::Runs(allowed)),
    (
        "docs/operate.md",
        "bonded worker --concurrent 64",
        Use::Runs(operate::probes),
    ),
    (
        "docs/operate.md",
        "scrape_configs:",
        Use::Runs(operate::scrape),
    ),
    (
        "docs/operate.md",
        "export OTEL_EXPORTER_OTLP_ENDPOINT",
        Use::Runs(operate::traces),
    ),
    (
        "docs/operate.md",
        "bonded worker --store",
        Use::Runs(operate::failover),
    ),
    ("docs/operate.md", "pg_dump", Use::Runs(operate::backup)),
    (
        "docs/operate.md",
        "pg_restore",
        Use::Needs("what pg_dump has written; it is run with that block"),
    ),
    (
        "docs/operate.md",
        "archive_mode",
        Use::Runs(operate::point_in_time),
    ),
    (
        "docs/operate.md",
        "pg_basebackup",
        Use::Needs("a server that archives; it is run with that block"),
    ),
    (
        "docs/operate.md",
        "restore_command",
        Use::Needs("a copy of a server; it is run with that of archiving"),
    ),
    (
        "README.md",
        "cargo run --release -- demo",
        Use::Needs("a build of the program; the target cli runs its demo"),
    ),
    (
        "README.md",
        "bonded run --model openai/gpt-5-mini GOAL",
        Use::Runs(models),
    ),
    (
        "README.md",
        "bonded new agent review",
        Use::Runs(readme_agent),
    ),
    ("README.md", "bonded new plan plan", Use::Runs(readme_plan)),
];

const PAGES: [&str; 5] = [
    "docs/agents.md",
    "docs/work.md",
    "docs/rules.md",
    "docs/operate.md",
    "README.md",
];

#[test]
fn every_example_of_the_first_pages_runs_as_printed_or_has_a_reason() {
    let mut used = vec![0; EXAMPLES.len()];
    for name in PAGES {
        for block in blocks(&page(name)) {
            let is_it = |row: &(&str, &str, Use)| row.0 == name && block.starts_with(row.1);
            let Some(at) = EXAMPLES.iter().position(is_it) else {
                panic!("{name} has an example that is not listed here:\n{block}");
            };
            used[at] += 1;
            match &EXAMPLES[at].2 {
                Use::Runs(run) => run(&block),
                Use::Needs(reason) => assert!(!reason.is_empty(), "{block}"),
            }
        }
    }
    assert!(used.iter().all(|count| *count == 1), "{used:?}");
}

/// The block of a page that begins so.
pub(crate) fn block(name: &str, beginning: &str) -> String {
    let found = blocks(&page(name)).into_iter();
    let mut found = found.filter(|block| block.starts_with(beginning));
    found
        .next()
        .unwrap_or_else(|| panic!("{name} has no {beginning}"))
}

/// A printed line in a shell, with the program of this build; more words may follow it.
fn shell(place: &Place, line: &str, more: &str) -> Done {
    let mut command = in_shell(place, &format!("{line} {more}"));
    command
        .env("BONDED_STORE", place.path("store.db"))
        // Somebody who has set things up; nothing is asked of it.
        .env("OPENAI_API_KEY", "none-of-the-tests-asks-openai");
    finish(start(&mut command))
}

/// A line for a shell that finds the program of this build, in the working directory of a place.
pub(crate) fn in_shell(place: &Place, line: &str) -> Command {
    let program = program();
    let dir = program.parent().expect("a program lies in a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = clean_command("sh", &place.path(""), &place.work());
    command
        .args(["-c", line])
        .env("PATH", format!("{}:{path}", dir.display()))
        .env("BONDED_MODEL", "openai/gpt-5-mini");
    command
}

/// The commands of a block, without what is said of them.
fn commands(block: &str) -> impl Iterator<Item = &str> {
    block
        .lines()
        .map(|line| line.split(" # ").next().unwrap_or(line).trim())
}

fn json_report() -> Value {
    let content = json!({ "findings": ["the century rule lacks an exception"] });
    call(
        "agent__final_report",
        json!({ "report_format": "json", "content_json": content }),
    )
}

/// The agent of the page, beside a file to look at, and the flag that has a script answer in place of its model.
fn reviewer() -> (Place, String) {
    let place = Place::new();
    let agent = block("docs/agents.md", "#!/usr/bin/env bonded");
    place.write("work/review.ai", agent);
    place.write("work/leap.sh", "echo leap\n");
    let script = place.script(&[call("read", json!({ "path": "leap.sh" })), json_report()]);
    (place, format!("--override models={script}"))
}

fn agent(_: &str) {
    let (place, _) = reviewer();
    let checked = shell(&place, "bonded config check --agent review.ai", "");
    checked.succeeds();
    assert_eq!(checked.stderr, "");
}

fn agent_command(block: &str) {
    let (place, instead) = reviewer();
    for line in commands(block) {
        let ran = shell(&place, line, &instead);
        ran.succeeds();
        let answer: Value = serde_json::from_str(&ran.stdout).expect("the answer is JSON");
        assert!(answer["findings"].is_array(), "{answer}");
    }
}

/// The first line says where the others lie.
fn skill(block: &str) {
    let place = Place::new();
    let (file, text) = block.split_once('\n').expect("it has several lines");
    place.write(&format!("work/{file}"), text);
    let trusted = shell(&place, "bonded trust --yes .", "");
    trusted.succeeds();
    trusted.says("as the skill release: Makes a release");
}

fn configuration(block: &str) {
    let place = Place::new();
    place.write("work/.ai-agent.json", block);
    let checked = shell(&place, "bonded config check", "");
    checked.succeeds();
    assert_eq!(checked.stderr, "");
}

fn requests(block: &str) {
    let place = Place::new();
    place.write("work/.ai-agent.json", format!("{{{block}}}"));
    place.write("work/.ai-agent.env", "WEATHER_KEY=unused\n");
    let shop = "openapi: 3.0.0\ninfo: { title: Shop, version: '1' }\npaths:\n  /orders:\n    get:\n      operationId: orders\n      tags: [orders]\n      responses: {}\n";
    place.write("work/shop.yaml", shop);
    let checked = shell(&place, "bonded config check", "");
    checked.succeeds();
    assert_eq!(checked.stderr, "");
}

/// A tree with the plan of the page, and the two agents that its command names.
fn desk() -> Place {
    let place = Place::new();
    place.write("work/plan.yaml", block("docs/work.md", "- id: greeting"));
    let write = |path: &str, text: &str| call("write", json!({ "path": path, "content": text }));
    let coder = [
        write("greet.sh", "echo \"Hello, $1!\"\n"),
        report("written"),
    ];
    let writer = [
        write("README.md", "greet.sh greets.\n"),
        write("NOTES.md", "One too many.\n"),
        report("documented"),
    ];
    for (name, lines) in [("coder", &coder[..]), ("writer", &writer[..])] {
        let agent = place.agent(name, lines, "tools: builtin");
        std::fs::rename(agent, place.work().join(format!("{name}.ai"))).expect("it can be moved");
    }
    place
}

fn plan(_: &str) {
    shell(&desk(), "bonded work plan.yaml --dry-run", "").succeeds();
}

/// What happens to each item is told in the words of the page; ids and times are others each time.
fn transcript(block: &str) {
    let place = desk();
    let (command, printed) = block.split_once('\n').expect("it has lines");
    let command = command.strip_prefix("$ ").expect("it is a command");
    let ran = shell(&place, command, "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for line in printed.lines().filter(|line| line.starts_with("  ")) {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let row = |text: &str, item: &str| -> Vec<String> {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{item} ")));
        let words = line.unwrap_or_default().split_whitespace();
        words.take(6).map(str::to_owned).collect()
    };
    for item in ["ITEM", "greeting", "docs"] {
        assert_eq!(row(printed, item), row(&ran.stdout, item), "{}", ran.stdout);
    }
    assert!(place.work().join("greet.sh").is_file());
    assert!(!place.work().join("README.md").exists());
}

fn rule(block: &str) {
    serde_json::from_str::<Value>(block).expect("the rule is JSON");
}

fn rule_commands(block: &str) {
    let place = Place::new();
    place.write("work/inbox.json", self::block("docs/rules.md", "{"));
    for line in commands(block) {
        shell(&place, line, "").succeeds();
    }
    let listed = shell(&place, "bonded rule --data data list", "");
    assert!(
        listed.stdout.contains("workspace_event.note_changed"),
        "{listed:?}"
    );
}

fn schedule(block: &str) {
    let place = Place::new();
    let rule = format!("{{{block}, \"action_json\": {{ \"kind\": \"kjxlkj_agent\" }}}}");
    place.write("work/rule.json", rule);
    shell(&place, "bonded init data", "").succeeds();
    shell(&place, "bonded rule --data data add rule.json", "").succeeds();
}

fn webhook(block: &str) {
    let place = Place::new();
    let listed = self::block("docs/rules.md", "\"automation\": { \"allowed_webhooks\"");
    place.write("work/data/config.json", format!("{{{listed}}}"));
    place.write(
        "work/rule.json",
        format!("{{ \"trigger\": \"manual\", {block} }}"),
    );
    shell(&place, "bonded init data", "").succeeds();
    shell(&place, "bonded rule --data data add rule.json", "").succeeds();
}

fn allowed(block: &str) {
    let place = Place::new();
    place.write("work/data/config.json", format!("{{{block}}}"));
    place.write("work/shared/kept.txt", "");
    shell(&place, "bonded init data", "").succeeds();
}

/// Which line needs which key or server.
const KEYS: [(&str, &str); 7] = [
    ("bonded run --model openai/", "OPENAI_API_KEY"),
    ("bonded run --model openrouter/", "OPENROUTER_API_KEY"),
    ("bonded run --model anthropic/", "ANTHROPIC_API_KEY"),
    ("bonded run --model ollama/", "a server of Ollama"),
    (
        "bonded run --base-url http://host:8080/v1",
        "a server at that address",
    ),
    ("bonded run --model a/x,b/y", "two providers"),
    ("bonded run --image shot.png", "a model that takes images"),
];

fn models(block: &str) {
    let mut ran = 0;
    for line in commands(block) {
        if KEYS
            .iter()
            .any(|(beginning, _)| line.starts_with(beginning))
        {
            continue;
        }
        let place = Place::new();
        place.write("work/replies.jsonl", format!("{}\n", done("said")));
        shell(&place, line, "").succeeds();
        ran += 1;
    }
    assert_eq!(ran, 1, "{block}");
}

fn readme_agent(block: &str) {
    let place = Place::new();
    let script = place.script(&[report("a place")]);
    for line in commands(block) {
        let more = match line.starts_with("bonded run") {
            true => format!("--override models={script}"),
            false => String::new(),
        };
        shell(&place, line, &more).succeeds();
    }
}

fn readme_plan(block: &str) {
    let place = Place::new();
    let write = json!({ "path": "hello.txt", "content": "Hello!\n" });
    let agent = place.agent(
        "coder",
        &[call("write", write), report("made")],
        "tools: builtin",
    );
    std::fs::rename(agent, place.work().join("coder.ai")).expect("it can be moved");
    for line in commands(block) {
        match line.starts_with("bonded verify .../RECEIPT.json") {
            // The dots stand for a place that differs each time; the target work runs it.
            true => continue,
            false => shell(&place, line, "").succeeds(),
        }
    }
}
