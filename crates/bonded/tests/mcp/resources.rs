//! Runs that are read.

use serde_json::{Value, json};

use crate::served::report;
use crate::talk::{Talk, question, request};

fn read(talk: &mut Talk, uri: &str) -> Value {
    let reply = talk.ask(100, "resources/read", &json!({ "uri": uri }));
    reply["result"]["contents"][0].clone()
}

#[test]
fn a_run_is_read_as_show_prints_it() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    let result = talk.call(1, "agent");
    let run = result["_meta"]["bonded/run"].as_str().unwrap_or_default();
    let uri = format!("bonded://runs/{run}");
    let contents = read(&mut talk, &uri);
    let text = contents["text"].as_str().unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let log = talk.place.log(run);
    assert_eq!(lines, log);
    assert_eq!(
        (&contents["uri"], &contents["mimeType"]),
        (&json!(uri), &json!("application/jsonl"))
    );
    let rest = read(&mut talk, &format!("{uri}?after=1"));
    let rest = rest["text"].as_str().unwrap_or_default();
    assert_eq!(rest.lines().collect::<Vec<_>>(), log[1..]);
    let runs = read(&mut talk, "bonded://runs");
    let listed = talk.place.bonded(&["runs", "--json"]).stdout;
    assert_eq!(runs["text"], json!(listed));
}

#[test]
fn what_is_no_run_is_not_there() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    for uri in [
        "bonded://runs/nobody",
        "bonded://runs/../x",
        "file:///etc/passwd",
        "",
    ] {
        let reply = talk.ask(1, "resources/read", &json!({ "uri": uri }));
        assert_eq!(reply["error"]["code"], -32002, "{uri}: {reply}");
        let reply = talk.ask(1, "resources/subscribe", &json!({ "uri": uri }));
        assert!(reply["error"].is_object(), "{uri}: {reply}");
    }
    let templates = talk.ask(1, "resources/templates/list", &json!({}));
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(template, "bonded://runs/{id}{?after}");
}

#[test]
fn runs_are_listed_page_by_page_each_once() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    for id in 1..=60 {
        talk.send_line(&request(id, "tools/call", &question("agent")));
    }
    for _ in 1..=60 {
        talk.next();
    }
    let mut uris = vec![];
    let mut params = json!({});
    loop {
        let page = talk.ask(100, "resources/list", &params)["result"].clone();
        let resources = page["resources"].as_array().cloned().unwrap_or_default();
        uris.extend(
            resources
                .iter()
                .map(|it| it["uri"].as_str().unwrap_or_default().to_owned()),
        );
        match page.get("nextCursor") {
            None => break,
            Some(cursor) => params = json!({ "cursor": cursor }),
        }
    }
    assert_eq!(uris.len(), 61);
    assert_eq!(uris[0], "bonded://runs");
    uris.sort_unstable();
    uris.dedup();
    assert_eq!(uris.len(), 61);
}

#[test]
fn who_watches_a_run_is_told_of_its_changes_until_it_ends() {
    let mut slow = report("Because.");
    slow["delay_ms"] = 1_500.into();
    let mut talk = Talk::start(&[("slow", vec![slow])]);
    let mut params = question("slow");
    params["_meta"] = json!({ "bonded/idempotencyKey": "k" });
    talk.send_line(&request(1, "tools/call", &params));
    talk.wait_for(&["running"]);
    let listed = talk.place.bonded(&["runs", "--json"]).stdout;
    let listed: Value = crate::place::parse(listed.trim());
    let uri = format!(
        "bonded://runs/{}",
        listed["runId"].as_str().unwrap_or_default()
    );
    let reply = talk.ask(2, "resources/subscribe", &json!({ "uri": uri }));
    assert_eq!(reply["result"], json!({}), "{reply}");
    let updated = json!({
        "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri },
    });
    talk.reply(1);
    while !talk.told.contains(&updated) {
        let message = talk.next();
        talk.told.push(message);
    }
    let reply = talk.ask(3, "resources/unsubscribe", &json!({ "uri": uri }));
    assert_eq!(reply["result"], json!({}));
}
