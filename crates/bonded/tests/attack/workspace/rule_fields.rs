//! Every field of a rule with what a hostile member would put there: a table, held to the fields that the kernel knows.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::house::House;
use crate::person::program_dir;
use crate::witness::Listener;

/// A field of a rule as a JSON pointer, and what is refused there.
type Row = (&'static str, Vec<Value>);

fn paths() -> Vec<Value> {
    [
        "owner-token",
        "./data/owner-token",
        "config.json",
        ".env",
        "../data/owner-token",
        "/etc/passwd",
        "/",
        "..",
        "~/.ssh/id",
        "file:///etc/passwd",
        "\u{0}",
        "",
    ]
    .map(Value::from)
    .into()
}

/// Paths that lead out of the directory that rules may use; relative ones begin in it.
fn outside() -> Vec<Value> {
    [
        "../data/owner-token",
        "../data",
        "./../data/../data/config.json",
        "/etc/passwd",
        "/",
        "..",
        "\u{0}",
        "",
    ]
    .map(Value::from)
    .into()
}

fn odd() -> Vec<Value> {
    vec![json!(-1), json!(1e30), json!("soon"), json!([]), json!({})]
}

fn loops(other: &str, stranger: &str) -> Vec<Row> {
    let with = |mut values: Vec<Value>, more: &[Value]| {
        values.extend(more.iter().cloned());
        values
    };
    vec![
        (
            "/kind",
            vec![json!("shell"), json!("KJXLKJ_AGENT"), json!(7)],
        ),
        ("/prompt_path", paths()),
        ("/prompt_json_path", paths()),
        (
            "/provider",
            vec![
                json!("openai"),
                json!("script"),
                json!("openrouter"),
                json!(["lmstudio"]),
            ],
        ),
        (
            "/provider/provider_kind",
            vec![
                json!("openai"),
                json!("anthropic"),
                json!("script"),
                json!("x"),
            ],
        ),
        (
            "/provider/base_url",
            vec![
                json!(stranger),
                json!("http://169.254.169.254/v1"),
                json!("http://127.0.0.1:22/v1"),
                json!("file:///etc/passwd"),
                json!("gopher://x"),
                json!("http://a:b@127.0.0.1:1234/v1"),
                json!("owner-token"),
            ],
        ),
        (
            "/provider/model",
            vec![json!(7), json!(""), json!("x".repeat(300))],
        ),
        (
            "/provider/timeout_ms",
            with(odd(), &[json!(0), json!(86_400_000)]),
        ),
        (
            "/provider/max_tokens",
            with(odd(), &[json!(0), json!(10_000_000)]),
        ),
        (
            "/provider/temperature",
            vec![json!(-1), json!(3), json!("hot")],
        ),
        ("/mode", vec![json!("root"), json!("YOLO"), json!(true)]),
        ("/memory", vec![json!("owner-token"), json!([])]),
        ("/memory/kv_store_path", paths()),
        (
            "/memory/retain_full_conversation_logs",
            vec![json!("yes"), json!(1)],
        ),
        ("/memory/type", vec![json!("file"), json!("sqlite")]),
        ("/memory/carry_over", vec![json!(false), json!("no")]),
        ("/loop", vec![json!(7)]),
        ("/loop/loop_delay_ms", odd()),
        ("/loop/idle_delay_ms", odd()),
        (
            "/loop/max_iterations",
            with(odd(), &[json!(0), json!(1_000_000)]),
        ),
        ("/scope", vec![json!("all")]),
        (
            "/scope/workspace_id",
            vec![json!(other), json!("*"), json!("x")],
        ),
        (
            "/scope/allowed_note_kinds",
            vec![json!("*"), json!(["*"]), json!(["Note"])],
        ),
        (
            "/scope/cross_workspace_writes",
            vec![json!(true), json!("true")],
        ),
        ("/scope/max_notes_per_loop", odd()),
        ("/scope/max_edits_per_loop", odd()),
        ("/scope/strict_scope", vec![json!("no")]),
        ("/strict_mode", vec![json!("no")]),
        (
            "/paging_bytes",
            with(odd(), &[json!(0), json!(1_u64 << 40)]),
        ),
        (
            "/request",
            vec![json!(7), json!(""), json!("x".repeat(70_000))],
        ),
        ("/dir", vec![json!(".")]),
        ("/command", vec![json!("id")]),
    ]
}

fn runs() -> Vec<Row> {
    vec![
        ("/kind", vec![json!("exec")]),
        ("/agent_file", outside()),
        ("/goal", vec![json!(""), json!(7)]),
        ("/dir", outside()),
        ("/timeout_ms", odd()),
    ]
}

fn works() -> Vec<Row> {
    vec![
        ("/kind", vec![json!("exec")]),
        ("/plan", outside()),
        ("/repo", outside()),
        ("/agent_file", outside()),
    ]
}

/// The fields of each action that needs no model, with the action around them.
fn plain(stranger: &str) -> Vec<(Value, Vec<Row>)> {
    let lines = |chars_max: usize| {
        let long = json!("x".repeat(chars_max + 1));
        vec![
            json!(""),
            json!(7),
            json!("two\nlines"),
            json!("\u{1b}[2J"),
            long,
        ]
    };
    vec![
        (
            json!({ "kind": "add_keyword", "keyword": "k" }),
            vec![("/keyword", lines(100)), ("/note_id", vec![json!("x")])],
        ),
        (
            json!({ "kind": "move", "folder": "f" }),
            vec![(
                "/folder",
                vec![
                    json!(".."),
                    json!("a/../b"),
                    json!("/"),
                    json!(""),
                    json!("\u{0}"),
                    json!(7),
                ],
            )],
        ),
        (
            json!({ "kind": "notify", "title": "t" }),
            vec![
                ("/title", lines(200)),
                (
                    "/message",
                    vec![json!(""), json!(7), json!("x".repeat(5000))],
                ),
            ],
        ),
        (
            json!({ "kind": "webhook", "url": "https://hooks.example/in" }),
            vec![
                (
                    "/url",
                    vec![
                        json!(stranger),
                        json!("http://169.254.169.254/latest"),
                        json!("http://127.0.0.1:22/"),
                        json!("https://hooks.example@127.0.0.1/"),
                        json!("https://hooks.example/../../x/../in/../.."),
                        json!("https://hooks.example.evil/in"),
                        json!("file:///etc/passwd"),
                        json!(""),
                        json!(7),
                    ],
                ),
                ("/secret", vec![json!("whsec_AAAA")]),
                ("/headers", vec![json!({ "authorization": "x" })]),
            ],
        ),
    ]
}

fn rule(other: &str) -> Vec<Row> {
    vec![
        ("/workspace_id", vec![json!("*"), json!(7)]),
        (
            "/name",
            vec![
                json!(""),
                json!("two\nlines"),
                json!("\u{1b}[2J"),
                json!("x".repeat(10_000)),
                json!(7),
            ],
        ),
        (
            "/trigger",
            vec![json!("always"), json!("workspace_event.*"), json!(7)],
        ),
        (
            "/condition_json",
            vec![
                json!({ "field": "workspace.other", "op": "eq", "value": 1 }),
                json!({ "field": "note.title", "op": "matches", "value": "(a{1000}){1000}{1000}" }),
                json!({ "field": "note.title", "op": "shell", "value": "id" }),
                json!("true"),
            ],
        ),
        ("/action_json", vec![json!(7), json!("id"), json!({})]),
        ("/enabled", vec![json!("yes"), json!(1)]),
        (
            "/schedule",
            vec![json!({ "cron": "* * * * *" }), json!("* * * * *")],
        ),
        (
            "/schedule/cron",
            vec![json!("* * * * * *"), json!("0 0 30 2 *"), json!("@reboot")],
        ),
        (
            "/schedule/timezone",
            vec![json!("../../etc/passwd"), json!("/etc/passwd")],
        ),
        ("/schedule/catch_up", vec![json!("each")]),
        ("/schedule/overlap", vec![json!("kill")]),
        ("/max_chain_depth", vec![json!(17), json!(-1), json!(1e9)]),
        ("/owner", vec![json!(other)]),
        ("/rule_id", vec![json!(other)]),
        ("/version", vec![json!(1)]),
    ]
}

/// The rule with a value at a place of it.
fn with(mut rule: Value, at: &str, value: &Value) -> Value {
    let (above, name) = at.rsplit_once('/').expect("a pointer");
    if rule.pointer(above).is_none() {
        rule = with(rule, above, &json!({}));
    }
    rule.pointer_mut(above).expect("it was made")[name] = value.clone();
    rule
}

#[test]
fn no_field_of_a_rule_takes_what_a_hostile_member_puts_there() {
    let stranger = Listener::new();
    let config = json!({
        "automation": {
            "allowed_dirs": { "*": ["../projects"] },
            "allowed_webhooks": ["https://hooks.example/in"],
        },
        "server": { "writes_per_second_max": 100_000 },
    });
    let house = House::furnished(
        &config,
        &[("OPENAI_API_KEY", "sk-0123456789abcdef")],
        |person| {
            person.make_dir(&person.path("projects"));
        },
    );
    let eve = house.user("eve", None);
    let (hers, owners) = (eve.workspace("hers"), house.workspace());
    let before = house.own_files();
    let url = format!("{}/v1", stranger.url());
    let action =
        |action: Value| json!({ "workspace_id": hers, "trigger": "manual", "action_json": action });
    let cron = json!({
        "workspace_id": hers, "trigger": "automation_schedule.cron", "schedule": { "cron": "0 0 1 1 *" },
        "action_json": { "kind": "kjxlkj_agent" },
    });
    let manual = action(json!({ "kind": "kjxlkj_agent" }));
    let run = action(json!({ "kind": "run", "agent_file": "a.ai", "goal": "g" }));
    let work = action(json!({ "kind": "work", "plan": "plan.json", "repo": "tree" }));
    for usual in [&manual, &cron, &run, &work] {
        eve.post("/api/automation/rules", usual).is(201);
    }
    let mut tried = 0;
    let mut refuse = |usual: &Value, below: &str, rows: Vec<Row>| {
        for (at, values) in rows {
            for value in values {
                let written = with(usual.clone(), &format!("{below}{at}"), &value);
                let said = eve.post("/api/automation/rules", &written);
                assert_eq!(said.status, 422, "{at} {value}: {said:?}");
                assert_eq!(said.code(), "RULE_INVALID", "{at} {value}");
                tried += 1;
            }
        }
    };
    refuse(&manual, "/action_json", loops(&owners, &url));
    refuse(&run, "/action_json", runs());
    refuse(&work, "/action_json", works());
    for (usual, rows) in plain(&url) {
        let usual = action(usual);
        eve.post("/api/automation/rules", &usual).is(201);
        refuse(&usual, "/action_json", rows);
    }
    let (scheduled, others): (Vec<Row>, Vec<Row>) = rule(&owners)
        .into_iter()
        .partition(|(at, _)| at.starts_with("/schedule/"));
    refuse(&manual, "", others);
    refuse(&cron, "", scheduled);
    assert!(tried > 150, "{tried}");
    // A rule for another's workspace is that workspace's matter.
    let foreign = with(manual, "/workspace_id", &json!(owners));
    assert_eq!(eve.post("/api/automation/rules", &foreign).status, 403);
    assert_eq!(house.own_files(), before);
    assert_eq!(stranger.heard(), "");
}

/// What conditions are made of: they are tried as one field.
const OF_CONDITIONS: [&str; 6] = ["all", "any", "not", "field", "op", "value"];

/// The fields of a rule, as the program itself lists them for editors.
fn known() -> BTreeSet<String> {
    let program = program_dir().join("bonded");
    let shown = std::process::Command::new(program)
        .args(["schema", "rule"])
        .output();
    let shown = shown.expect("the program can be started").stdout;
    let schema: Value = serde_json::from_slice(&shown).expect("a schema is JSON");
    let mut names = BTreeSet::new();
    properties(&schema, &mut names);
    let is_own =
        |name: &String| !name.contains(['.', '$']) && !OF_CONDITIONS.contains(&name.as_str());
    names.retain(is_own);
    names
}

fn properties(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (key, inner) in members {
                if let (true, Some(inner)) = (key == "properties", inner.as_object()) {
                    names.extend(inner.keys().cloned());
                }
                properties(inner, names);
            }
        }
        Value::Array(all) => all.iter().for_each(|inner| properties(inner, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_table_of_fields_has_every_field_of_a_rule() {
    let plain = plain("").into_iter().flat_map(|(_, rows)| rows).collect();
    let rows = [loops("", ""), runs(), works(), plain, rule("")].concat();
    let listed: BTreeSet<String> = rows
        .iter()
        .filter_map(|(at, _)| at.rsplit('/').next().map(str::to_owned))
        .collect();
    let known = known();
    assert!(known.len() > 30, "{known:?}");
    let missing: Vec<&String> = known.difference(&listed).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
