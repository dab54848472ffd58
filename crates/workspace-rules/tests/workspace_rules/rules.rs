//! A rule is checked whole before it is kept: everything that is wrong with it comes back at once.

use bonded_kernel::{Millis, Mode, RuleId, Scope};
use bonded_workspace_rules::{
    Action, CatchUp, LoopAction, LoopDefaults, Overlap, Rule, RuleDraft, RunAction, Trigger,
    WorkAction, firing_event_id, memory_name, run_of_firing,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::rules_common::{
    Around, OTHER_WORKSPACE, WORKSPACE, check, faults, rule, with, workspace,
};

fn action(written: &Value) -> Action {
    Action::read(written, &workspace(), &Around::default()).expect("it is well")
}

fn looping(written: &Value) -> LoopAction {
    match action(written) {
        Action::Loop(action) => *action,
        other => unreachable!("no loop: {other:?}"),
    }
}

#[test]
fn a_rule_of_the_seed_is_read_as_it_was_written() {
    let written = json!({
        "workspace_id": WORKSPACE,
        "trigger": "workspace_event.note_changed",
        "condition_json": { "workspace_id": WORKSPACE },
        "action_json": {
            "kind": "kjxlkj_agent",
            "prompt_path": "./data/agent-prompt.json",
            "provider": {
                "provider_kind": "lmstudio", "base_url": "http://127.0.0.1:1234/v1",
                "model": "nvidia/nemotron-3-nano", "timeout_ms": 300_000,
                "max_tokens": 4096, "temperature": 0.1
            },
            "mode": "yolo",
            "memory": {
                "kv_store_path": "./data/agent-kv-store.json",
                "retain_full_conversation_logs": false
            },
            "loop": { "loop_delay_ms": 1500, "idle_delay_ms": 5000, "max_iterations": 100 },
            "scope": {
                "workspace_id": WORKSPACE, "allowed_note_kinds": ["note", "template"],
                "cross_workspace_writes": false,
                "max_notes_per_loop": 10, "max_edits_per_loop": 20
            }
        },
        "enabled": true
    });
    let draft = check(&written).expect("the seed's own rule");
    assert_eq!(draft.trigger, Trigger::NoteChanged);
    assert_eq!(draft.action_json, written["action_json"]);
    assert_eq!(draft.max_chain_depth, 3);
    // What the seed writes out is what an action that says nothing has.
    let usual = LoopAction {
        mode: Some(Mode::Yolo),
        ..LoopAction::from_defaults(workspace(), &LoopDefaults::default())
    };
    assert_eq!(looping(&written["action_json"]), usual);
}

#[test]
fn an_action_that_says_nothing_has_every_default() {
    let usual = looping(&json!({ "kind": "kjxlkj_agent" }));
    assert_eq!(
        usual,
        LoopAction::from_defaults(workspace(), &LoopDefaults::default())
    );
    assert_eq!(usual.prompt_path, "./data/agent-prompt.json");
    assert_eq!(usual.memory.kv_store_path, "./data/agent-kv-store.json");
    assert!(!usual.memory.retain_full_conversation_logs);
    let provider = &usual.provider;
    assert_eq!(provider.provider_kind, "lmstudio");
    assert_eq!(
        provider.base_url.as_deref(),
        Some("http://127.0.0.1:1234/v1")
    );
    assert_eq!(provider.model, "nvidia/nemotron-3-nano");
    assert_eq!((provider.timeout_ms, provider.max_tokens), (300_000, 4096));
    assert_eq!(
        (usual.pace.loop_delay_ms, usual.pace.idle_delay_ms),
        (1500, 5000)
    );
    assert_eq!(usual.pace.max_iterations, 100);
    assert_eq!(usual.scope, Scope::default_of(workspace()));
    assert_eq!(usual.paging_bytes, 8192);
    assert!(!usual.strict_mode);
}

#[test]
fn the_mode_is_that_of_the_action_then_of_the_host_then_of_the_prompt_file() {
    let rows = [
        (
            Some("reviewed"),
            Some(Mode::Yolo),
            Some(Mode::Yolo),
            Mode::Reviewed,
        ),
        (None, Some(Mode::Reviewed), Some(Mode::Yolo), Mode::Reviewed),
        (None, None, Some(Mode::Reviewed), Mode::Reviewed),
        (None, None, None, Mode::Yolo),
    ];
    for (written, host, prompt, mode) in rows {
        let mut around = Around::default();
        around.defaults.mode = host;
        let action = json!({ "kind": "kjxlkj_agent", "mode": written });
        let read = Action::read(&action, &workspace(), &around).expect("it is well");
        let Action::Loop(action) = read else {
            unreachable!("it is a loop");
        };
        assert_eq!(
            action.mode_with(prompt),
            mode,
            "{written:?} {host:?} {prompt:?}"
        );
    }
}

#[test]
fn the_older_form_of_the_action_is_read_too() {
    let written = json!({
        "kind": "kjxlkj_agent", "mode": "yolo", "prompt_json_path": "prompts/mine.json",
        "provider": "openrouter", "memory": { "type": "kv_store", "carry_over": true }
    });
    let action = looping(&written);
    assert_eq!(action.prompt_path, "prompts/mine.json");
    assert_eq!(action.provider.provider_kind, "openrouter");
    // The usual address is that of another provider.
    assert_eq!(action.provider.base_url, None);
}

#[test]
fn a_memory_has_a_name_and_no_name_is_a_path() {
    let rows = [
        ("./data/agent-kv-store.json", Some("agent-kv-store")),
        ("data/inbox.json", Some("inbox")),
        ("inbox", Some("inbox")),
        ("in.box_2-a.json", Some("in.box_2-a")),
        ("inbox.json.kept", Some("inbox.json.kept")),
        ("owner-token", None),
        ("./data/owner-token", None),
        ("config.json", None),
        ("./data/agent-prompt.json", None),
        ("workspace.db", None),
        ("bonded.db", None),
        (".env", None),
        ("./data/.env", None),
        ("..", None),
        ("../x.json", None),
        ("memory/other/x.json", None),
        ("./data/./owner-token", None),
        ("data/data/x.json", None),
        ("a\\b.json", None),
        ("/etc/passwd", None),
        ("", None),
        (".json", None),
        ("-x.json", None),
        ("a b.json", None),
        ("ä.json", None),
        ("x\0.json", None),
    ];
    for (written, name) in rows {
        assert_eq!(memory_name(written), name, "{written:?}");
    }
    assert_eq!(memory_name(&"x".repeat(101)), None);
}

proptest! {
    #[test]
    fn a_name_of_a_memory_is_one_part_of_a_path(written in "(\\./|data/|\\.|/|[a-z]|\\.json|\\PC){0,8}") {
        if let Some(name) = memory_name(&written) {
            let file = format!("{name}.json");
            let mut parts = std::path::Path::new(&file).components();
            prop_assert!(matches!(parts.next(), Some(std::path::Component::Normal(_))));
            prop_assert!(parts.next().is_none());
        }
    }
}

#[test]
fn a_rule_that_cannot_be_kept_any_more_can_be_switched_off() {
    let draft = check(&rule()).expect("it is well");
    let draft = RuleDraft {
        name: None,
        action_json: json!({ "kind": "run", "agent_file": "/etc/x", "goal": "g" }),
        ..draft
    };
    let around = Around::default();
    let off = draft.patched(&json!({ "enabled": false }), &around);
    assert!(!off.expect("it is switched off").enabled);
    assert!(draft.patched(&json!({ "enabled": true }), &around).is_err());
}

#[test]
fn agent_files_and_plans_are_actions_too() {
    let written = json!({
        "kind": "run", "agent_file": "/srv/agents/tidy.md", "goal": "Tidy up", "timeout_ms": 1000
    });
    let run = RunAction {
        agent_file: "/srv/agents/tidy.md".into(),
        goal: "Tidy up".into(),
        dir: None,
        timeout_ms: Some(1000),
    };
    assert_eq!(action(&written), Action::Run(run));
    let written = json!({ "kind": "work", "plan": "/srv/plan.yaml", "repo": "/srv/tree" });
    let work = WorkAction {
        plan: "/srv/plan.yaml".into(),
        repo: "/srv/tree".into(),
        agent_file: None,
    };
    assert_eq!(action(&written), Action::Work(work));
}

#[test]
fn a_schedule_has_a_zone_and_two_policies() {
    let cron = with(rule(), &[("/trigger", json!("automation_schedule.cron"))]);
    let least = with(
        cron.clone(),
        &[("/schedule", json!({ "cron": "0 9 * * 1-5" }))],
    );
    let schedule = check(&least)
        .expect("it is well")
        .schedule
        .expect("it has one");
    assert_eq!(schedule.timezone, "UTC");
    assert_eq!(
        (schedule.catch_up, schedule.overlap),
        (CatchUp::Once, Overlap::Skip)
    );
    let full = json!({
        "cron": "0 9 * * *", "timezone": "Europe/Berlin", "catch_up": "all", "overlap": "queue"
    });
    let full = with(cron, &[("/schedule", full)]);
    let schedule = check(&full)
        .expect("it is well")
        .schedule
        .expect("it has one");
    assert_eq!(
        (schedule.catch_up, schedule.overlap),
        (CatchUp::All, Overlap::Queue)
    );
}

#[test]
fn each_fault_is_told_with_its_place_and_what_to_do() {
    let cron = json!("automation_schedule.cron");
    let action = |at: &str, value: Value| {
        let at = format!("/action_json{at}");
        let below = with(
            rule(),
            &[
                ("/action_json/provider", json!({})),
                ("/action_json/scope", json!({})),
                ("/action_json/memory", json!({})),
                ("/action_json/loop", json!({})),
            ],
        );
        with(below, &[(&at, value)])
    };
    let rows = [
        (
            with(rule(), &[("/workspace_id", json!("ws-uuid"))]),
            "/workspace_id: must be a UUID",
        ),
        (
            with(rule(), &[("/workspace_id", json!(null))]),
            "at the top: workspace_id is missing",
        ),
        (
            with(rule(), &[("/trigger", json!("note_changed"))]),
            "/trigger: must be one of workspace_event.note_changed,",
        ),
        (
            with(rule(), &[("/trigger", json!(["manual"]))]),
            "/trigger: must be a text, not a list of",
        ),
        (
            with(rule(), &[("/enabled", json!("yes"))]),
            "/enabled: must be true or false, not the text",
        ),
        (
            with(rule(), &[("/enabeld", json!(true))]),
            "/enabeld: there is no field \"enabeld\"; did you mean enabled?",
        ),
        (
            with(rule(), &[("/action_json", json!(null))]),
            "at the top: action_json is missing",
        ),
        (
            with(rule(), &[("/action_json", json!([]))]),
            "/action_json: must be an object, not a list of",
        ),
        (
            with(rule(), &[("/max_chain_depth", json!(17))]),
            "/max_chain_depth: must be a whole number from 0 to 16, not 17",
        ),
        (
            with(rule(), &[("/max_chain_depth", json!(-1))]),
            "/max_chain_depth: must be a whole number from 0 to 16, not -1",
        ),
        (
            with(rule(), &[("/condition_json", json!("x"))]),
            "/condition_json: must be an object",
        ),
        (
            with(rule(), &[("/trigger", cron.clone())]),
            "/schedule: a rule with the trigger automation_schedule.cron needs a schedule",
        ),
        (
            with(rule(), &[("/schedule", json!({ "cron": "* * * * *" }))]),
            "/schedule: only rules with the trigger automation_schedule.cron",
        ),
        (
            with(
                rule(),
                &[
                    ("/trigger", cron.clone()),
                    ("/schedule", json!({ "cron": "0 0 30 2 *" })),
                ],
            ),
            "/schedule/cron: never fires",
        ),
        (
            with(
                rule(),
                &[
                    ("/trigger", cron.clone()),
                    (
                        "/schedule",
                        json!({ "cron": "* * * * *", "timezone": "Mars" }),
                    ),
                ],
            ),
            "/schedule/timezone: no zone",
        ),
        (
            with(
                rule(),
                &[
                    ("/trigger", cron),
                    (
                        "/schedule",
                        json!({ "cron": "* * * * *", "catch_up": "each" }),
                    ),
                ],
            ),
            "/schedule/catch_up: must be one of skip, once, all, not \"each\"",
        ),
        (
            action("/kind", json!("kjxlkj")),
            "/action_json/kind: must be one of kjxlkj_agent, run, work, add_keyword, move, notify, webhook",
        ),
        (
            action("/modus", json!("yolo")),
            "/action_json/modus: there is no field \"modus\"; did you mean mode?",
        ),
        (
            action("/mode", json!("YOLO")),
            "/action_json/mode: must be one of yolo, reviewed",
        ),
        (
            action("/provider", json!("lmstudo")),
            "/action_json/provider: must be one of lmstudio, openrouter, script, not \"lmstudo\"; did you mean lmstudio?",
        ),
        (
            action("/provider/base_url", json!("ftp://x")),
            "/action_json/provider/base_url: must begin with http://",
        ),
        (
            action("/provider/base_url", json!("http://me:secret@host/v1")),
            "/action_json/provider/base_url: must begin with http://",
        ),
        (
            action("/provider/temperature", json!(2.5)),
            "/action_json/provider/temperature: must be a number from 0 to 2, not 2.5",
        ),
        (
            action("/provider/timeout_ms", json!(0)),
            "/action_json/provider/timeout_ms: must be a whole number from 1",
        ),
        (
            action("/provider/max_tokens", json!("many")),
            "/action_json/provider/max_tokens: many is not a number of tokens. Write 8000, 64k or 1M.",
        ),
        (
            action("/prompt_path", json!("/etc/passwd")),
            "/action_json/prompt_path: no prompt",
        ),
        (
            action("/provider/base_url", json!("http://10.0.0.2/v1")),
            "/action_json/provider/base_url: not listed",
        ),
        (
            action("/provider/provider_kind", json!("script")),
            "/action_json/provider/provider_kind: not listed",
        ),
        (
            action("/provider", json!("script")),
            "/action_json/provider: not listed",
        ),
        (
            action("/memory/kv_store_path", json!("./data/owner-token")),
            "/action_json/memory/kv_store_path: must be the name of a memory",
        ),
        (
            action("/memory/kv_store_path", json!("a/../../b.json")),
            "/action_json/memory/kv_store_path: must be the name of a memory",
        ),
        (
            action("/memory/kv_store_path", json!("memory/")),
            "/action_json/memory/kv_store_path: must be the name of a memory",
        ),
        (
            action("/memory/carry_over", json!(false)),
            "/action_json/memory/carry_over: must be true",
        ),
        (
            action("/loop/max_iterations", json!(0)),
            "/action_json/loop/max_iterations: must be a whole number from 1 to 10000",
        ),
        (
            action("/scope/cross_workspace_writes", json!(true)),
            "/action_json/scope/cross_workspace_writes: must be false",
        ),
        (
            action("/scope/workspace_id", json!(OTHER_WORKSPACE)),
            "/action_json/scope/workspace_id: must be the workspace of the rule",
        ),
        (
            action("/scope/allowed_note_kinds", json!(["Note"])),
            "/action_json/scope/allowed_note_kinds/0: must be a kind of note",
        ),
        (
            with(
                rule(),
                &[(
                    "/action_json",
                    json!({ "kind": "run", "agent_file": "/home/x.md", "goal": "g" }),
                )],
            ),
            "/action_json/agent_file: not allowed",
        ),
        (
            with(
                rule(),
                &[(
                    "/action_json",
                    json!({ "kind": "run", "agent_file": "/srv/x.md", "goal": " " }),
                )],
            ),
            "/action_json/goal: must not be empty",
        ),
        (
            with(
                rule(),
                &[("/action_json", json!({ "kind": "work", "plan": "/srv/x" }))],
            ),
            "/action_json: repo is missing",
        ),
    ];
    for (written, expected) in rows {
        let found = faults(&written);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(expected),
            "{found:?} is not {expected:?}"
        );
    }
}

#[test]
fn no_fault_hides_another() {
    let written = json!({
        "trigger": "cron", "condition_json": { "note.titel": 1 }, "enabled": 1,
        "action_json": { "kind": "kjxlkj_agent", "mode": 1, "scope": { "workspace_id": WORKSPACE, "strict_scope": 1 } },
    });
    let found = faults(&written);
    let places = [
        "at the top",
        "/trigger",
        "/condition_json",
        "/enabled",
        "/action_json/mode",
        "/action_json/scope/strict_scope",
    ];
    for place in places {
        assert!(
            found.iter().any(|it| it.starts_with(place)),
            "{place}: {found:?}"
        );
    }
    assert_eq!(found.len(), places.len(), "{found:?}");
}

#[test]
fn a_change_of_some_fields_is_checked_with_the_rest_and_never_moves_the_rule() {
    let draft = check(&rule()).expect("it is well");
    let around = Around::default();
    let disabled = draft.patched(&json!({ "enabled": false }), &around);
    assert!(!disabled.expect("it is well").enabled);
    let rows = [
        (
            json!({ "trigger": "automation_schedule.cron" }),
            "/schedule",
        ),
        (json!({ "workspace_id": OTHER_WORKSPACE }), "/workspace_id"),
        (json!({ "action_json": null }), ""),
        (json!([]), ""),
    ];
    for (change, place) in rows {
        let faults = draft.patched(&change, &around).expect_err("it is not well");
        assert_eq!(faults[0].at, place, "{change}");
    }
}

#[test]
fn a_rule_comes_back_from_its_own_json() {
    let rule_id = RuleId::from_bytes([7; 16]);
    let rule = check(&rule())
        .expect("it is well")
        .into_rule(rule_id, Millis(5));
    let written = serde_json::to_value(&rule).expect("a rule is JSON");
    assert_eq!(written["trigger"], "workspace_event.note_changed");
    let read: Rule = serde_json::from_value(written).expect("a rule is read");
    assert_eq!(read, rule);
}

#[test]
fn a_trigger_answers_its_own_events_only() {
    let rows = [
        (
            Trigger::NoteChanged,
            vec!["note.created", "note.updated", "note.title_changed"],
        ),
        (Trigger::NoteCreated, vec!["note.created"]),
        (Trigger::NoteDeleted, vec!["note.deleted"]),
        (Trigger::Cron, vec![]),
        (Trigger::Manual, vec![]),
    ];
    let all = [
        "note.created",
        "note.updated",
        "note.title_changed",
        "note.deleted",
        "note.undeleted",
        "note.metadata_set",
        "rule.created",
        "automation_queued",
    ];
    for (trigger, expected) in rows {
        let answered: Vec<&str> = all.into_iter().filter(|it| trigger.answers(it)).collect();
        assert_eq!(answered, expected, "{trigger:?}");
    }
}

#[test]
fn a_firing_has_one_run_whose_name_follows_from_it() {
    let rule = RuleId::from_bytes([1; 16]);
    let other = RuleId::from_bytes([2; 16]);
    let event = firing_event_id(rule, Millis(60_000));
    assert_eq!(event, firing_event_id(rule, Millis(60_000)));
    assert_ne!(event, firing_event_id(rule, Millis(60_001)));
    assert_ne!(event, firing_event_id(other, Millis(60_000)));
    assert_eq!(run_of_firing(rule, event), run_of_firing(rule, event));
    assert_ne!(run_of_firing(rule, event), run_of_firing(other, event));
}

/// JSON as somebody hostile writes it, with the words of rules in it.
fn hostile() -> impl Strategy<Value = Value> {
    let words = prop_oneof![
        "\\PC{0,12}",
        Just("kjxlkj_agent".to_owned()),
        Just("run".to_owned()),
        Just(WORKSPACE.to_owned()),
        Just("automation_schedule.cron".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    let keys = prop_oneof![
        "[a-z_]{1,8}",
        proptest::sample::select(vec![
            "workspace_id",
            "trigger",
            "condition_json",
            "action_json",
            "enabled",
            "schedule",
            "max_chain_depth",
            "kind",
            "provider",
            "memory",
            "loop",
            "scope",
            "cron",
            "all",
            "any",
            "not",
            "field",
            "op",
            "value",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(keys.clone(), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_a_rule_or_has_faults(written in hostile()) {
        match RuleDraft::check(&written, &Around::default()) {
            Ok(draft) => {
                let again = serde_json::to_value(&draft).expect("a rule is JSON");
                prop_assert_eq!(check(&again), Ok(draft));
            }
            Err(faults) => prop_assert!(!faults.is_empty()),
        }
    }
}
