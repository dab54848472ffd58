//! Trees: equal states have equal hashes, what differs can be carried over, and the order does not matter where
//! changes do not meet.

use bonded_work_rules::{Change, Clash, Node, Special, Tree, TreePath};
use proptest::prelude::*;

use crate::common::{directory, file, link, path, tree, tree_of};

#[test]
fn the_hash_of_a_tree_is_that_of_its_state_and_of_nothing_else() {
    let one = tree(&[("a", "1"), ("d/b", "2")]);
    let same = tree(&[("d/b", "2"), ("a", "1")]);
    assert_eq!(one.hash(), same.hash());
    let others = [
        tree(&[]),
        tree(&[("a", "2"), ("d/b", "2")]),
        tree(&[("a", "1")]),
        tree(&[("a", "1"), ("d/c", "2")]),
        tree(&[("a", "1"), ("d", "2")]),
        tree_of(&[(path("a"), file("1")), (path("d/b"), link("2"))]),
        tree_of(&[
            (path("a"), file("1")),
            (path("d"), directory(0o700)),
            (path("d/b"), file("2")),
        ]),
    ];
    for other in &others {
        assert_ne!(one.hash(), other.hash(), "{other:?}");
    }
    assert_eq!(tree(&[]).hash(), Tree::new(vec![]).hash());
}

#[test]
fn what_another_changed_meanwhile_stays_and_what_both_changed_is_named() {
    let base = tree(&[("a", "1"), ("b", "1"), ("d/x", "1")]);
    let mine = base.changes_to(&tree(&[
        ("a", "mine"),
        ("b", "1"),
        ("d/x", "1"),
        ("n/f", ""),
    ]));
    let disjoint = tree(&[("a", "1"), ("b", "theirs"), ("d/x", "1"), ("n/g", "")]);
    let merged = tree(&[
        ("a", "mine"),
        ("b", "theirs"),
        ("d/x", "1"),
        ("n/f", ""),
        ("n/g", ""),
    ]);
    assert_eq!(disjoint.with_changes(&mine), Ok(merged));

    let rows = [
        (tree(&[("a", "theirs"), ("b", "1"), ("d/x", "1")]), "a"),
        (tree(&[("b", "1"), ("d/x", "1")]), "a"),
        (tree(&[("a/below", "1"), ("b", "1")]), "a"),
        (tree(&[("a", "1"), ("n", "a file")]), "n"),
    ];
    for (theirs, at) in rows {
        let clashes = theirs.with_changes(&mine).expect_err("both changed it");
        assert!(
            clashes.contains(&Clash { path: path(at) }),
            "{at}: {clashes:?}"
        );
    }
}

#[test]
fn a_directory_is_not_removed_with_what_another_put_into_it() {
    let base = tree(&[("d/x", "1")]);
    let removal = base.changes_to(&tree(&[]));
    let theirs = tree(&[("d/x", "1"), ("d/y", "new")]);
    let clashes = theirs.with_changes(&removal).expect_err("y is not ours");
    assert_eq!(clashes, [Clash { path: path("d") }]);
}

#[test]
fn what_is_changed_below_a_file_or_twice_is_named() {
    let below = tree(&[("d/x", "1")]).changes_to(&tree(&[("d/x", "2"), ("d/y", "")]));
    let clashes = tree(&[("d", "a file")]).with_changes(&below);
    let named = |at: &str| Clash { path: path(at) };
    assert_eq!(clashes, Err(vec![named("d/x"), named("d/y")]));
    let made = tree(&[]).changes_to(&tree(&[("a", "1")]));
    let twice = tree(&[]).with_changes(&[made.clone(), made].concat());
    assert_eq!(twice, Err(vec![named("a")]));
}

#[test]
fn ten_thousand_changes_in_one_directory_are_made_at_once() {
    let names: Vec<String> = (0..20_000).map(|at| format!("d/f{at}")).collect();
    let files = |content: &str, count: usize| {
        let nodes: Vec<_> = names[..count]
            .iter()
            .map(|it| (it.as_str(), content))
            .collect();
        let child = |(at, content): &(&str, &str)| {
            let name = at.trim_start_matches("d/").as_bytes().into();
            (name, bonded_work_rules::Child::Leaf(file(content)))
        };
        let directory = bonded_work_rules::Directory::new(0o755, nodes.iter().map(child).collect());
        let directory = bonded_work_rules::Child::Directory(directory.into());
        Tree::new(vec![((*b"d").into(), directory)])
    };
    let (before, after) = (files("1", 20_000), files("2", 10_000));
    let changes = before.changes_to(&after);
    assert_eq!(changes.len(), 20_000);
    assert_eq!(before.with_changes(&changes), Ok(after));
}

#[test]
fn a_change_comes_back_from_its_json_also_where_its_path_is_no_text() {
    let odd = TreePath::new(b"odd\xff").expect("names are bytes");
    let change = Change {
        path: odd,
        before: Some(link("target")),
        after: Some(Node::Special {
            special: Special::Fifo,
        }),
    };
    let written = serde_json::to_string(&change).expect("a change is JSON");
    let back: Change = serde_json::from_str(&written).expect("its own JSON");
    assert_eq!(back, change);
}

fn any_node() -> impl Strategy<Value = Node> {
    prop_oneof![
        4 => "[abc]".prop_map(|content| file(&content)),
        1 => Just(Node::File { mode: 0o755, bytes: 1, content: bonded_kernel::Hash::of(b"a") }),
        1 => "[ab]".prop_map(|target| link(&target)),
        1 => prop_oneof![Just(0o755), Just(0o700)].prop_map(directory),
    ]
}

/// Few names and few levels, so that files and directories meet at the same paths.
fn any_tree() -> impl Strategy<Value = Tree> {
    let at = "[a-c-](/[a-c-]){0,3}".prop_map(|at| path(&at));
    prop::collection::vec((at, any_node()), 0..12).prop_map(|nodes| tree_of(&nodes))
}

fn merged(base: &Tree, first: &[Change], second: &[Change]) -> Option<Tree> {
    base.with_changes(first).ok()?.with_changes(second).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_differs_turns_one_tree_into_the_other(before in any_tree(), after in any_tree()) {
        let changes = before.changes_to(&after);
        prop_assert_eq!(before.with_changes(&changes), Ok(after.clone()));
        prop_assert_eq!(before.hash() == after.hash(), changes.is_empty());
        let back = after.changes_to(&before);
        prop_assert_eq!(back.len(), changes.len());
    }

    #[test]
    fn changes_that_do_not_meet_give_the_same_tree_in_every_order_and_grouping(
        base in any_tree(), one in any_tree(), two in any_tree(), three in any_tree()
    ) {
        let at = |name: &str, tree: &Tree| {
            let mut children: Vec<_> = base.root().children().to_vec();
            let directory = bonded_work_rules::Directory::new(0o755, tree.root().children().to_vec());
            children.push((name.as_bytes().into(), bonded_work_rules::Child::Directory(directory.into())));
            base.changes_to(&Tree::new(children))
        };
        // Three items with a directory of their own each.
        let [one, two, three] = [at("one", &one), at("two", &two), at("three", &three)];
        let all = |order: [&[Change]; 3]| {
            order.iter().try_fold(base.clone(), |tree, changes| tree.with_changes(changes))
        };
        let expected = all([&one, &two, &three]);
        prop_assert!(expected.is_ok());
        for order in [[&two, &one, &three], [&three, &two, &one], [&two, &three, &one]] {
            prop_assert_eq!(&all(order.map(Vec::as_slice)), &expected);
        }
        let grouped = [one, two, three].concat();
        prop_assert_eq!(base.with_changes(&grouped), expected);
    }

    #[test]
    fn where_both_orders_work_they_give_the_same_tree(
        base in any_tree(), one in any_tree(), two in any_tree()
    ) {
        let (one, two) = (base.changes_to(&one), base.changes_to(&two));
        let (first, second) = (merged(&base, &one, &two), merged(&base, &two, &one));
        if let (Some(first), Some(second)) = (first, second) {
            prop_assert_eq!(first, second);
        }
    }
}
