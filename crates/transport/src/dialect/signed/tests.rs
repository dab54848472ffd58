use serde_json::{Value, json};

use super::*;

fn call(id: &str, tool: &str) -> MessageCall {
    MessageCall {
        id: id.into(),
        tool: tool.into(),
        arguments: "{}".into(),
    }
}

/// What goes back, in short.
fn shown(items: &Value, text: &str, calls: &[MessageCall]) -> Vec<String> {
    let signed = json!({"dialect": "d", "items": items}).to_string().into();
    let items = super::items("d", &Target::new("p", "", ""), Some(&signed));
    let blocks = layout(&items, text, calls);
    let shown = blocks.iter().map(|block| match block {
        Block::Raw(item) => item.get().into(),
        Block::Text { text, mark } => format!("{text}{}", mark_of(*mark)),
        Block::Call { call, mark } => format!("{}(){}", call.id, mark_of(*mark)),
    });
    shown.collect()
}

fn mark_of(mark: Option<&RawValue>) -> String {
    let mark: Value = mark.map_or(Value::Null, |mark| {
        serde_json::from_str(mark.get()).expect("JSON")
    });
    mark["with"].as_str().unwrap_or_default().into()
}

/// The items as a dialect that was given these blocks keeps them: `r` is raw, a number is a text, all else a call.
fn kept(blocks: &[&str]) -> Value {
    let mut kept = Kept::default();
    for block in blocks {
        match (*block, block.parse()) {
            ("r", _) => kept.raw(&"r"),
            (_, Ok(bytes)) => kept.text(bytes, None::<()>),
            (id, _) => kept.call(id, "t", None::<()>),
        }
    }
    let signed = kept.finish("d");
    let signed = signed.map(|it| serde_json::from_str::<Value>(&it).expect("JSON"));
    signed.map_or(Value::Null, |mut it| it["items"].take())
}

#[test]
fn only_an_order_that_is_not_the_usual_needs_placeholders() {
    let text = |n: u32| json!({"text_bytes": n});
    let call = |id: &str| json!({"call": id});
    let cases = [
        (&[] as &[&str], json!(null)),
        (&["3", "a", "b"], json!(null)),
        (&["r", "r", "3", "a"], json!(["r", "r"])),
        (&["r"], json!(["r"])),
        (&["r", "3", "r", "a"], json!(["r", text(3), "r", call("a")])),
        (&["a", "3"], json!([call("a"), text(3)])),
        (&["3", "2"], json!([text(3), text(2)])),
        (&["a", "r"], json!([call("a"), "r"])),
    ];
    for (blocks, items) in cases {
        assert_eq!(kept(blocks), items, "{blocks:?}");
    }
}

#[test]
fn a_mark_and_a_tool_without_an_id_are_kept_with_the_placeholder() {
    let mut kept = Kept::default();
    kept.text(0, Some(json!({"with": "s"})));
    kept.call("", "read", None::<()>);
    let expected =
        r#"{"dialect":"d","items":[{"text_bytes":0,"with":"s"},{"call":"","name":"read"}]}"#;
    assert_eq!(kept.finish("d").as_deref(), Some(expected));
}

#[test]
fn blocks_come_back_in_their_order() {
    let calls = [call("a", "t"), call("b", "t")];
    let cases = [
        (json!([]), vec!["xyz", "a()", "b()"]),
        (json!([1, 2]), vec!["1", "2", "xyz", "a()", "b()"]),
        (
            json!([1, {"text_bytes": 2, "with": "S"}, {"call": "b", "with": "T"}, 2, {"text_bytes": 1}, {"call": "a"}]),
            vec!["1", "xyS", "b()T", "2", "z", "a()"],
        ),
        // The text was changed.
        (
            json!([1, {"text_bytes": 1}, 2, {"text_bytes": 1}, {"call": "a"}, {"call": "b"}]),
            vec!["1", "xyz", "2", "", "a()", "b()"],
        ),
        (json!([{"call": "b"}, 1]), vec!["xyz", "b()", "1", "a()"]),
        // A call was dropped.
        (
            json!([{"text_bytes": 3}, {"call": "gone"}, {"call": "b"}, {"call": "a"}]),
            vec!["xyz", "b()", "a()"],
        ),
        // No provider wrote these.
        (
            json!([{"text_bytes": -1}, {"call": 7}, {"text_bytes": 18446744073709551615_u64}, 1]),
            vec!["xyz", "", "1", "a()", "b()"],
        ),
    ];
    for (items, expected) in cases {
        assert_eq!(shown(&items, "xyz", &calls), expected, "{items}");
    }
    let cut = json!([{"text_bytes": 1}, {"text_bytes": 1}]);
    assert_eq!(
        shown(&cut, "é", &[]),
        ["é", ""],
        "in the middle of a letter"
    );
}

#[test]
fn a_call_that_the_run_named_is_found_by_its_place_or_by_its_tool() {
    let holder = |tool: &str, sig: &str| json!({"call": "", "name": tool, "with": sig});
    let items = json!([holder("Read", "A"), {"call": "x", "with": "X"}, holder("list", "B")]);
    let all = [call("n0", "read"), call("x", "t"), call("n2", "list")];
    assert_eq!(shown(&items, "", &all), ["n0()A", "x()X", "n2()B"]);
    assert_eq!(shown(&items, "", &all[1..]), ["x()X", "n2()B"]);
    let twice = json!([{"call": "x", "with": "1"}, {"call": "x", "with": "2"}]);
    assert_eq!(shown(&twice, "", &all[..2]), ["x()1", "n0()2"]);
}

#[test]
fn what_another_provider_or_model_or_dialect_wrote_means_nothing() {
    let target = Target::new("a\"b", "", "m");
    let mut signed = r#"{"dialect":"d","items":[1]}"#.to_owned();
    let count = |dialect: &str, signed: &str| {
        let signed = signed.into();
        items(dialect, &target, Some(&signed)).len()
    };
    assert_eq!((count("d", &signed), count("e", &signed)), (1, 0));
    for (provider, model) in [("other", "m"), ("a\"b", "other")] {
        let mut foreign = signed.clone();
        stamp(&mut foreign, provider, model);
        assert_eq!(count("d", &foreign), 0, "{foreign}");
    }
    stamp(&mut signed, "a\"b", "m");
    assert_eq!(count("d", &signed), 1, "{signed}");
    assert_eq!(count("d", "no JSON"), 0);
}
