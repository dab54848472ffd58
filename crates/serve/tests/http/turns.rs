//! Runs that wait: those of one rule do not keep those of another from beginning.

use serde_json::json;

use crate::place::Place;
use crate::server::Server;

/// More than anybody would look through one by one.
const MANY: usize = 520;

#[test]
fn a_rule_with_hundreds_of_runs_queued_does_not_hold_up_another() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).expect("a directory can be made");
    for (name, state) in [("slow.jsonl", "executing"), ("quick.jsonl", "idle")] {
        let said = format!("<state_add><state>{state}</state></state_add>");
        let line = json!({ "text": said }).to_string();
        std::fs::write(place.path(&format!("data/{name}")), line).expect("it can be written");
    }
    let config = json!({
        "automation": { "allowed_providers": ["script=slow.jsonl", "script=quick.jsonl"] },
        "server": { "writes_per_second_max": 100_000 },
    });
    std::fs::write(place.path("data/config.json"), config.to_string()).expect("it can be written");
    let server = Server::start_in(place);
    let launch = |name: &str| {
        let rule = json!({
            "workspace_id": server.workspace(),
            "trigger": "manual",
            "action_json": {
                "kind": "kjxlkj_agent",
                "provider": { "provider_kind": "script", "base_url": format!("{name}.jsonl"), "model": "m" },
                "memory": { "kv_store_path": format!("{name}.json") },
                "loop": { "loop_delay_ms": 3_600_000 },
            },
        });
        let made = server.owner.post("/api/automation/rules", &rule);
        assert_eq!(made.status, 201, "{made:?}");
        let id = made.json()["rule_id"].as_str().map(str::to_owned);
        format!("/api/automation/rules/{}/launch", id.expect("an id"))
    };
    let (slow, quick) = (launch("slow"), launch("quick"));
    for _ in 0..MANY {
        assert_eq!(server.owner.post(&slow, &json!({})).status, 201);
    }
    let mut socket = server.owner.socket();
    socket.follow_workspace(&server.workspace(), None);
    let run = server.owner.post(&quick, &json!({})).json();
    loop {
        let event = socket.next();
        if event["run_id"] == run["run_id"] && event["status"] == "succeeded" {
            break;
        }
    }
}
