//! Plans that cannot be worked off: refused whole, before anything runs.

use serde_json::{Value, json};

use crate::place::{Done, finish, start};
use crate::world::{World, item, with_fields, writes};

/// A plan's text is refused: nothing ran, nothing is kept, and the tree is what it was.
#[track_caller]
fn refused(text: &[u8]) -> Done {
    let world = World::repository();
    world.agent(1, &[writes("new.txt", "x")]);
    let before = world.state();
    let file = world.place.path("plan");
    std::fs::write(&file, text).expect("the plan can be written");
    let refused = finish(start(&mut world.work_command_on(&file, &["--json"])));
    refused.fails_with(4, "bad-plan");
    assert_eq!(refused.stdout, "");
    before.expect_same(&world.state(), "a bad plan");
    assert!(!world.kept("plans").exists(), "no plan was begun");
    refused
}

#[test]
fn a_text_that_is_neither_json_nor_yaml_is_refused_with_its_line_and_column() {
    let table: [(&[u8], &str); 6] = [
        (b"{\n  \"id\": }", "line 2, column 9"),
        (b"[{\"id\": \"a\",}]", "line 1, column 13"),
        (b"- id: a\n  bad: [1\n", "line 3, column 1"),
        (b"id: a\nid: b\n", "line 2, column 1"),
        (b"", "a plan is one work item (an object) or a list of them"),
        (b"\xff\xfe{}", "it is not UTF-8 (at byte 1)"),
    ];
    for (text, why) in table {
        refused(text).says(why);
    }
}

#[test]
fn what_is_wrong_with_items_is_said_at_once_with_its_line_and_the_nearest_known_word() {
    let text = r#"{
  "id": "a",
  "agent_id": "agent-12",
  "descriptoin": "x",
  "constraints": {
    "max_files": -1,
    "timeout_ms": 0,
    "max_tool_opps": 3
  },
  "output_files": ["../out", "/etc/passwd"],
  "tests_expected": 2
}"#;
    let refused = refused(text.as_bytes());
    for why in [
        "line 3: /agent_id",
        "line 4: /descriptoin (item a): there is no field \"descriptoin\"; did you mean description?",
        "line 6: /constraints/max_files (item a): must be a whole number from 0",
        "not -1",
        "line 7: /constraints/timeout_ms (item a): must be a whole number from 1",
        "line 8: /constraints/max_tool_opps (item a): there is no field \"max_tool_opps\"; did you mean max_tool_ops?",
        "\"../out\" is not a path inside a tree",
        "\"/etc/passwd\" is not a path inside a tree",
    ] {
        refused.says(why);
    }
}

fn depends(id: &str, on: &[&str]) -> Value {
    with_fields(item(id, 1), json!({ "dependencies": on }))
}

#[test]
fn circles_and_ids_that_are_unknown_or_taken_are_named() {
    let table = [
        (json!([]), "it has no work items"),
        (json!("text"), "not the text \"text\""),
        (json!([item("a", 1), item("a", 1)]), "each needs its own"),
        (
            json!([
                depends("a", &["b"]),
                depends("b", &["c"]),
                depends("c", &["a"])
            ]),
            "a -> b -> c -> a",
        ),
        (json!([depends("a", &["a"])]), "depends on itself"),
        (
            json!([depends("a", &["bild"]), item("build", 1)]),
            "\"bild\", which is neither in the plan nor done before; did you mean build?",
        ),
        (json!([item("../escape", 1)]), "cannot be an id"),
    ];
    for (plan, why) in table {
        refused(plan.to_string().as_bytes()).says(why);
    }
}

#[test]
fn a_plan_may_be_yaml_or_come_through_a_pipe() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let yaml = world.place.path("plan.yaml");
    let text = "id: one\nagent_id: agent-1\ndescription: >\n  in two\n  lines\n";
    std::fs::write(&yaml, text).expect("the plan can be written");
    let stdin = std::fs::File::open(&yaml).expect("it was just written");
    let mut command = world.work_command_on(std::path::Path::new("-"), &["--json"]);
    let ended = finish(start(command.stdin(stdin)));
    ended.succeeds();
    assert_eq!(ended.json()["status"], "success", "{ended:?}");
}

#[test]
fn a_plan_that_nobody_can_work_on_is_refused_before_anything_runs() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let before = world.state();
    let refused = world.work(&json!([item("a", 1), item("b", 7)]), &[]);
    refused.fails_with(4, "usage");
    refused.says("there is no agent for agent-7");
    before.expect_same(&world.state(), "no agent");
    assert!(world.runs().is_empty(), "nothing ran");
    let missing = finish(start(
        &mut world.work_command_on(std::path::Path::new("nowhere.json"), &[]),
    ));
    missing.fails_with(4, "bad-plan");
    missing.says("nowhere.json cannot be read");
}
