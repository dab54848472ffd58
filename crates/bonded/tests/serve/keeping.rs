//! What a server keeps of its runs outside the store.

use serde_json::Value;

use crate::place::{Place, parse};
use crate::served::{Served, question, report};

fn lines(place: &Place, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(place.work().join(name)).unwrap_or_default();
    text.lines().map(parse).collect()
}

#[test]
fn the_runs_of_a_server_are_booked_and_kept_before_their_clients_are_answered() {
    let place = Place::new();
    place.agent("agent", &[report("because")], "");
    let flags = ["--billing-file", "ledger.jsonl", "--sessions-dir", "kept"];
    let served = Served::start_in(place, &["agent"], &flags);
    for count in 1..=3 {
        let reply = served.chat(&question("agent"));
        assert_eq!(reply.status, 200);
        let run = reply
            .header("x-bonded-run")
            .expect("an answer names its run")
            .to_owned();
        let ledger = lines(&served.place, "ledger.jsonl");
        let own = ledger.iter().filter(|line| line["txnId"] == run.as_str());
        let kinds: Vec<&str> = own.filter_map(|line| line["type"].as_str()).collect();
        assert_eq!(kinds, ["llm", "tool"]);
        assert_eq!(ledger.len(), 2 * count);
        let snapshot = served.place.work().join(format!("kept/{run}.json.gz"));
        assert!(snapshot.is_file(), "{}", snapshot.display());
    }
}

#[test]
fn a_run_of_a_server_that_died_is_booked_when_it_is_resumed() {
    let place = Place::new();
    let mut first = crate::place::call("read", serde_json::json!({ "path": "none" }));
    first["usage"] = serde_json::json!({ "input": 5, "output": 3 });
    let mut late = report("because");
    late["delay_ms"] = 3_000.into();
    place.agent("agent", &[first, late], "tools: read");
    let flags = ["--billing-file", "ledger.jsonl", "--sessions-dir", "kept"];
    let served = Served::start_in(place, &["agent"], &flags);
    let _waiting = served.begin("/v1/chat/completions", "", &question("agent"));
    let began = std::time::Instant::now();
    while lines(&served.place, "ledger.jsonl").len() < 2 {
        assert!(began.elapsed().as_secs() < 60, "the first turn is booked");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let place = served.crash();
    let resumed = place.bonded(&["resume", "--all"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let ledger = lines(&place, "ledger.jsonl");
    let kinds: Vec<&str> = ledger
        .iter()
        .filter_map(|line| line["type"].as_str())
        .collect();
    assert_eq!(kinds, ["llm", "tool", "llm", "llm", "tool"], "{ledger:#?}");
    assert!(ledger[2]["unsettled"].is_object(), "{ledger:#?}");
    let kept = std::fs::read_dir(place.work().join("kept")).map(Iterator::count);
    assert_eq!(kept.ok(), Some(1));
}
