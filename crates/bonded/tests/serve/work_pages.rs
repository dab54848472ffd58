//! Plans of work items in the pages: how far each item came, what it changed, and its receipt.

use bonded_testkit::place::{Place, call};
use serde_json::{Value, json};

use crate::pages::{Browser, Pages};
use crate::served::report;

const LONG: usize = 20_000;

/// A plan of three items: one is published, one fails its tests, and one depends on that.
fn worked() -> (Place, String) {
    let place = Place::new();
    place.write("work/kept.txt", "kept\n");
    let long = "x".repeat(LONG);
    let write =
        |path: &str, content: &str| call("write", json!({ "path": path, "content": content }));
    let tools = "tools: builtin";
    place.agent("one", &[write("kept.txt", &long), report("ok")], tools);
    place.agent("two", &[write("bad.txt", "bad\n"), report("ok")], tools);
    let item = |id: &str, agent: u8, more: Value| {
        let mut item = json!({
            "id": id, "agent_id": format!("agent-{agent}"), "description": format!("the work of {id}"),
        });
        let fields = item.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        item
    };
    let plan = json!([
        item("good", 1, json!({ "test_command": "echo tested" })),
        item("bad", 2, json!({ "test_command": "echo no; exit 1" })),
        item("after", 1, json!({ "dependencies": ["bad"] })),
    ]);
    let file = place.write("plan.json", plan.to_string());
    let agents = [("1", "one"), ("2", "two")];
    let agents = agents.map(|(number, name)| {
        let path = place.path(&format!("{name}.ai"));
        format!("--agent=agent-{number}={}", path.display())
    });
    let plan = file.display().to_string();
    let words = [
        "work",
        &plan,
        &agents[0],
        &agents[1],
        "--plan-id",
        "abcdef012345",
        "--limits-of",
        "strict",
    ];
    let worked = place.bonded(&words);
    assert_eq!(worked.code, Some(1), "{worked:?}");
    (place, "abcdef012345".to_owned())
}

fn found<'v>(items: &'v Value, id: &str) -> &'v Value {
    let mut items = items.as_array().expect("a list").iter();
    items.find(|item| item["id"] == id).expect("it is there")
}

#[test]
fn a_plan_is_shown_with_its_items_and_what_each_used() {
    let (place, plan) = worked();
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
    let list = browser.get("/api/plans");
    let row = &list["plans"][0];
    assert_eq!(
        (&row["id"], &row["items"]),
        (&json!(plan), &json!(3)),
        "{list}"
    );
    assert_eq!(
        row["states"],
        json!({ "success": 1, "failure": 1, "blocked": 1 })
    );
    assert_eq!(
        (&row["ended"], &list["more"]),
        (&json!(true), &json!(false))
    );
    let tree = place.work().canonicalize().expect("it is there");
    assert_eq!(row["tree"], json!(tree));
    let shown = browser.get(&format!("/api/plans/{plan}"));
    assert_eq!(shown["levels"], json!([["bad", "good"], ["after"]]));
    let good = found(&shown["items"], "good");
    assert_eq!(
        (&good["state"], &good["published"]),
        (&json!("success"), &json!(true))
    );
    assert_eq!(
        good["limits"]["files"],
        json!({ "max": 5, "used": 1 }),
        "{good}"
    );
    assert_eq!(good["runIds"], json!([format!("{plan}.good")]));
    let after = found(&shown["items"], "after");
    assert_eq!(
        (&after["state"], &after["level"]),
        (&json!("blocked"), &json!(1))
    );
    assert_eq!(after["dependencies"], json!(["bad"]));
    assert!(
        after["why"].as_str().is_some_and(|why| why.contains("bad")),
        "{after}"
    );
    let run = browser.get(&format!("/api/runs/{plan}.good"));
    assert_eq!((&run["plan"], &run["item"]), (&json!(plan), &json!("good")));
    for path in [
        "/api/plans/abcdef012346",
        "/api/plans/..",
        &format!("/api/plans/{plan}/items/none"),
    ] {
        assert_eq!(
            browser.ask(&format!("GET {path}"), None).status,
            404,
            "{path}"
        );
    }
}

#[test]
fn an_item_is_shown_with_its_changes_its_tests_and_its_receipt_as_the_file_has_it() {
    let (place, plan) = worked();
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
    let item = |id: &str| browser.get(&format!("/api/plans/{plan}/items/{id}"));
    let states = |item: &Value| -> Vec<String> {
        let stages = item["stages"].as_array().expect("a list").iter();
        stages
            .map(|it| it["state"].as_str().expect("a word").to_owned())
            .collect()
    };
    let good = item("good");
    assert_eq!(states(&good), ["done"; 5], "{good}");
    let change = &good["changes"][0];
    assert_eq!(
        (&change["path"], &change["kind"]),
        (&json!("kept.txt"), &json!("modified"))
    );
    assert_eq!(
        (&change["before"], &change["binary"]),
        (&json!("kept\n"), &json!(false))
    );
    let cut = &change["after"]["cut"];
    assert_eq!(
        (&cut["bytes"], &cut["at"]),
        (&json!(LONG), &json!("/changes/0/after"))
    );
    let text = browser.get(&format!(
        "/api/plans/{plan}/items/good/text?at=/changes/0/after"
    ));
    assert_eq!(text["text"].as_str().map(str::len), Some(LONG), "{text}");
    assert_eq!(good["tests"]["output"], "tested\n", "{good}");
    let path = good["receiptPath"].as_str().expect("a path");
    let file = std::fs::read_to_string(path).expect("it can be read");
    assert_eq!(good["receipt"], json!(file), "byte for byte");
    let bad = item("bad");
    assert_eq!(
        states(&bad),
        ["done", "done", "failed", "none", "done"],
        "{bad}"
    );
    assert_eq!(
        (&bad["published"], &bad["tests"]["exitCode"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(
        bad["changes"][0]["after"], "bad\n",
        "what it left in its copy: {bad}"
    );
    let blocked = item("after");
    assert_eq!(blocked["changes"], json!([]), "{blocked}");
    let missing = format!("GET /api/plans/{plan}/items/good/text?at=/changes/7/after");
    assert_eq!(browser.ask(&missing, None).status, 404);
}
