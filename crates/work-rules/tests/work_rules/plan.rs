//! A plan is checked whole before anything runs: everything that is wrong with it comes back at once.

use bonded_work_rules::{Budget, Complexity, Constraints, PlanContext, WorkPlan};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{faults, id, item, levels, minimal, path, plan, read, with};

#[test]
fn an_item_has_the_words_of_its_file_and_the_limits_that_are_usual() {
    let written = json!({
        "id": "work-item-1",
        "agent_id": "agent-1",
        "description": "Implement KnowledgeStore contract",
        "dependencies": [],
        "constraints": {
            "max_files": 5, "max_tool_ops": 20, "max_delta_size": 50, "timeout_ms": "1m"
        },
        "budget": { "time_estimate_ms": 30000, "complexity": "medium" },
        "output_files": ["/docs/contracts/KnowledgeStore.contract.md"],
        "test_command": "node validate-contract.mjs KnowledgeStore"
    });
    let plan = plan(&written);
    assert!(plan.is_single());
    let item = &plan.items()[0];
    assert_eq!(item.id, id("work-item-1"));
    assert_eq!(item.agent_id.number(), 1);
    let limits = Constraints {
        max_files: 5,
        max_tool_ops: 20,
        max_delta_size: 50,
        timeout_ms: 60_000,
    };
    assert_eq!(item.constraints, limits);
    let budget = Budget {
        time_estimate_ms: 30_000,
        complexity: Complexity::Medium,
    };
    assert_eq!(item.budget, Some(budget));
    let outputs = item.output_files.as_deref().expect("they are given");
    let declared = path("docs/contracts/KnowledgeStore.contract.md");
    assert_eq!(outputs[0].plain(), Some(&declared));

    let least = self::plan(&json!([minimal("a")]));
    assert!(!least.is_single());
    let usual = Constraints {
        max_files: 10,
        max_tool_ops: 50,
        max_delta_size: 100,
        timeout_ms: 300_000,
    };
    assert_eq!(least.items()[0].constraints, usual);
}

#[test]
fn an_item_comes_back_from_its_own_json() {
    let full = with(
        "a",
        &json!({
            "dependencies": ["done-before"],
            "budget": { "time_estimate_ms": 1, "complexity": "high" },
            "input_files": ["src/", "*.toml"], "output_files": [],
            "test_command": "true", "tests_expected": 3, "retries": 2,
        }),
    );
    let first = plan(&full);
    let written = serde_json::to_value(&first.items()[0]).expect("an item is JSON");
    assert_eq!(plan(&written), first);
    assert_eq!(written["input_files"], json!(["src/", "*.toml"]));
}

#[test]
fn limits_can_be_given_by_name_for_items_that_do_not_say_their_own() {
    let rows = [
        ("default", 10, 50, 100),
        ("production", 50, 100, 500),
        ("strict", 5, 10, 50),
    ];
    for (name, files, ops, delta) in rows {
        let defaults = Constraints::preset(name).expect("a known name");
        let context = PlanContext {
            root: None,
            done: &[].into(),
            defaults,
        };
        let value = with("a", &json!({ "constraints": { "max_tool_ops": 7 } }));
        let plan = WorkPlan::from_value(&value, &context).expect("a good plan");
        let limits = plan.items()[0].constraints;
        assert_eq!((limits.max_files, limits.max_delta_size), (files, delta));
        assert_eq!(limits.max_tool_ops, 7, "{name}: its own is {ops}");
        assert_eq!(defaults.max_tool_ops, ops);
    }
    assert_eq!(Constraints::preset("lax"), None);
    assert_eq!(Constraints::preset("default"), Some(Constraints::default()));
}

#[test]
fn what_is_wrong_with_an_item_is_said_with_its_place() {
    let rows = [
        (
            json!({ "id": 1 }),
            "/0/id: must be a text, not the number 1",
        ),
        (json!({ "id": "" }), "/0/id: must not be empty"),
        (json!({ "id": "../x" }), "/0/id: \"../x\" cannot be an id"),
        (json!({ "id": ".x" }), "/0/id: \".x\" cannot be an id"),
        (json!({ "id": "-x" }), "/0/id: \"-x\" cannot be an id"),
        (json!({ "id": "a b" }), "/0/id: \"a b\" cannot be an id"),
        (
            json!({ "id": "x".repeat(129) }),
            "cannot be an id: 1 to 128",
        ),
        (json!({ "id": null }), "/0: id is missing"),
        (
            json!({ "agent_id": null }),
            "/0 (item x): agent_id is missing",
        ),
        (
            json!({ "agent_id": "agent-10" }),
            "\"agent-10\" is not an agent; use agent-0 to agent-9",
        ),
        (
            json!({ "agent_id": "bob" }),
            "/0/agent_id (item x): \"bob\" is not an agent",
        ),
        (
            json!({ "description": " \n" }),
            "/0/description (item x): must not be empty",
        ),
        (
            json!({ "description": null }),
            "/0 (item x): description is missing",
        ),
        (
            json!({ "dependancies": [] }),
            "no field \"dependancies\"; did you mean dependencies?",
        ),
        (
            json!({ "colour": 1 }),
            "/0/colour (item x): there is no field \"colour\"",
        ),
        (
            json!({ "a/b~c": 1 }),
            "/0/a~1b~0c (item x): there is no field",
        ),
        (
            json!({ "dependencies": "a" }),
            "must be a list of texts, not the text",
        ),
        (
            json!({ "dependencies": [1] }),
            "/0/dependencies/0 (item x): must be a text",
        ),
        (
            json!({ "dependencies": ["x"] }),
            "/0/dependencies (item x): depends on itself",
        ),
        (
            json!({ "dependencies": ["y"] }),
            "depends on \"y\", which is neither in the plan nor done",
        ),
        (
            json!({ "dependencies": ["done-befour"] }),
            "depends on \"done-befour\"",
        ),
        (
            json!({ "constraints": 5 }),
            "/0/constraints (item x): must be an object, not the number",
        ),
        (
            json!({ "constraints": { "max_file": 1 } }),
            "did you mean max_files?",
        ),
        (
            json!({ "constraints": { "max_files": -1 } }),
            "must be a whole number from 0 to",
        ),
        (json!({ "constraints": { "max_files": 1.5 } }), "not 1.5"),
        (
            json!({ "constraints": { "max_files": 1e300 } }),
            "not 1e+300",
        ),
        (
            json!({ "constraints": { "max_tool_ops": u64::MAX } }),
            "to 9007199254740991, not",
        ),
        (
            json!({ "constraints": { "timeout_ms": 0 } }),
            "a whole number from 1 to",
        ),
        (
            json!({ "constraints": { "timeout_ms": "5x" } }),
            "5x is not a duration. Write 90s, 10m or 1h.",
        ),
        (
            json!({ "budget": {} }),
            "/0/budget (item x): time_estimate_ms is missing",
        ),
        (
            json!({ "budget": { "time_estimate_ms": 1, "complexity": "x" } }),
            "low, medium or high",
        ),
        (
            json!({ "output_files": ["../a"] }),
            "/0/output_files/0 (item x): \"../a\" is not a path",
        ),
        (
            json!({ "output_files": ["/etc/passwd"] }),
            "\"/etc/passwd\" is not a path inside",
        ),
        (
            json!({ "output_files": ["/home/user/other"] }),
            "is not a path inside",
        ),
        (
            json!({ "output_files": ["/home/user/repo"] }),
            "is not a path inside",
        ),
        (
            json!({ "input_files": ["a//b"] }),
            "/0/input_files/0 (item x): \"a//b\" is not a path",
        ),
        (json!({ "input_files": [""] }), "is not a path inside"),
        (
            json!({ "test_command": "" }),
            "/0/test_command (item x): must not be empty",
        ),
        (json!({ "test_command": "a\0b" }), "must not hold a NUL"),
        (json!({ "tests_expected": 3 }), "there is no test_command"),
        (json!({ "retries": 11 }), "/0/retries"),
        (json!({ "retries": -1 }), "/0/retries"),
    ];
    for (more, expected) in rows {
        let found = faults(&json!([with("x", &more)]));
        assert!(
            found.iter().any(|it| it.contains(expected)),
            "{more}: {found:?}"
        );
    }
}

#[test]
fn all_that_is_wrong_comes_back_at_once() {
    let plan = json!([
        with(
            "a",
            &json!({ "agent_id": "x", "constraints": { "timeout_ms": 0 } })
        ),
        with("b", &json!({ "dependencies": ["a", "nobody"] })),
        with("b", &json!({})),
        7,
    ]);
    let found = faults(&plan);
    let expected = [
        "/0/agent_id (item a): \"x\" is not an agent; use agent-0 to agent-9",
        "/0/constraints/timeout_ms (item a): must be a whole number from 1 to 9007199254740991, not 0",
        "/3: must be an object, not the number 7",
        "/2/id (item b): the item at /1 has the same id; each needs its own",
        "/1/dependencies (item b): depends on \"nobody\", which is neither in the plan nor done before",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_plan_is_refused_in_few_words() {
    let rows = [
        (json!([]), "the plan: it has no work items"),
        (json!("x"), "not the text \"x\""),
        (json!(null), "not null"),
        (
            json!({ "items": [] }),
            "/items: there is no field \"items\"",
        ),
    ];
    for (value, expected) in rows {
        let found = faults(&value);
        assert!(found[0].contains(expected), "{value}: {found:?}");
    }
}

#[test]
fn a_circle_is_named_and_each_only_once() {
    let needs = |name: &str, needs: &[&str]| with(name, &json!({ "dependencies": needs }));
    let plan = json!([
        needs("leads-in", &["a"]),
        needs("a", &["b"]),
        needs("b", &["c"]),
        needs("c", &["a"]),
        needs("x", &["y"]),
        needs("y", &["x"]),
        needs("free", &[]),
    ]);
    let expected = [
        "/1/dependencies (item a): these depend on each other in a circle: a -> b -> c -> a",
        "/4/dependencies (item x): these depend on each other in a circle: x -> y -> x",
    ];
    assert_eq!(faults(&plan), expected);
}

#[test]
fn items_run_level_by_level_sorted_by_id_however_they_are_written() {
    let needs = |name: &str, needs: &[&str]| with(name, &json!({ "dependencies": needs }));
    let mut items = vec![
        needs("0", &["1", "2", "3", "4", "5"]),
        needs("5", &["2", "2", "done-before"]),
        needs("3", &[]),
        needs("4", &["1", "2", "3"]),
        needs("2", &[]),
        needs("1", &["done-before"]),
    ];
    let expected = [vec!["1", "2", "3"], vec!["4", "5"], vec!["0"]];
    for _ in 0..items.len() {
        items.rotate_left(1);
        let plan = plan(&Value::Array(items.clone()));
        assert_eq!(levels(&plan), expected);
    }
}

#[test]
fn ten_thousand_items_in_one_chain_or_one_circle_are_read() {
    let count = 10_000;
    let chain = |first_needs: &[String]| {
        let item = |at: usize| match at {
            0 => with("i0", &json!({ "dependencies": first_needs })),
            _ => with(
                &format!("i{at}"),
                &json!({ "dependencies": [format!("i{}", at - 1)] }),
            ),
        };
        Value::Array((0..count).map(item).collect())
    };
    assert_eq!(plan(&chain(&[])).levels().len(), count);
    let found = faults(&chain(&[format!("i{}", count - 1)]));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("(9980 more) -> i0"), "{}", found[0]);
    assert!(found[0].len() < 500, "{}", found[0]);
}

#[test]
fn naming_no_output_and_naming_outputs_are_two_things() {
    assert_eq!(item(&json!({})).output_files, None);
    assert_eq!(item(&json!({ "output_files": null })).output_files, None);
    assert_eq!(
        item(&json!({ "output_files": [] })).output_files,
        Some(vec![])
    );
}

/// Any JSON, with the words of plans in it more often than chance would have it.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        "id|agent_id|dependencies|constraints|agent-1|a|b|output_files",
        ".*"
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof![
            "id|agent_id|description|dependencies|constraints|budget",
            ".*"
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_a_plan_or_has_faults(value in any_json()) {
        match read(&value) {
            Ok(plan) => prop_assert!(!plan.items().is_empty()),
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                for fault in faults {
                    prop_assert!(fault.to_string().len() < 1000);
                }
            }
        }
    }

    #[test]
    fn every_item_comes_after_its_dependencies_and_as_early_as_it_can(
        edges in prop::collection::vec((0usize..30, 0usize..30), 0..60)
    ) {
        let needs = |at: usize| -> Vec<String> {
            let needed = edges.iter().filter(|(from, to)| *from == at && to < from);
            needed.map(|(_, to)| format!("i{to}")).collect()
        };
        let items = (0..30).map(|at| with(&format!("i{at}"), &json!({ "dependencies": needs(at) })));
        let plan = plan(&Value::Array(items.collect()));
        let levels = levels(&plan);
        let level_of = |id: &str| levels.iter().position(|level| level.contains(&id));
        for item in plan.items() {
            let needed = item.dependencies.iter().filter_map(|it| level_of(it.as_str()));
            let expected = needed.max().map_or(0, |last| last + 1);
            prop_assert_eq!(level_of(item.id.as_str()), Some(expected));
        }
        for level in &levels {
            prop_assert!(level.is_sorted());
        }
    }
}
