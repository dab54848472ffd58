//! What is read out of notes and what is done to their texts.

use bonded_kernel::{Millis, NoteId};
use bonded_workspace_rules::{
    BadPatch, LINKS_MAX, PatchOp, SNIPPET_CHARS_MAX, headings_and_body, index_text, links, patched,
    search_terms, snippet, title_from_clock,
};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn an_id_is_a_uuid_in_any_case_and_is_written_in_lower_case() {
    let written = "6F1C2F0E-3f5b-4C1E-9d4a-0b8f5a2c7e11";
    let id: NoteId = written.parse().expect("it is a UUID");
    assert_eq!(id.to_string(), written.to_lowercase());
    assert_eq!(json!(id), json!(written.to_lowercase()));
    let bad = [
        "",
        "6f1c2f0e3f5b4c1e9d4a0b8f5a2c7e11",
        "{6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e1}",
        "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e1g",
        "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e1\u{e9}",
        "6f1c2f0e_3f5b_4c1e_9d4a_0b8f5a2c7e11",
        " 6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e1",
    ];
    for text in bad {
        text.parse::<NoteId>().expect_err(text);
    }
}

#[test]
fn the_clock_as_a_title_is_in_utc() {
    let table = [
        (0, "1970-01-01 00:00:00"),
        (951_782_399_999, "2000-02-28 23:59:59"),
        (951_782_400_000, "2000-02-29 00:00:00"),
        (1_709_251_199_000, "2024-02-29 23:59:59"),
        (1_709_251_200_000, "2024-03-01 00:00:00"),
        (4_107_542_400_000, "2100-03-01 00:00:00"),
        (253_402_300_799_000, "9999-12-31 23:59:59"),
    ];
    for (at, title) in table {
        assert_eq!(title_from_clock(Millis(at)), title);
    }
    // A clock that is out of this world makes a strange title, and nothing worse.
    assert!(!title_from_clock(Millis(u64::MAX)).is_empty());
}

#[test]
fn links_are_read_outside_code_only() {
    let table: [(&str, &[&str]); 12] = [
        ("[[a]] and [[b|shown]]", &["a", "b"]),
        ("[[ a ]] [[a]]", &["a"]),
        ("`[[a]]` [[b]]", &["b"]),
        ("``[[a]] ` `` [[b]]", &["b"]),
        ("` [[a]]", &["a"]),
        ("```\n[[a]]\n```\n[[b]]", &["b"]),
        ("~~~~\n[[a]]\n~~~\n[[b]]\n~~~~\n[[c]]", &["c"]),
        ("```rust\n[[a]]", &[]),
        ("```x``` [[a]]", &["a"]),
        ("    ```\n[[a]]", &["a"]),
        ("[[]] [[|x]] [[a\nb]]", &[]),
        ("[[[[a]]]] [[b", &["a"]),
    ];
    for (text, expected) in table {
        assert_eq!(links(text), expected, "{text:?}");
    }
    let many: String = (0..LINKS_MAX * 2).map(|n| format!("[[{n}]]")).collect();
    assert_eq!(links(&many).len(), LINKS_MAX);
}

#[test]
fn headings_are_lines_that_begin_with_marks() {
    let text = "# One\ntext\n## Two ##\n#no\n####### seven\n```\n# code\n```\n`x`# span\n### Three";
    let (headings, body) = headings_and_body(text);
    assert_eq!(headings, "One\nTwo\nThree\n");
    assert_eq!(
        body,
        "text\n#no\n####### seven\n```\n# code\n```\n`x`# span\n"
    );
}

#[test]
fn a_snippet_shows_what_was_found_and_marks_it() {
    let long = format!(
        "{} the Grey Heron stands {}",
        "a ".repeat(200),
        "b ".repeat(200)
    );
    let shown = snippet(&long, "heron grey");
    assert!(
        shown.contains("the <mark>Grey</mark> <mark>Heron</mark> stands"),
        "{shown}"
    );
    assert!(shown.starts_with("a a") && shown.ends_with("b"), "{shown}");
    assert_eq!(
        snippet("1 < 2 & <b>x</b>", "2"),
        "1 &lt; <mark>2</mark> &amp; &lt;b&gt;x&lt;/b&gt;"
    );
    assert_eq!(snippet("nothing of it", "heron"), "nothing of it");
    assert_eq!(snippet("", "heron"), "");
}

#[test]
fn a_patch_counts_characters_and_keeps_what_it_does_not_reach() {
    use PatchOp::{Delete, Insert, Retain};
    let insert = |text: &str| Insert(text.into());
    let table = [
        (vec![], Some("añb😀")),
        (vec![Retain(2), Delete(1), insert("X")], Some("añX😀")),
        (vec![Delete(4)], Some("")),
        (vec![insert("<"), Retain(4), insert(">")], Some("<añb😀>")),
        (vec![Retain(5)], None),
        (vec![Retain(3), Delete(2)], None),
        (vec![Delete(u64::MAX)], None),
        (vec![Retain(u64::MAX), Retain(u64::MAX)], None),
    ];
    for (ops, expected) in table {
        let result = patched("añb😀", &ops, 1000);
        assert_eq!(result.ok().as_deref(), expected, "{ops:?}");
    }
    let wire = json!([{ "retain": 1 }, { "insert": "x" }, { "delete": 2 }]);
    let ops: Vec<PatchOp> = serde_json::from_value(wire).expect("it is the wire's form");
    assert_eq!(ops, [Retain(1), insert("x"), Delete(2)]);
    for bad in [
        json!({ "retain": -1 }),
        json!({ "keep": 1 }),
        json!({}),
        json!({ "insert": 1 }),
    ] {
        serde_json::from_value::<PatchOp>(bad.clone()).expect_err(&bad.to_string());
    }
    let too_long = patched("abc", &[insert(&"x".repeat(10))], 12);
    assert_eq!(too_long, Err(BadPatch::TooLong { bytes_max: 12 }));
}

fn ops() -> impl Strategy<Value = Vec<PatchOp>> {
    let op = prop_oneof![
        (0u64..12).prop_map(PatchOp::Retain),
        (0u64..12).prop_map(PatchOp::Delete),
        any::<String>().prop_map(PatchOp::Insert),
    ];
    prop::collection::vec(op, 0..8)
}

/// The same over a list of characters, slowly and plainly.
fn patched_plainly(base: &str, ops: &[PatchOp]) -> Option<String> {
    let mut rest: Vec<char> = base.chars().collect();
    let mut text = Vec::new();
    for op in ops {
        match op {
            PatchOp::Insert(inserted) => text.extend(inserted.chars()),
            PatchOp::Retain(n) if *n as usize <= rest.len() => {
                text.extend(rest.drain(..*n as usize));
            }
            PatchOp::Delete(n) if *n as usize <= rest.len() => {
                rest.drain(..*n as usize);
            }
            _ => return None,
        }
    }
    text.extend(rest);
    Some(text.into_iter().collect())
}

/// Marks of Markdown, blanks, and letters of several lengths.
fn markdown() -> impl Strategy<Value = String> {
    prop_oneof!["[#`~\\[\\]| \n<>&aBéß日😀]{0,200}", any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_patch_does_what_it_says(base in any::<String>(), ops in ops()) {
        let result = patched(&base, &ops, usize::MAX);
        prop_assert_eq!(result.ok(), patched_plainly(&base, &ops));
    }

    #[test]
    fn whatever_a_text_is_reading_it_is_bounded(text in markdown(), query in markdown()) {
        let shown = snippet(&text, &query);
        prop_assert!(shown.chars().count() <= SNIPPET_CHARS_MAX);
        let without_marks = shown.replace("<mark>", "").replace("</mark>", "");
        prop_assert!(!without_marks.contains(['<', '>']));
        let (headings, body) = headings_and_body(&text);
        prop_assert!(headings.len() + body.len() <= text.len() + text.lines().count());
        prop_assert!(links(&text).iter().all(|link| text.contains(link.as_str())));
        prop_assert!(index_text(&text).len() <= text.len() * 3);
        prop_assert!(search_terms(&query).len() <= 32);
    }
}

#[test]
fn hostile_texts_of_the_full_size_are_read_in_linear_time() {
    let size = 4 << 20;
    let runs: String = (1..2800).map(|n| "`".repeat(n) + "a").collect();
    for text in [
        "`".repeat(size),
        "[[".repeat(size / 2),
        "[[a".repeat(size / 3),
        "#".repeat(size),
        runs,
    ] {
        links(&text);
        headings_and_body(&text);
        snippet(&text, &"a ".repeat(200));
    }
}
