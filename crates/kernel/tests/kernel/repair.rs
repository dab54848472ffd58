//! Arguments that are almost JSON: what is plain is read, what is not is refused, and each change is named.

use bonded_kernel::{REPAIR_BYTES_MAX, RepairFault, RepairStep, parse_arguments};
use proptest::prelude::*;
use serde_json::{Value, json};

fn steps(text: &str) -> Vec<&'static str> {
    let parsed = parse_arguments(text).expect("a text that can be read");
    parsed.steps.iter().map(|step| step.as_str()).collect()
}

fn value(text: &str) -> Value {
    match parse_arguments(text) {
        Ok(parsed) => parsed.value,
        Err(fault) => json!(fault.to_string()),
    }
}

#[test]
fn a_text_that_is_an_object_is_taken_as_it_stands() {
    for text in [
        "{}",
        " {\"a\": [1, \"it's\", {\"b\": null}]}\n",
        r#"{"a":"\\x41 ..."}"#,
    ] {
        assert_eq!(steps(text), [""; 0], "{text}");
        assert_eq!(
            value(text),
            serde_json::from_str::<Value>(text).expect("JSON")
        );
    }
}

#[test]
fn a_small_slip_is_repaired_and_named() {
    let cases = [
        (
            "```json\n{\"a\": 1}\n```",
            json!({"a": 1}),
            vec!["code_fence"],
        ),
        ("```\n{\"a\": 1}", json!({"a": 1}), vec!["code_fence"]),
        ("{\"a\": 1}...", json!({"a": 1}), vec!["ellipsis"]),
        ("{\"a\": 1} …", json!({"a": 1}), vec!["ellipsis"]),
        (
            r#"{"a": "\x41\x7a"}"#,
            json!({"a": "Az"}),
            vec!["hex_escape"],
        ),
        (
            "Sure: {\"a\": 1} is it.",
            json!({"a": 1}),
            vec!["first_object"],
        ),
        (
            "{\"a\": 1}{\"b\": 2}",
            json!({"a": 1}),
            vec!["first_object"],
        ),
        (r#""{\"a\": 1}""#, json!({"a": 1}), vec!["nested_text"]),
        (
            r#""{\"a\": \"\\x41\"}""#,
            json!({"a": "A"}),
            vec!["nested_text", "hex_escape"],
        ),
        ("{'a': 'it's'}", json!({"a": "it's"}), vec!["quotes"]),
        ("{“a”: “b”}", json!({"a": "b"}), vec!["quotes"]),
        (
            "{\"a\": \"say \"hi\" now\"}",
            json!({"a": "say \"hi\" now"}),
            vec!["escaped_quote"],
        ),
        (
            r#"{"a": "C:\Users\q"}"#,
            json!({"a": "C:\\Users\\q"}),
            vec!["backslash"],
        ),
        (
            "{\"a\": \"x\ny\tz\"}",
            json!({"a": "x\ny\tz"}),
            vec!["control_character"],
        ),
        (
            "{a: fast, b-c: 2024-01-01}",
            json!({"a": "fast", "b-c": "2024-01-01"}),
            vec!["bare_word"],
        ),
        (
            "{\"a\": True, \"b\": None, \"c\": +1, \"d\": .5}",
            json!({"a": true, "b": null, "c": 1, "d": 0.5}),
            vec!["literal"],
        ),
        (
            "{\"a\": [1, 2,], \"b\": 3,}",
            json!({"a": [1, 2], "b": 3}),
            vec!["commas"],
        ),
        (
            "{\"a\": \"b\"\n\"c\": [1 2]}",
            json!({"a": "b", "c": [1, 2]}),
            vec!["commas"],
        ),
        (
            "{\"a\": 1, // one\n/* two */ \"b\": 2 # three\n}",
            json!({"a": 1, "b": 2}),
            vec!["comments"],
        ),
        (
            "{\"a\": [1, {\"b\": \"c\"",
            json!({"a": [1, {"b": "c"}]}),
            vec!["closed_brackets"],
        ),
        (
            "{\"a\": [1, 2}",
            json!({"a": [1, 2]}),
            vec!["closed_brackets"],
        ),
        ("{\"a\": 1}}]", json!({"a": 1}), vec!["extra_brackets"]),
    ];
    for (text, wanted, named) in cases {
        assert_eq!(value(text), wanted, "{text}");
        assert_eq!(steps(text), named, "{text}");
    }
}

#[test]
fn a_value_that_ends_with_the_text_is_marked_as_cut() {
    for (text, wanted) in [
        ("{\"path\": \"a", json!({"path": "a"})),
        ("{\"path\": \"a, b", json!({"path": "a, b"})),
        ("{\"path\": \"a\\", json!({"path": "a"})),
        ("{\"path\": \"a\\u00", json!({"path": "a\\u00"})),
        ("{\"n\": 12", json!({"n": 12})),
        ("{\"n\": 1,", json!({"n": 1})),
    ] {
        let parsed = parse_arguments(text).expect("readable");
        assert!(parsed.is_cut(), "{text}");
        assert_eq!(parsed.value, wanted, "{text}");
        assert!(parsed.steps.contains(&RepairStep::ClosedText));
    }
    let whole = parse_arguments("{\"path\": \"a\"").expect("readable");
    assert!(!whole.is_cut(), "only a bracket was missing");
}

#[test]
fn what_is_not_plain_is_refused() {
    for text in [
        "",
        "   ",
        "not-an-object",
        "{",
        "{\"a\": [",
        "{\"a\"",
        "{\"a\":",
        "{\"a\": \"b\", \"t",
        "{\"n\": tru",
        "{\"a\": two words}",
        "{\"a\": \"say \"hi\", then go\"}",
        "{\"a\": \"b\"\n c: 1, \"d\": \"e\"}",
        "{\"a\": \"b, \"c\": \"d\"}",
        "{\"a\": \"b \"c\": 1}",
        "{\"a\": , \"b\": 1}",
        "{\"a\" \"b\"}",
        "{\"a\": NaN}",
        "{\"a\": \"\\ud800\"}",
        "Use {curly} braces",
    ] {
        let fault = parse_arguments(text).expect_err(text);
        assert!(
            matches!(fault, RepairFault::Unreadable { .. }),
            "{text}: {fault}"
        );
    }
}

#[test]
fn only_an_object_can_be_arguments() {
    for (text, found) in [
        ("[{\"a\": 1}]", "an array"),
        ("\"not-an-object\"", "a string"),
        ("\"\\\"{}\\\"\"", "a string"),
        ("12", "a number"),
        ("null", "null"),
        ("true", "a boolean"),
    ] {
        assert_eq!(
            parse_arguments(text),
            Err(RepairFault::NotAnObject { found }),
            "{text}"
        );
    }
}

#[test]
fn a_text_that_is_too_large_is_refused_unread() {
    let bytes = REPAIR_BYTES_MAX + 1;
    let fault = parse_arguments(&" ".repeat(bytes));
    assert_eq!(fault, Err(RepairFault::TooLarge { bytes }));
}

/// Texts that make a parser with backtracking or recursion slow, or end it.
#[test]
fn a_megabyte_of_hostile_text_is_read_in_linear_time_and_without_recursion() {
    let units = [
        "[",
        "{",
        "{\"a\":",
        "[\"a\",",
        "\"",
        "'",
        "\"a,",
        "\\\"a,",
        "\"a q",
        "\"x\" ",
        "{a:",
        "/*",
        "//",
        "#",
        "```",
        "...",
        "\\",
        "\"+\"",
        "cb(",
        "“",
        ",",
        "}",
        "]",
        "[,",
        "\" ",
        "{\"a\": \"b",
        "[1 ",
        " ",
    ];
    for unit in units {
        for (before, after) in [
            ("", ""),
            ("[", "]"),
            ("{\"k\": ", "}"),
            ("{\"k\": [\"", "\"]}"),
        ] {
            let text = format!("{before}{}{after}", unit.repeat(1_000_000 / unit.len()));
            // A quadratic one would take hours: that this test ends is what it proves.
            let _ = parse_arguments(&text);
        }
    }
}

fn noise() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "'",
        "“",
        "\\",
        "\\u12",
        "\\x4",
        "a",
        "true",
        "-1",
        ".",
        "\n",
        " ",
        "//",
        "/*",
        "*/",
        "#",
        "```",
        "```json\n",
        "...",
        "é",
        "\u{1}",
    ]);
    prop::collection::vec(parts, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_gives_an_object_or_a_fault(text in noise()) {
        if let Ok(parsed) = parse_arguments(&text) {
            prop_assert!(parsed.value.is_object());
        }
    }

    #[test]
    fn a_cut_never_changes_a_string_that_was_whole(text in "[a-z\"\\\\\n{},:]{0,20}", keep in 0..100_usize) {
        let whole = json!({"first": text, "second": text}).to_string();
        let cut = whole.floor_char_boundary(whole.len() * keep / 100);
        if let Ok(parsed) = parse_arguments(&whole[..cut])
            && !parsed.is_cut()
            && let Some(first) = parsed.value.get("first")
        {
            prop_assert_eq!(first, &json!(text));
        }
    }

    #[test]
    fn json_is_never_changed(text in "\\PC{0,30}", number in any::<i64>()) {
        let given = json!({"text": text, "list": [number, null, {"deep": text}]});
        let parsed = parse_arguments(&given.to_string()).expect("JSON");
        prop_assert_eq!(parsed.value, given);
        prop_assert!(parsed.steps.is_empty());
    }
}
