//! Admission: the reasons, in their words, and the very bounds.

use bonded_kernel::Hash;
use bonded_work_rules::{
    Capsule, Change, Constraints, Denial, Footprint, Node, Special, Tree, TreePath, admit,
    check_so_far, within,
};
use serde_json::{Value, json};

use crate::capsule::capsule;
use crate::common::{directory, file, item, path, tree, tree_of};

fn limited(constraints: &Value) -> bonded_work_rules::WorkItem {
    item(&json!({ "constraints": constraints }))
}

fn changes(before: &Tree, after: &Tree) -> Vec<Change> {
    before.changes_to(after)
}

/// As many new files as that.
fn files(count: usize) -> Vec<Change> {
    let names: Vec<String> = (0..count).map(|at| format!("f{at}")).collect();
    let nodes: Vec<(TreePath, Node)> = names.iter().map(|it| (path(it), file(it))).collect();
    changes(&tree(&[]), &tree_of(&nodes))
}

fn reason(checked: Result<(), Denial>) -> Option<String> {
    checked.err().map(|denial| denial.to_string())
}

#[test]
fn a_limit_is_passed_with_the_first_thing_too_many_and_the_reason_has_both_figures() {
    let rows = [
        (json!({ "max_files": 1 }), 1, 0, None),
        (
            json!({ "max_files": 1 }),
            2,
            0,
            Some("Exceeded max files: 2 > 1"),
        ),
        (
            json!({ "max_files": 0 }),
            1,
            0,
            Some("Exceeded max files: 1 > 0"),
        ),
        (json!({ "max_tool_ops": 3 }), 0, 3, None),
        (
            json!({ "max_tool_ops": 3 }),
            0,
            4,
            Some("Exceeded max tool ops: 4 > 3"),
        ),
        (json!({ "max_delta_size": 4 }), 4, 0, None),
        (
            json!({ "max_delta_size": 4 }),
            5,
            0,
            Some("Exceeded max delta size: 5 > 4"),
        ),
        (json!({}), 10, 50, None),
        (json!({}), 11, 50, Some("Exceeded max files: 11 > 10")),
        (json!({}), 10, 51, Some("Exceeded max tool ops: 51 > 50")),
        (
            json!({ "max_files": 200 }),
            101,
            0,
            Some("Exceeded max delta size: 101 > 100"),
        ),
    ];
    for (constraints, count, tool_ops, expected) in rows {
        let checked = check_so_far(&limited(&constraints), &files(count), tool_ops);
        assert_eq!(reason(checked).as_deref(), expected, "{constraints}");
    }
}

#[test]
fn files_are_counted_once_and_directories_only_where_they_stand_alone() {
    let deep = tree(&[("a/b/c.txt", "x")]);
    let mode = |mode| tree_of(&[(path("a"), directory(mode)), (path("a/f"), file("x"))]);
    let rows = [
        (
            "a file with its new directories",
            changes(&tree(&[]), &deep),
            1,
            1,
        ),
        ("the same removed", changes(&deep, &tree(&[])), 1, 1),
        (
            "an empty directory",
            changes(&tree(&[]), &tree_of(&[(path("e"), directory(0o755))])),
            0,
            1,
        ),
        (
            "empty directories in each other",
            changes(&tree(&[]), &tree_of(&[(path("e/f/g"), directory(0o755))])),
            0,
            1,
        ),
        (
            "a directory's mode",
            changes(&mode(0o755), &mode(0o700)),
            0,
            1,
        ),
        (
            "a directory becomes a file",
            changes(&deep, &tree(&[("a", "x")])),
            2,
            2,
        ),
        ("nothing", changes(&deep, &deep), 0, 0),
        (
            "a name that another begins with",
            changes(
                &tree(&[]),
                &tree_of(&[(path("e"), directory(0o755)), (path("ex"), file("x"))]),
            ),
            1,
            2,
        ),
    ];
    for (what, changes, files_touched, delta_size) in rows {
        let found = Footprint::new(&changes, 7);
        let expected = Footprint {
            files_touched,
            delta_size,
            tool_ops: 7,
        };
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn what_no_item_may_do_is_denied_and_the_invariant_named() {
    let fifo = Node::Special {
        special: Special::Fifo,
    };
    let made = |at: &[u8], after: Node| Change {
        path: TreePath::new(at).expect("a path of a test"),
        before: None,
        after: Some(after),
    };
    let rows = [
        (
            made(b".git/config", file("x")),
            "Invariant git_untouched violated: .git/config",
        ),
        (
            made(b"sub/.git/HEAD", file("x")),
            "Invariant git_untouched violated: sub/.git/HEAD",
        ),
        (
            made(b"sub/.git", file("x")),
            "Invariant git_untouched violated: sub/.git ",
        ),
        (
            made(b"sub/inert-GIT.12/config", file("x")),
            "Invariant nothing_inert violated: sub/inert-GIT.12/config",
        ),
        (
            made(b"inert-helper.ai.1", file("x")),
            "Invariant nothing_inert violated: inert-helper.ai.1",
        ),
        (
            made(b"pipe", fifo),
            "Invariant no_special_file violated: pipe",
        ),
        (
            made(b"odd\xff", file("x")),
            "Invariant paths_are_text violated: odd\\xff",
        ),
    ];
    for (change, expected) in rows {
        // Neither limits nor declarations are asked first, and none of them allows it.
        let item = item(&json!({ "output_files": ["**"], "constraints": { "max_files": 0 } }));
        let reason = reason(check_so_far(&item, &[change], 0)).expect("it is denied");
        assert!(reason.starts_with(expected), "{reason}");
    }
    for name in [&b"inert-gas.1"[..], b"inert-git", b"inert-git.x", b"inert"] {
        let change = made(name, file("x"));
        assert_eq!(reason(check_so_far(&item(&json!({})), &[change], 0)), None);
    }
    let with_mode = |mode| match file("x") {
        Node::File { bytes, content, .. } => Node::File {
            mode,
            bytes,
            content,
        },
        node => node,
    };
    for (mode, is_denied) in [
        (0o4755, true),
        (0o2755, true),
        (0o6700, true),
        (0o1755, false),
    ] {
        let found = check_so_far(&limited(&json!({})), &[made(b"shell", with_mode(mode))], 0);
        let reason = found.map_err(|denial| denial.to_string()).err();
        let reason = reason.unwrap_or_default();
        let is_named = reason.starts_with("Invariant no_set_id violated: shell would run");
        assert_eq!(is_named, is_denied, "{mode:o}: {reason}");
    }
    let shared = made(b"shared", Node::Directory { mode: 0o2775 });
    assert_eq!(check_so_far(&limited(&json!({})), &[shared], 0), Ok(()));
    let near = made(b".gitignore", file("x"));
    assert_eq!(check_so_far(&limited(&json!({})), &[near], 0), Ok(()));
    let gone = Change {
        path: path("pipe"),
        before: Some(Node::Special {
            special: Special::Fifo,
        }),
        after: None,
    };
    assert_eq!(check_so_far(&limited(&json!({})), &[gone], 0), Ok(()));
}

#[test]
fn only_declared_outputs_are_changed_where_there_are_any() {
    let rows = [
        (json!(["docs/a.md"]), "docs/a.md", None),
        (json!(["docs/"]), "docs/x/y.md", None),
        (json!(["docs/*.md"]), "docs/a.md", None),
        (json!(["docs/a.md"]), "docs/b.md", Some("docs/b.md")),
        (json!(["docs/*.md"]), "docs/x/y.md", Some("docs/x/y.md")),
        (json!([]), "a", Some("a")),
    ];
    for (declared, changed, undeclared) in rows {
        let item = item(&json!({ "output_files": declared }));
        let changes = changes(&tree(&[]), &tree(&[(changed, "x")]));
        let expected =
            undeclared.map(|path| format!("Undeclared output: {path} not among output_files"));
        assert_eq!(
            reason(check_so_far(&item, &changes, 0)),
            expected,
            "{declared} {changed}"
        );
    }
}

#[test]
fn a_reason_names_ten_paths_and_counts_the_others() {
    let item = item(&json!({ "output_files": [], "constraints": { "max_files": 50 } }));
    let reason = reason(check_so_far(&item, &files(13), 0)).expect("nothing is declared");
    assert!(
        reason.contains("f0, f1, f10,") && reason.contains(" and 3 more not among"),
        "{reason}"
    );
}

#[test]
fn the_same_change_to_the_same_state_is_admitted_once() {
    let (before, after) = (tree(&[("a", "1")]), tree(&[("a", "2")]));
    let first: Capsule = capsule(&["look"], &before, &after);
    let again: Capsule = capsule(&["look", "put"], &before, &after);
    assert_eq!(first.content_hash, again.content_hash);
    assert_ne!(first.capsule_hash, again.capsule_hash);
    let item = limited(&json!({}));
    assert_eq!(admit(&item, &first, |_| None), Ok(()));
    let known = |hash: &Hash| (*hash == first.content_hash).then(|| "r-1".to_owned());
    let expected = format!(
        "Duplicate run: content hash {} was admitted before (receipt r-1)",
        first.content_hash
    );
    assert_eq!(reason(admit(&item, &again, known)), Some(expected));

    let elsewhere = capsule(
        &[],
        &tree(&[("a", "1"), ("b", "")]),
        &tree(&[("a", "2"), ("b", "")]),
    );
    assert_eq!(admit(&item, &elsewhere, known), Ok(()));
    let nothing = capsule(&[], &before, &before);
    assert_eq!(admit(&item, &nothing, |_| Some("r-1".into())), Ok(()));
}

#[test]
fn the_last_check_is_the_one_that_was_made_all_along() {
    let (before, after) = (tree(&[]), tree(&[("a", "2"), ("b", "2")]));
    let capsule = capsule(&["look", "put", "push"], &before, &after);
    let rows = [
        json!({ "constraints": { "max_files": 1 } }),
        json!({ "constraints": { "max_tool_ops": 2 } }),
        json!({ "constraints": { "max_delta_size": 1 } }),
        json!({ "output_files": ["a"] }),
        json!({}),
    ];
    for row in rows {
        let item = item(&row);
        let live = check_so_far(&item, &changes(&before, &after), 3);
        assert_eq!(admit(&item, &capsule, |_| None), live, "{row}");
    }
}

#[test]
fn what_clashes_is_a_denial_that_names_the_paths() {
    let changes = changes(&tree(&[("a", "1")]), &tree(&[("a", "2")]));
    let clashes = tree(&[("a", "3")])
        .with_changes(&changes)
        .expect_err("both changed it");
    let denial = Denial::from(clashes);
    assert_eq!(
        denial.to_string(),
        "Conflict: a changed by another meanwhile"
    );
}

#[test]
fn what_is_at_the_bound_is_within_it() {
    let used = Footprint {
        files_touched: 10,
        tool_ops: 50,
        delta_size: 100,
    };
    assert_eq!(within(&used, &Constraints::default()), Ok(()));
}
