//! Two changes of one text: made one where they do not meet, refused where they do.

use bonded_work_rules::{MERGED_BYTES_MAX, merged_lines};
use proptest::prelude::*;

fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let merged = merged_lines(base.as_bytes(), ours.as_bytes(), theirs.as_bytes());
    merged.map(|it| String::from_utf8(it).expect("texts make a text"))
}

const BASE: &str = "one\ntwo\nthree\nfour\nfive\n";

#[test]
fn changes_of_separate_lines_are_both_made() {
    let rows = [
        (
            "ONE\ntwo\nthree\nfour\nfive\n",
            "one\ntwo\nthree\nfour\nFIVE\n",
            "ONE\ntwo\nthree\nfour\nFIVE\n",
        ),
        (
            "zero\none\ntwo\nthree\nfour\nfive\n",
            "one\ntwo\nthree\nfour\nfive\nsix\n",
            "zero\none\ntwo\nthree\nfour\nfive\nsix\n",
        ),
        (
            "two\nthree\nfour\nfive\n",
            "one\ntwo\nthree\nfour\n",
            "two\nthree\nfour\n",
        ),
        (
            "one\ntwo\nthree\nfour\nfive",
            "ONE\ntwo\nthree\nfour\nfive\n",
            "ONE\ntwo\nthree\nfour\nfive",
        ),
        (
            "one\r\ntwo\nthree\nfour\nfive\n",
            "one\ntwo\nthree\n4\nfive\n",
            "one\r\ntwo\nthree\n4\nfive\n",
        ),
    ];
    for (ours, theirs, expected) in rows {
        assert_eq!(merged(BASE, ours, theirs).as_deref(), Some(expected));
        assert_eq!(merged(BASE, theirs, ours).as_deref(), Some(expected));
    }
}

#[test]
fn a_change_that_both_made_is_made_once() {
    let ours = "ONE\ntwo\nthree\nfour\nfive\nsix\n";
    let theirs = "ONE\ntwo\nthree\n4\nfive\n";
    let expected = "ONE\ntwo\nthree\n4\nfive\nsix\n";
    assert_eq!(merged(BASE, ours, theirs).as_deref(), Some(expected));
}

#[test]
fn changes_that_meet_or_touch_are_refused() {
    let rows = [
        (
            "one\n2\nthree\nfour\nfive\n",
            "one\nTWO\nthree\nfour\nfive\n",
        ),
        (
            "one\n2\nthree\nfour\nfive\n",
            "one\ntwo\nTHREE\nfour\nfive\n",
        ),
        (
            "one\na\ntwo\nthree\nfour\nfive\n",
            "one\nb\ntwo\nthree\nfour\nfive\n",
        ),
        ("one\nfive\n", "one\ntwo\nTHREE\nfour\nfive\n"),
        ("", "one\ntwo\nthree\nfour\nfive\nsix\n"),
    ];
    for (ours, theirs) in rows {
        assert_eq!(merged(BASE, ours, theirs), None, "{ours:?} {theirs:?}");
        assert_eq!(merged(BASE, theirs, ours), None, "{ours:?} {theirs:?}");
    }
}

#[test]
fn what_is_no_text_or_too_large_is_not_merged() {
    assert_eq!(merged("a\n\0\nb\n", "A\n\0\nb\n", "a\n\0\nB\n"), None);
    let large = "x".repeat(usize::try_from(MERGED_BYTES_MAX).expect("it is small") + 1);
    assert_eq!(merged("a\n", &large, "a\n"), None);
}

#[test]
fn lines_that_are_many_and_all_the_same_take_no_time() {
    let many = "x\n".repeat(100_000);
    let ours = format!("{many}y\n").replacen("x\n", "z\n", 50_000);
    let theirs = many.replacen("x\n", "w\n", 60_000);
    assert_eq!(merged(&many, &ours, &theirs), None);
}

/// A text of few words, so that lines are often the same.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab{}]?\n", 0..12).prop_map(|lines| lines.concat())
}

/// Lines with what is done to each of them by the one and by the other.
fn edited() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((0..3_u8, 0..3_u8), 1..30)
}

/// The lines after one did to them what he does.
fn after(edits: impl Iterator<Item = u8>, name: &str) -> String {
    let lines = edits.enumerate().map(|(at, edit)| match edit {
        0 => format!("line {at}\n"),
        1 => format!("line {at}, {name}\n"),
        _ => String::new(),
    });
    lines.collect()
}

proptest! {
    #[test]
    fn who_comes_first_makes_no_difference(base in text(), ours in text(), theirs in text()) {
        prop_assert_eq!(merged(&base, &ours, &theirs), merged(&base, &theirs, &ours));
    }

    #[test]
    fn what_one_alone_changed_is_what_he_made_of_it(base in text(), ours in text()) {
        prop_assert_eq!(merged(&base, &ours, &base), Some(ours.clone()));
        prop_assert_eq!(merged(&base, &ours, &ours), Some(ours));
    }

    /// Each line is changed by one of them at most, and lies apart from those of the other.
    #[test]
    fn changes_apart_are_all_made(edits in edited()) {
        let mut last = None;
        let mut apart = vec![];
        for (ours, theirs) in edits {
            let who = match (ours, theirs) {
                (0, 0) => None,
                (0, _) => Some(false),
                _ => Some(true),
            };
            if last.is_some() && who.is_some() && last != who {
                apart.push((0, 0));
            }
            last = who;
            apart.push(match who {
                Some(true) => (ours, 0),
                Some(false) => (0, theirs),
                None => (0, 0),
            });
        }
        let base = after(apart.iter().map(|_| 0), "");
        let ours = after(apart.iter().map(|it| it.0), "x");
        let theirs = after(apart.iter().map(|it| it.1), "x");
        let both = after(apart.iter().map(|it| it.0.max(it.1)), "x");
        prop_assert_eq!(merged(&base, &ours, &theirs), Some(both));
    }
}
