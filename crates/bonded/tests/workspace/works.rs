//! Plans that rules have worked off, and a server that dies when one ends.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, call};
use crate::server::Server;

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(90);

/// A directory that rules may use, with a tree, an agent that writes a file in it, and a plan whose tests end so.
fn place(test_command: &str) -> Place {
    let place = Place::new();
    let projects = place.path("projects");
    for dir in [projects.join("tree"), place.path("data")] {
        std::fs::create_dir_all(dir).expect("a directory can be made");
    }
    let config = json!({ "automation": { "allowed_dirs": { "*": ["../projects"] } } });
    std::fs::write(place.path("data/config.json"), config.to_string()).expect("it can be written");
    let write = |name: &str, text: &str| {
        std::fs::write(projects.join(name), text).expect("a file can be written");
    };
    write("tree/kept.txt", "kept\n");
    let report = json!({ "report_format": "markdown", "report_content": "ok" });
    let lines = [
        call(
            "write",
            json!({ "path": "made.txt", "content": "by a plan\n" }),
        ),
        call("agent__final_report", report),
    ];
    let script: String = lines.iter().map(|line| format!("{line}\n")).collect();
    write("agent.jsonl", &script);
    let script = projects.join("agent.jsonl");
    let agent = format!(
        "---\nmodels: script:{}\ntools: builtin\n---\nYou are tested.\n",
        script.display()
    );
    write("agent.ai", &agent);
    let item = json!({
        "id": "make", "agent_id": "agent-1", "description": "Make a file.", "dependencies": [],
        "output_files": ["made.txt"], "test_command": test_command,
    });
    write("plan.json", &item.to_string());
    place
}

/// Launches the rule that has the plan worked off.
fn launch(server: &Server) -> String {
    let rule = json!({
        "workspace_id": server.workspace(), "trigger": "manual",
        "action_json": { "kind": "work", "plan": "plan.json", "repo": "tree", "agent_file": "agent.ai" },
    });
    let rule = server.owner.post("/api/automation/rules", &rule);
    assert_eq!(rule.status, 201, "{rule:?}");
    let rule = rule.json()["rule_id"].clone();
    let path = format!(
        "/api/automation/rules/{}/launch",
        rule.as_str().unwrap_or("")
    );
    let run = server.owner.post(&path, &json!({})).json()["run_id"].clone();
    run.as_str().expect("a run has an id").to_owned()
}

/// The run of a rule, once it has ended.
fn ended(server: &Server, run: &str) -> Value {
    let mut socket = server.owner.socket();
    socket.follow_workspace(&server.workspace(), Some(0));
    while !["succeeded", "failed", "cancelled"]
        .contains(&socket.next()["status"].as_str().unwrap_or_default())
    {}
    let path = format!("/api/automation/runs/{run}");
    server.owner.get(&path).json()
}

/// The directory of the tree, and what is kept of plans beside the log of runs.
fn kept(server: &Server) -> (PathBuf, PathBuf) {
    (
        server.place.path("projects"),
        server.place.path("store.db.work"),
    )
}

/// Waits for a file of the one plan that there is.
fn wait_for(kept: &Path, is_there: impl Fn(&Path) -> bool) {
    let began = Instant::now();
    let plans = kept.join("plans");
    loop {
        let mut found = std::fs::read_dir(&plans).into_iter().flatten().flatten();
        if found.any(|plan| is_there(&plan.path())) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "nothing in {}", plans.display());
        thread::sleep(Duration::from_millis(5));
    }
}

fn plans(kept: &Path) -> Vec<PathBuf> {
    let plans = std::fs::read_dir(kept.join("plans")).expect("plans are kept");
    plans.flatten().map(|plan| plan.path()).collect()
}

#[test]
fn a_plan_that_ended_when_its_server_died_is_reported_as_it_ended() {
    for (test_command, status, code, item) in [
        ("sleep 0.3", "succeeded", Value::Null, "success"),
        (
            "sleep 0.3; false",
            "failed",
            json!("WORK_FAILED"),
            "failure",
        ),
    ] {
        let server = Server::start_in(place(test_command));
        let (projects, kept) = kept(&server);
        let run = launch(&server);
        // The server hears nothing of the end that its process comes to.
        wait_for(&kept, |plan| plan.join("plan.json").exists());
        server.process.signal(Signal::STOP);
        wait_for(&kept, |plan| plan.join("ended").exists());
        let server = Server::start_in(server.crash());
        let shown = ended(&server, &run);
        assert_eq!(
            (&shown["status"], &shown["error_code"]),
            (&json!(status), &code),
            "{shown}"
        );
        let result = &shown["result_json"]["results"];
        assert_eq!(
            (&result["work_item_id"], &result["status"]),
            (&json!("make"), &json!(item)),
            "{shown}"
        );
        assert_eq!(plans(&kept).len(), 1, "it was worked off once");
        assert_eq!(projects.join("tree/made.txt").exists(), item == "success");
    }
}

#[test]
fn a_plan_whose_server_dies_is_brought_to_its_end_by_the_next_one_and_is_made_once() {
    let server = Server::start_in(place("sleep 2"));
    let (projects, kept) = kept(&server);
    let run = launch(&server);
    wait_for(&kept, |plan| plan.join("plan.json").exists());
    // The process that works the plan off lives on, and the next server's meets it on the tree.
    let server = Server::start_in(server.crash());
    let shown = ended(&server, &run);
    assert_eq!(shown["status"], "succeeded", "{shown}");
    assert_eq!(plans(&kept).len(), 1, "it was worked off once");
    let made = std::fs::read_to_string(projects.join("tree/made.txt"));
    assert_eq!(made.expect("it was made"), "by a plan\n");
}
