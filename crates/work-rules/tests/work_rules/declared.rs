//! Paths that an item declares: which they cover, and whether a tree has them.

use bonded_work_rules::{DeclaredPath, missing_inputs, missing_outputs};
use proptest::prelude::*;
use serde_json::json;

use crate::common::{item, path, tree};

fn declared(written: &str) -> DeclaredPath {
    DeclaredPath::new(written, Some("/home/user/repo/")).expect("a path of a test")
}

#[test]
fn a_declared_path_covers_itself_what_lies_below_it_and_what_fits_its_pattern() {
    let rows = [
        (
            "a/b.txt",
            &["a/b.txt", "a/b.txt/c"][..],
            &["a", "a/b", "a/b.txt2", "b.txt"][..],
        ),
        ("a/", &["a", "a/x", "a/x/y"], &["ab", "b/a"]),
        ("./a", &["a"], &["b"]),
        ("/home/user/repo/a", &["a"], &["home/user/repo/a"]),
        ("/docs/x.md", &["docs/x.md"], &["x.md"]),
        (
            "src/*.rs",
            &["src/a.rs", "src/.rs"],
            &["src/a/b.rs", "a.rs", "src/a.rsx"],
        ),
        ("src/**", &["src/a", "src/a/b"], &["srcs/a"]),
        ("**/*.rs", &["a.rs", "x/y/a.rs"], &["a.rc"]),
        ("a/**/z", &["a/z", "a/b/c/z"], &["a/z/y", "z"]),
        ("?.md", &["a.md"], &["ab.md", ".md"]),
        ("**", &["a", "a/b"], &[]),
        ("*a*a*", &["aa", "banana"], &["a", "bab/bab"]),
    ];
    for (pattern, covered, others) in rows {
        let declared = declared(pattern);
        for inside in covered {
            assert!(declared.covers(&path(inside)), "{pattern} covers {inside}");
        }
        for other in others {
            assert!(
                !declared.covers(&path(other)),
                "{pattern} does not cover {other}"
            );
        }
    }
}

#[test]
fn only_a_path_without_stars_and_slash_names_one_file() {
    for (written, is_plain) in [("a/b", true), ("a/", false), ("*.a", false), ("a?", false)] {
        assert_eq!(declared(written).plain().is_some(), is_plain, "{written}");
    }
}

#[test]
fn a_tree_has_what_lies_there_or_fits() {
    let tree = tree(&[("src/deep/a.rs", ""), ("README", "")]);
    let rows = [
        ("README", true),
        ("README/", false),
        ("src", true),
        ("src/", true),
        ("src/deep/a.rs", true),
        ("src/b.rs", false),
        ("**/*.rs", true),
        ("*.rs", false),
        ("*/", true),
        ("R*/", false),
    ];
    for (written, is_there) in rows {
        assert_eq!(declared(written).is_in(&tree), is_there, "{written}");
    }
}

#[test]
fn what_an_item_needs_or_leaves_and_is_not_there_is_named() {
    let tree = tree(&[("src/a.rs", ""), ("README", "")]);
    let rows = [
        (
            json!({ "input_files": ["README", "src/", "**/*.rs"] }),
            None,
            None,
        ),
        (
            json!({ "input_files": ["README", "b", "*.rs"] }),
            Some("Missing input: b, *.rs not there"),
            None,
        ),
        (
            json!({ "output_files": ["README", "docs/", "*.rs"] }),
            None,
            None,
        ),
        (
            json!({ "output_files": ["README", "docs/x.md"] }),
            None,
            Some("Missing output: docs/x.md not there"),
        ),
        (json!({}), None, None),
    ];
    for (declared, inputs, outputs) in rows {
        let item = item(&declared);
        assert_eq!(
            missing_inputs(&item, &tree).as_deref(),
            inputs,
            "{declared}"
        );
        assert_eq!(
            missing_outputs(&item, &tree).as_deref(),
            outputs,
            "{declared}"
        );
    }
}

proptest! {
    #[test]
    fn whatever_is_written_is_a_path_inside_or_refused(written in "[/.a*?~ \\x00é]{0,12}|.*") {
        if let Ok(declared) = DeclaredPath::new(&written, Some("/a")) {
            let text = declared.to_string();
            prop_assert!(!text.starts_with('/'));
            prop_assert!(text.split('/').all(|name| name != ".." && name != "."));
            prop_assert_eq!(DeclaredPath::new(&text, None), Ok(declared));
        }
    }

    /// The pattern is the slowest kind; a matcher that tried every split would not come to an end.
    #[test]
    fn a_pattern_of_many_stars_is_decided_soon(stars in 1usize..60, length in 1usize..200) {
        let pattern = format!("{}b", "*a".repeat(stars));
        let name = "a".repeat(length);
        prop_assert!(!declared(&pattern).covers(&path(&name)));
        let pattern = format!("{}b", "**/a/".repeat(stars));
        let deep = vec!["a"; length].join("/");
        prop_assert!(!declared(&pattern).covers(&path(&deep)));
    }
}
