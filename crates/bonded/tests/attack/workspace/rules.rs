//! Rules that a hostile member writes.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::house::{House, silent_model, text, until, written};
use crate::person::{call, sh};
use crate::witness::{Canary, Listener, holds_no};

const KEY: &str = "sk-or-v1-0123456789abcdef0123456789abcdef";

fn lists(providers: &[String]) -> Value {
    json!({ "automation": { "allowed_providers": providers } })
}

/// An action of the agent that asks this provider.
fn asks(provider: &Value) -> Value {
    json!({
        "kind": "kjxlkj_agent", "provider": provider,
        "loop": { "loop_delay_ms": 0, "idle_delay_ms": 0, "max_iterations": 1 },
    })
}

fn lmstudio(url: &str) -> Value {
    json!({ "provider_kind": "lmstudio", "base_url": url, "model": "m", "timeout_ms": 400 })
}

#[test]
fn no_memory_of_a_rule_is_a_file_of_the_server() {
    let house = House::furnished(&json!({}), &[], |person| {
        person.write(person.path("data/.env"), "SECRET=canary\n");
    });
    let eve = house.user("eve", None);
    let workspace = eve.workspace("hers");
    let before = house.own_files();
    let names = [
        "owner-token",
        "./data/owner-token",
        "data/owner-token",
        "config.json",
        "agent-prompt.json",
        ".env",
        "workspace.db",
        "workspace.db-wal",
        "bonded.db",
        "../data/owner-token",
        "./data/../data/owner-token",
        "memory/../owner-token",
        "/etc/passwd",
        "owner-token\u{0}.json",
    ];
    for name in names {
        let action = json!({ "kind": "kjxlkj_agent", "memory": { "kv_store_path": name } });
        let said = eve.rule(&workspace, &action);
        if said.status == 201 {
            // A name that is taken for one of a memory is one in her own directory.
            eve.ended(&eve.launch(&said.json()));
        }
    }
    assert_eq!(house.own_files(), before);
    house.with_token("{}").get("/api/workspaces").is(401);
    let house = house.again(None);
    house.owner.get("/api/workspaces").is(200);
}

#[test]
fn an_agent_is_not_shown_the_memory_of_another_workspace() {
    let model = Listener::new();
    let url = format!("{}/v1", model.url());
    let house = House::furnished(&lists(&[format!("lmstudio={url}")]), &[], |person| {
        let memory = json!({ "plan": "only-for-the-owner" });
        person.write(person.path("data/agent-kv-store.json"), memory.to_string());
    });
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    for name in [
        None,
        Some("./data/agent-kv-store.json"),
        Some("agent-kv-store.json"),
    ] {
        let mut action = asks(&lmstudio(&url));
        if let Some(name) = name {
            action["memory"] = json!({ "kv_store_path": name });
        }
        let rule = eve.rule(&hers, &action).is(201);
        eve.ended(&eve.launch(&rule));
    }
    let heard = model.heard();
    assert!(heard.contains("POST /v1/chat/completions"), "{heard}");
    holds_no("only-for-the-owner", &[&heard]);
    // The owner's own agent has it, where it always lay.
    let rule = house
        .owner
        .rule(&house.workspace(), &asks(&lmstudio(&url)))
        .is(201);
    house.owner.ended(&house.owner.launch(&rule));
    assert!(model.heard().contains("only-for-the-owner"));
}

#[test]
fn memories_of_one_name_in_two_workspaces_are_two_files() {
    let model = Listener::new();
    let url = format!("{}/v1", model.url());
    let house = House::open(&lists(&[format!("lmstudio={url}")]));
    let eve = house.user("eve", None);
    let (hers, first) = (eve.workspace("hers"), house.workspace());
    for (guest, workspace) in [(&eve, &hers), (&house.owner, &first)] {
        let mut action = asks(&lmstudio(&url));
        action["memory"] = json!({ "kv_store_path": "inbox.json" });
        let rule = guest.rule(workspace, &action).is(201);
        guest.ended(&guest.launch(&rule));
        let file = house.data(&format!("memory/{workspace}/inbox.json"));
        assert!(file.exists(), "{}", file.display());
    }
}

#[test]
fn no_key_of_the_server_goes_where_a_rule_says() {
    let stranger = Listener::new();
    let env = [("OPENAI_API_KEY", KEY), ("ANTHROPIC_API_KEY", KEY)];
    let house = House::furnished(&json!({}), &env, |person| {
        person.write(
            person.path("data/.env"),
            format!("OPENROUTER_API_KEY={KEY}\n"),
        );
    });
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    let port = stranger.port();
    let kinds = [
        "openai",
        "openrouter",
        "anthropic",
        "lmstudio",
        "ollama",
        "vllm",
    ];
    let urls = [
        format!("http://127.0.0.1:{port}/v1"),
        format!("http://localhost:{port}/v1"),
        format!("http://[::ffff:127.0.0.1]:{port}/v1"),
        format!("http://0.0.0.0:{port}/v1"),
        format!("http://127.1:{port}/v1"),
        format!("http://127.0.0.1:1234@127.0.0.1:{port}/v1"),
        format!("http://127.0.0.1:{port}/v1?http://127.0.0.1:1234/v1"),
    ];
    for kind in kinds {
        for url in &urls {
            let provider =
                json!({ "provider_kind": kind, "base_url": url, "model": "m", "timeout_ms": 400 });
            let said = eve.rule(&hers, &asks(&provider));
            assert_eq!(said.status, 422, "{kind} {url}: {said:?}");
            assert_eq!(said.code(), "RULE_INVALID");
        }
    }
    // Nor is a key spent that is there for something else.
    assert_eq!(eve.rule(&hers, &asks(&json!("openrouter"))).status, 422);
    assert_eq!(stranger.heard(), "");
}

#[test]
fn a_key_goes_to_the_place_that_it_was_listed_for_and_to_no_other_that_is_listed() {
    let (own, other) = (Listener::new(), Listener::new());
    let (own_url, other_url) = (format!("{}/v1", own.url()), format!("{}/v1", other.url()));
    let config = lists(&[
        format!("openrouter={own_url}"),
        format!("lmstudio={other_url}"),
    ]);
    let house = House::furnished(&config, &[("OPENROUTER_API_KEY", KEY)], |_| {});
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    let provider = json!({ "provider_kind": "openrouter", "base_url": other_url, "model": "m" });
    assert_eq!(eve.rule(&hers, &asks(&provider)).status, 422);
    let provider = json!({ "provider_kind": "openrouter", "base_url": own_url, "model": "m", "timeout_ms": 400 });
    let rule = eve.rule(&hers, &asks(&provider)).is(201);
    eve.ended(&eve.launch(&rule));
    let rule = eve.rule(&hers, &asks(&lmstudio(&other_url))).is(201);
    eve.ended(&eve.launch(&rule));
    assert!(own.heard().contains(KEY));
    assert!(other.heard().contains("POST /v1/chat/completions"));
    holds_no(KEY, &[&other.heard()]);
}

#[test]
fn a_rule_that_nobody_checked_sends_no_key_to_the_place_that_it_names() {
    let (own, stranger) = (Listener::new(), Listener::new());
    let (own_url, strange_url) = (
        format!("{}/v1", own.url()),
        format!("{}/v1", stranger.url()),
    );
    let listed = lists(&[format!("openrouter={own_url}"), format!("openai={own_url}")]);
    let env = [("OPENROUTER_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
    let house = House::furnished(&listed, &env, |_| {});
    for kind in ["openrouter", "openai"] {
        let provider =
            json!({ "provider_kind": kind, "base_url": own_url, "model": "m", "timeout_ms": 400 });
        let rule = house.owner.rule(&house.workspace(), &asks(&provider));
        let rule = rule.is(201);
        // What an older version let in, or another hand wrote.
        let store = rusqlite::Connection::open(house.data("workspace.db")).expect("a store");
        let sql = "UPDATE rule SET body = replace(body, ?1, ?2)";
        let changed = store.execute(sql, [&own_url, &strange_url]);
        assert!(changed.is_ok_and(|rows| rows > 0));
        let run = house.owner.ended(&house.owner.launch(&rule));
        assert_eq!(run["error_code"], "RULE_INVALID", "{run}");
        holds_no(KEY, &[&stranger.heard(), &run.to_string()]);
    }
}

#[test]
fn a_rule_of_before_asks_nobody_who_is_not_listed_any_more() {
    let model = Listener::new();
    let url = format!("{}/v1", model.url());
    let house = House::furnished(&lists(&[format!("lmstudio={url}")]), &[], |_| {});
    let rule = house
        .owner
        .rule(&house.workspace(), &asks(&lmstudio(&url)))
        .is(201);
    let house = house.again(Some(&json!({})));
    let run = house.owner.ended(&house.owner.launch(&rule));
    assert_eq!(run["error_code"], "RULE_INVALID", "{run}");
    assert_eq!(model.heard(), "");
    // It can still be switched off.
    let path = format!("/api/automation/rules/{}", text(&rule["rule_id"]));
    let off = json!({ "enabled": false });
    house.owner.ask("PATCH", &path, Some(&off), "").is(200);
}

#[test]
fn a_provider_that_plays_a_file_plays_none_of_the_servers() {
    let house = House::open(&json!({}));
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    for file in [
        "owner-token",
        "./data/owner-token",
        "config.json",
        "/etc/passwd",
    ] {
        let provider = json!({ "provider_kind": "script", "base_url": file, "model": "m" });
        let said = eve.rule(&hers, &asks(&provider));
        assert_eq!(said.status, 422, "{file}: {said:?}");
    }
}

/// A server whose rules may use the directory `projects`, with an agent there that reads a file and reports it.
fn projects(config: &Value, reads: &str) -> House {
    House::furnished(config, &[], |person| {
        let lines = [
            call("read", json!({ "path": reads })),
            call(
                "agent__final_report",
                json!({ "report_format": "markdown", "report_content": "ok" }),
            ),
        ];
        let script: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let file = person.path("projects/agent.jsonl");
        person.write(&file, script);
        let agent = format!(
            "---\nmodels: script:{}\ntools: builtin\n---\nRead.\n",
            file.display()
        );
        for place in ["projects/tidy.ai", "projects/sub/tidy.ai", "data/tidy.ai"] {
            person.write(person.path(place), &agent);
        }
    })
}

fn run_in(agent: &str, dir: Option<&str>) -> Value {
    let mut action = json!({ "kind": "run", "agent_file": agent, "goal": "Read it." });
    if let Some(dir) = dir {
        action["dir"] = json!(dir);
    }
    action
}

#[test]
fn no_run_works_in_the_data_directory_or_above_it() {
    let house = projects(
        &json!({ "automation": { "allowed_dirs": { "*": ["../projects", "..", "."] } } }),
        "owner-token",
    );
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    let data = written(house.data(""));
    let above = written(house.person.path(""));
    symlink(house.data(""), house.person.path("projects/way")).expect("a link");
    let rows = [
        ("tidy.ai", Some(data.as_str())),
        ("tidy.ai", Some(&above)),
        ("tidy.ai", Some("/")),
        ("tidy.ai", Some("way")),
        ("tidy.ai", Some("../data")),
        ("tidy.ai", Some("sub/../../data/.")),
        ("way/tidy.ai", None),
        ("../data/tidy.ai", None),
        (&format!("{data}/tidy.ai"), None),
    ];
    for (agent, dir) in rows {
        let said = eve.rule(&hers, &run_in(agent, dir));
        assert_eq!(said.status, 422, "{agent} {dir:?}: {said:?}");
        holds_no(&above, &[&said.body]);
    }
    for repo in [".", "../data", "way", "/", data.as_str()] {
        let action = json!({ "kind": "work", "plan": "plan.json", "repo": repo });
        let status = eve.rule(&hers, &action).status;
        // The projects themselves are allowed.
        assert_eq!(status == 201, repo == ".", "{repo}");
    }
}

#[test]
fn by_default_rules_run_nothing_anywhere() {
    let house = projects(&json!({}), "owner-token");
    let owner = &house.owner;
    let workspace = house.workspace();
    for agent in ["tidy.ai", "../projects/tidy.ai", "./data/tidy.ai"] {
        assert_eq!(owner.rule(&workspace, &run_in(agent, None)).status, 422);
    }
}

#[test]
fn a_directory_that_becomes_a_link_to_the_data_directory_is_not_worked_in() {
    let config = json!({ "automation": { "allowed_dirs": { "*": ["../projects"] } } });
    let house = projects(&config, "owner-token");
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    let rule = eve.rule(&hers, &run_in("tidy.ai", Some("sub"))).is(201);
    let sub = house.person.path("projects/sub");
    std::fs::remove_dir_all(&sub).expect("it was there");
    symlink(house.data(""), &sub).expect("a link");
    let run = eve.ended(&eve.launch(&rule));
    assert_eq!(run["error_code"], "RULE_INVALID", "{run}");
    let token = std::fs::read_to_string(house.data("owner-token")).expect("it is there");
    let shown = house.bonded(&["rule", "runs", "--json"]);
    holds_no(token.trim(), &[&run.to_string(), &shown.stdout]);
}

#[test]
fn what_is_allowed_for_one_workspace_is_not_allowed_for_another_of_its_name() {
    let house = projects(&json!({}), "x");
    let workspace = house.workspace();
    let config = json!({ "automation": { "allowed_dirs": { &workspace: ["../projects"] } } });
    let house = house.again(Some(&config));
    house
        .owner
        .rule(&workspace, &run_in("tidy.ai", None))
        .is(201);
    let eve = house.user("eve", None);
    let hers = eve.workspace("Notes");
    assert_eq!(eve.rule(&hers, &run_in("tidy.ai", None)).status, 422);
    let by_name = json!({ "automation": { "allowed_dirs": { "Notes": ["../projects"] } } });
    house
        .person
        .write(house.data("config.json"), by_name.to_string());
    let refused = house.bonded(&["rule", "list"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
}

#[test]
fn a_rule_launched_for_an_event_of_another_workspace_learns_nothing_of_it() {
    let model = Listener::new();
    let url = format!("{}/v1", model.url());
    let house = House::open(&lists(&[format!("lmstudio={url}")]));
    let title = "a-title-for-nobody-else";
    let note = json!({ "workspace_id": house.workspace(), "title": title, "markdown": "" });
    let note = house.owner.post("/api/notes", &note).is(201);
    let history = format!("/api/notes/{}/history", text(&note["note_id"]));
    let events = house.owner.get(&history).is(200);
    let event = text(&events["versions"][0]["event_id"]);
    assert!(!event.is_empty(), "{events}");
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    let rule = eve.rule(&hers, &asks(&lmstudio(&url))).is(201);
    let launch = format!("/api/automation/rules/{}/launch", text(&rule["rule_id"]));
    let said = eve.post(&launch, &json!({ "triggering_event_id": event }));
    assert_eq!(
        (said.status, said.code().as_str()),
        (403, "CROSS_WORKSPACE_REJECTED")
    );
    eve.ended(&eve.launch(&rule));
    holds_no(title, &[&model.heard(), &said.body]);
}

#[test]
fn slow_runs_of_one_user_in_many_workspaces_hold_up_nobody() {
    let (silent, model) = (silent_model(), Listener::new());
    let url = format!("{}/v1", model.url());
    let house = House::open(&lists(&[
        format!("lmstudio={silent}"),
        format!("lmstudio={url}"),
    ]));
    let eve = house.user("eve", None);
    for number in 0..6 {
        let hers = eve.workspace("hers");
        let mut provider = lmstudio(&silent);
        provider["timeout_ms"] = json!(120_000);
        let mut action = asks(&provider);
        action["memory"] = json!({ "kv_store_path": format!("m{number}") });
        let rule = eve.rule(&hers, &action).is(201);
        eve.launch(&rule);
    }
    let bob = house.user("bob", None);
    let his = bob.workspace("his");
    let rule = bob.rule(&his, &asks(&lmstudio(&url))).is(201);
    bob.ended(&bob.launch(&rule));
    until("his model is asked", || {
        model.heard().contains("POST /v1/chat/completions")
    });
}

#[test]
fn a_prompt_of_a_rule_is_no_other_file_of_the_server() {
    let house = House::furnished(&json!({}), &[], |person| {
        person.write(
            person.path("secret.json"),
            "{\"secret\": \"canary-of-the-operator\"}",
        );
        person.make_dir(&person.path("data/prompts"));
        symlink(
            person.path("secret.json"),
            person.path("data/prompts/way.json"),
        )
        .expect("a link");
    });
    let canary = Canary::put(&house.person, house.data("memory/x/y.json"), "{}");
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    for path in [
        "owner-token",
        "./data/config.json",
        "../secret.json",
        "/etc/passwd",
        "memory/x/y.json",
        "prompts/../owner-token",
        "prompts/",
    ] {
        for field in ["prompt_path", "prompt_json_path"] {
            let mut action = json!({ "kind": "kjxlkj_agent" });
            action[field] = json!(path);
            assert_eq!(eve.rule(&hers, &action).status, 422, "{field} {path}");
        }
    }
    // A link among the prompts is not followed.
    let action = json!({ "kind": "kjxlkj_agent", "prompt_path": "prompts/way.json" });
    let refused = eve.rule(&hers, &action);
    assert_eq!(refused.code(), "PROMPT_JSON_INVALID", "{refused:?}");
    assert!(refused.body.contains("link"), "{refused:?}");
    assert!(!refused.body.contains("canary"), "{refused:?}");
    canary.lives();
}

#[test]
fn a_command_of_a_rules_agent_does_not_see_the_data_directory() {
    let config = json!({ "automation": { "allowed_dirs": { "*": ["../projects"] } } });
    let house = House::furnished(&config, &[], |person| {
        let data = written(person.path("data"));
        let lines = [
            sh(&format!(
                "cat {data}/owner-token {data}/config.json > stolen.txt; ls {data} >> stolen.txt; true"
            )),
            call(
                "agent__final_report",
                json!({ "report_format": "markdown", "report_content": "ok" }),
            ),
        ];
        let script: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let file = person.path("projects/agent.jsonl");
        person.write(&file, script);
        let agent = format!(
            "---\nmodels: script:{}\ntools: builtin\n---\nSteal.\n",
            file.display()
        );
        person.write(person.path("projects/tidy.ai"), agent);
    });
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    let rule = eve.rule(&hers, &run_in("tidy.ai", None)).is(201);
    eve.ended(&eve.launch(&rule));
    let stolen =
        std::fs::read_to_string(house.person.path("projects/stolen.txt")).unwrap_or_default();
    let token = std::fs::read_to_string(house.data("owner-token")).expect("it is there");
    holds_no(token.trim(), &[&stolen]);
    holds_no("allowed_dirs", &[&stolen]);
}
