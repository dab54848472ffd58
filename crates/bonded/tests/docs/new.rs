//! `bonded new`: each file works as it is written, and nothing is overwritten.

use bonded_testkit::client::Client;
use bonded_testkit::place::{Place, call, of_kind, report};
use bonded_testkit::process::Process;
use bonded_testkit::provider::{Provider, reasoning};
use serde_json::{Value, json};

use crate::schemas::schema;

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.work().join(name)).expect("the file was written")
}

/// Writes it, and gives what was said.
fn new(place: &Place, kind: &str, name: &str) -> String {
    let made = place.bonded(&["new", kind, name]);
    made.succeeds();
    made.stdout
}

#[test]
fn a_new_agent_runs_as_it_is_written() {
    let place = Place::new();
    let said = new(&place, "agent", "review");
    assert!(
        said.contains("wrote review.ai, agent.schema.json"),
        "{said}"
    );
    assert!(
        said.contains("next: bonded run --agent review.ai"),
        "{said}"
    );
    let checked = place.bonded(&["config", "check", "--agent", "review.ai"]);
    assert!(!checked.stderr.contains("unknown"), "{checked:?}");
    place.write("work/notes.txt", "cats\n");
    let script = place.script(&[
        call("read", json!({ "path": "notes.txt" })),
        report("about cats"),
    ]);
    let goal = "What is in this directory?";
    let ran = place.bonded(&["run", "--agent", "review.ai", "--model", &script, goal]);
    ran.succeeds();
    assert_eq!(ran.stdout.trim_end(), "about cats");
}

#[test]
fn a_new_plan_is_worked_off_as_it_is_written() {
    let place = Place::new();
    let said = new(&place, "plan", "tidy");
    assert!(
        said.contains("next: bonded work tidy.yaml --dry-run"),
        "{said}"
    );
    place.bonded(&["work", "tidy.yaml", "--dry-run"]).succeeds();
    let lines = [
        call(
            "write",
            json!({ "path": "hello.txt", "content": "Hello!\n" }),
        ),
        report("made"),
    ];
    let agent = place.agent("coder", &lines, "tools: builtin");
    let agent = agent.display().to_string();
    place
        .bonded(&["work", "tidy.yaml", "--agent", &agent])
        .succeeds();
    assert_eq!(read(&place, "hello.txt"), "Hello!\n");
}

#[test]
fn a_new_rule_is_taken_and_fires() {
    let model = Provider::start();
    let idle = "<state_delete><state>planning</state></state_delete><state_add><state>idle</state></state_add>";
    model.then_always(reasoning("", idle));
    let place = Place::with_config(&json!({ "automation": { "base_url": model.base_url() } }));
    let data = place.path("data").display().to_string();
    place.bonded(&["init", &data]).succeeds();
    let said = new(&place, "rule", "inbox");
    assert!(
        said.contains("next: bonded rule --data DIR add inbox.json"),
        "{said}"
    );
    let added = place.bonded(&["rule", "--data", &data, "add", "inbox.json"]);
    added.succeeds();
    let (process, address) = Process::serve(&mut place.serve_data());
    let token = std::fs::read_to_string(place.path("data/owner-token")).expect("a token was made");
    let owner = Client::with_token(&address, token.trim());
    let workspaces = owner.get("/api/workspaces").json();
    let workspace = workspaces["workspaces"][0]["workspace_id"].clone();
    let workspace = workspace.as_str().unwrap_or_else(|| panic!("{workspaces}"));
    let mut socket = owner.socket();
    socket.follow_workspace(workspace, None);
    for keyword in ["else", "inbox"] {
        let note = json!({
            "workspace_id": workspace, "title": keyword, "markdown": "x", "keywords": [keyword],
        });
        let made = owner.post("/api/notes", &note);
        assert_eq!(made.status, 201, "{made:?}");
    }
    let status = loop {
        let event = socket.next();
        let status = event["status"].as_str().unwrap_or_default().to_owned();
        if ["succeeded", "failed", "cancelled"].contains(&status.as_str()) {
            break status;
        }
    };
    assert_eq!(status, "succeeded", "{:?}", process.told());
    let runs = place.bonded(&["rule", "--data", &data, "runs", "--json"]);
    runs.succeeds();
    let fired: Vec<&str> = runs.stdout.lines().collect();
    assert_eq!(fired.len(), 1, "{fired:?}");
    assert!(fired[0].contains(added.stdout.trim_end()), "{fired:?}");
}

#[test]
fn a_new_tool_is_called_by_an_agent_once_it_is_trusted() {
    let place = Place::new();
    let said = new(&place, "tool", "words");
    assert!(
        said.contains("wrote words.py, .ai-agent.json, config.schema.json"),
        "{said}"
    );
    place.bonded(&["trust", "--yes"]).succeeds();
    let lines = [
        call("words__count_words", json!({ "text": "one two three" })),
        report("counted"),
    ];
    let agent = place.agent("counter", &lines, "tools: [words]");
    let agent = agent.display().to_string();
    let ran = place.bonded(&["run", "--agent", &agent, "--id", "counts", "count"]);
    ran.succeeds();
    let entries = place.entries("counts");
    let finished = of_kind(&entries, "tool_finished");
    let finished: Vec<String> = finished.iter().map(ToString::to_string).collect();
    assert!(finished[0].contains("\"3\""), "{finished:?}");
}

#[test]
fn an_entry_for_an_existing_configuration_is_printed_and_the_file_is_left_alone() {
    let place = Place::new();
    let own = "{ \"defaults\": { \"maxTurns\": 3 } }\n";
    place.write("work/.ai-agent.json", own);
    let made = place.bonded(&["new", "tool", "words"]);
    made.succeeds();
    assert_eq!(read(&place, ".ai-agent.json"), own);
    let entry: Value = serde_json::from_str(&format!("{{{}}}", made.stdout)).expect("an entry");
    assert!(schema("config").is_valid(&entry), "{entry}");
    assert_eq!(entry["mcpServers"]["words"]["args"], json!(["words.py"]));
    made.says(".ai-agent.json exists; add this to it:");
}

#[test]
fn every_new_file_names_the_schema_beside_it_which_is_that_of_the_program() {
    let place = Place::new();
    for (kind, file, name) in [
        ("agent", "a.ai", "agent"),
        ("plan", "a.yaml", "plan"),
        ("rule", "a.json", "rule"),
        ("tool", ".ai-agent.json", "config"),
    ] {
        new(&place, kind, "a");
        let beside = format!("./{name}.schema.json");
        let text = read(&place, file);
        let is_named = match file.ends_with(".json") {
            true => text.contains(&format!("\"$schema\": \"{beside}\"")),
            false => text.contains(&format!("# yaml-language-server: $schema={beside}\n")),
        };
        assert!(is_named, "{text}");
        let printed = place.bonded(&["schema", name]).stdout;
        assert_eq!(read(&place, &beside), printed, "{kind}");
    }
}

#[test]
fn nothing_is_overwritten_neither_a_file_nor_a_link_nor_a_schema() {
    let place = Place::new();
    place.write("work/a.ai", "mine\n");
    place.write("work/plan.schema.json", "mine too\n");
    std::os::unix::fs::symlink(place.path("elsewhere.json"), place.work().join("a.json"))
        .expect("a link can be made");
    place.bonded(&["new", "agent", "a"]).fails_with(4, "usage");
    place.bonded(&["new", "rule", "a"]).fails_with(4, "usage");
    new(&place, "plan", "a");
    assert_eq!(read(&place, "a.ai"), "mine\n");
    assert_eq!(read(&place, "plan.schema.json"), "mine too\n");
    assert!(!place.path("elsewhere.json").exists());
    for schema in ["agent.schema.json", "rule.schema.json"] {
        assert!(!place.work().join(schema).exists(), "{schema}");
    }
}

#[test]
fn a_name_that_is_no_file_here_is_refused_and_nothing_is_written() {
    let place = Place::new();
    let names = [
        "",
        " ",
        ".",
        "..",
        "a/b",
        "/tmp/a",
        "../a",
        "a..b",
        "a\nb",
        "a\u{1b}[31m",
        "a\\b",
        "a\"b",
        ".hidden",
    ];
    for kind in ["agent", "plan", "rule", "tool"] {
        for name in names {
            let refused = place.bonded(&["new", kind, name]);
            refused.fails_with(4, "usage");
            assert!(!refused.stderr.contains('\u{1b}'), "{refused:?}");
        }
    }
    place.bonded(&["new", "tool", "a b"]).fails_with(4, "usage");
    assert_eq!(place.bonded(&["new", "tol", "a"]).code, Some(4));
    let left = std::fs::read_dir(place.work()).expect("it is a directory");
    assert_eq!(left.count(), 0);
}

#[test]
fn a_name_may_have_the_ending_of_its_file() {
    let place = Place::new();
    new(&place, "agent", "review.ai");
    assert!(place.work().join("review.ai").is_file());
    assert!(!place.work().join("review.ai.ai").exists());
}
