//! Random trees, random changes, a crash anywhere.

use std::fs;
use std::path::Path;

use bonded_work::publish::{NoFaults, Settlement};
use bonded_work_rules::{Change, Tree, TreePath};
use proptest::collection::btree_map;
use proptest::prelude::*;

use crate::publish_world::{CrashAt, World, chmod, freeze, link, open_all, published, write};

/// What may lie at a name.
#[derive(Clone, Debug)]
enum Made {
    File(u8, u32),
    Link(u8),
    Directory(Vec<(&'static str, Made)>, u32),
}

fn made() -> impl Strategy<Value = Made> {
    let file_mode = prop::sample::select(vec![0o644, 0o755, 0o600, 0o444]);
    let leaf = prop_oneof![
        (0..4u8, file_mode).prop_map(|(content, mode)| Made::File(content, mode)),
        (0..3u8).prop_map(Made::Link),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let mode = prop::sample::select(vec![0o755, 0o700, 0o555, 0o775]);
        (below(inner), mode).prop_map(|(below, mode)| Made::Directory(below, mode))
    })
}

fn below(inner: impl Strategy<Value = Made>) -> impl Strategy<Value = Vec<(&'static str, Made)>> {
    let name = prop::sample::select(vec!["a", "b", "a-b", "c"]);
    btree_map(name, inner, 0..4).prop_map(|below| below.into_iter().collect())
}

fn build(root: &Path, below: &[(&'static str, Made)]) {
    for (name, made) in below {
        match made {
            Made::File(content, mode) => {
                write(root, name, &"x".repeat(usize::from(*content)));
                chmod(root, name, *mode);
            }
            Made::Link(target) => link(root, name, &format!("target-{target}")),
            Made::Directory(below, mode) => {
                fs::create_dir(root.join(name)).expect("a new directory");
                build(&root.join(name), below);
                chmod(root, name, *mode);
            }
        }
    }
}

fn tree_of(world: &World, below: &[(&'static str, Made)]) -> Tree {
    let place = world.beside("built");
    fs::create_dir(&place).expect("a new directory");
    build(&place, below);
    let tree = freeze(&place, &world.kept);
    open_all(&place);
    fs::remove_dir_all(&place).expect("it can be removed");
    tree
}

/// Writes a file at one of the changed paths, where that can be done; if the publish has not ended.
fn edit_by_hand(
    world: &World,
    changes: &[Change],
    edited: prop::sample::Index,
) -> Option<TreePath> {
    let is_open = world.journal.exists() && !changes.is_empty();
    let path = is_open.then(|| edited.get(changes).path.clone())?;
    let place = world.tree.join(path.as_str()?);
    let holder = place.parent()?.symlink_metadata().ok()?;
    if !holder.is_dir() || place.symlink_metadata().is_ok_and(|there| there.is_dir()) {
        return None;
    }
    let _ = fs::remove_file(&place);
    fs::write(&place, "by hand").ok()?;
    Some(path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_becomes_any_other_whole_or_not_at_all(
        before in below(made()),
        after in below(made()),
        crashes in prop::collection::vec(0..60u32, 0..3),
    ) {
        let world = World::new();
        build(&world.tree, &before);
        let (before, after) = (world.freeze(), tree_of(&world, &after));
        let changes = before.changes_to(&after);
        prop_assert_eq!(world.publish(&NoFaults).check(&changes).expect("it can be read"), vec![]);
        let mut crashes = crashes.into_iter();
        let first = CrashAt::operation(crashes.next().unwrap_or(u32::MAX));
        let is_published = world.publish_all(&changes, &first).is_ok() || world.journal.exists();
        for operation in crashes {
            let _ = world.recover(&CrashAt::operation(operation));
        }
        let recovered = world.recovered();
        prop_assert!(recovered.is_none_or(|outcome| outcome == published()));
        let wanted = if is_published { after } else { before };
        prop_assert_eq!(world.freeze().changes_to(&wanted), vec![]);
    }

    #[test]
    fn an_edit_by_hand_after_a_crash_stays_and_nothing_else_differs_from_before(
        before in below(made()),
        after in below(made()),
        crash in 0..60u32,
        edited in any::<prop::sample::Index>(),
    ) {
        let world = World::new();
        build(&world.tree, &before);
        let (before, after) = (world.freeze(), tree_of(&world, &after));
        let changes = before.changes_to(&after);
        let _ = world.publish_all(&changes, &CrashAt::operation(crash));
        if let Some(edited) = edit_by_hand(&world, &changes, edited) {
            let by_hand = world.freeze().node(&edited);
            let recovered = world.recovered();
            let now = world.freeze();
            prop_assert_eq!(now.node(&edited), by_hand);
            if let Some(Settlement::Undone { foreign }) = recovered {
                prop_assert!(foreign.contains(&edited));
                let is_near = |path: &TreePath| foreign.iter().any(|other| path.is_within(other) || other.is_within(path));
                for Change { path, .. } in before.changes_to(&now) {
                    prop_assert!(is_near(&path), "{} differs, and {:?} are foreign", path, foreign);
                }
            }
        }
    }

    #[test]
    fn changes_meet_those_of_another_where_the_kernel_says_so(
        before in below(made()),
        after in below(made()),
        meanwhile in below(made()),
    ) {
        let world = World::new();
        build(&world.tree, &meanwhile);
        let (before, after) = (tree_of(&world, &before), tree_of(&world, &after));
        let changes = before.changes_to(&after);
        let merged = world.freeze().with_changes(&changes);
        let clashes = world.publish(&NoFaults).check(&changes).expect("it can be read");
        prop_assert_eq!(clashes.is_empty(), merged.is_ok(), "{:?} against {:?}", clashes, merged);
        if let Ok(merged) = merged {
            prop_assert_eq!(world.publish_all(&changes, &NoFaults).expect("it fits"), published());
            prop_assert_eq!(world.freeze().changes_to(&merged), vec![]);
        }
    }
}
