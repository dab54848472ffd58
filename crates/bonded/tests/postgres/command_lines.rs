//! What every user of the machine can read: the words that processes are started with.

use bonded_testkit::clients::Clients;
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call};
use bonded_testkit::postgres::PASSWORD;
use bonded_testkit::process::Process;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::shop::Shop;

/// The processes that this one has started, and those that they have started, each with its command line.
fn descendants(root: i32) -> Vec<(i32, String)> {
    let all = std::fs::read_dir("/proc")
        .expect("it can be read")
        .flatten();
    let all = all.filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let parent = status.lines().find_map(|it| it.strip_prefix("PPid:"))?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        Some((id, parent.trim().parse::<i32>().ok()?, line))
    });
    let all: Vec<_> = all.collect();
    let mut found: Vec<(i32, String)> = vec![];
    let mut left = vec![root];
    while let Some(next) = left.pop() {
        let children = all.iter().filter(|(_, parent, _)| *parent == next);
        for (id, _, line) in children {
            left.push(*id);
            found.push((*id, line.clone()));
        }
    }
    found
}

/// The test of the plan, which does not end on its own.
const WAIT: &str = "sleep 86399";

/// A directory that rules may use, with a plan.
fn write_projects(place: &Place) {
    let config = json!({ "automation": { "allowed_dirs": { "*": ["../projects"] } } });
    place.write("data/config.json", config.to_string());
    place.write("projects/tree/kept.txt", "kept\n");
    let report = json!({ "report_format": "markdown", "report_content": "ok" });
    let write = json!({ "path": "made.txt", "content": "by a plan\n" });
    let lines = [call("write", write), call("agent__final_report", report)];
    place.agent("projects/agent", &lines, "tools: builtin");
    let item = json!({
        "id": "make", "agent_id": "agent-1", "description": "Make a file.", "dependencies": [],
        "output_files": ["made.txt"], "test_command": WAIT,
    });
    place.write("projects/plan.json", item.to_string());
}

fn launch(clients: &Clients) {
    let action =
        json!({ "kind": "work", "plan": "plan.json", "repo": "tree", "agent_file": "agent.ai" });
    let rule = json!({
        "workspace_id": clients.workspace(), "trigger": "manual", "action_json": action,
    });
    let rule = clients.owner.post("/api/automation/rules", &rule).json();
    let rule = rule["rule_id"].as_str().unwrap_or_default();
    let path = format!("/api/automation/rules/{rule}/launch");
    let launched = clients.owner.post(&path, &json!({}));
    assert!(launched.status < 300, "{launched:?}");
}

#[test]
fn a_password_in_the_address_is_in_no_command_line_of_what_a_server_starts() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let address = shop.database.address_on_port("app", PASSWORD);
    let place = Place::with_store(&address);
    write_projects(&place);
    let (server, at) = Process::serve(&mut place.serve_data());
    launch(&Clients::of(&place, at));
    let test = || {
        let all = descendants(server.id());
        all.into_iter().find(|(_, line)| line.trim() == WAIT)
    };
    wait_until("the plan's test runs", || test().is_some());
    let lines = descendants(server.id());
    let is_of_plan = |line: &str| line.contains(" work ");
    assert!(lines.iter().any(|(_, line)| is_of_plan(line)), "{lines:?}");
    for (id, line) in &lines {
        assert!(!line.contains(PASSWORD), "process {id} shows it: {line}");
    }
    let test = test().expect("it runs").0;
    let environment = std::fs::read(format!("/proc/{test}/environ")).expect("it can be read");
    let environment = String::from_utf8_lossy(&environment);
    assert!(environment.contains("PATH="), "{environment}");
    assert!(!environment.contains(PASSWORD), "{environment}");
    let test = Pid::from_raw(test).expect("it has an id");
    kill_process(test, Signal::TERM).expect("it is ours");
    server.end(Signal::TERM).succeeds();
}
