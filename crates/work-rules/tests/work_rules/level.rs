//! A level's receipt holds those of its items under one root.

use bonded_kernel::Hash;
use bonded_work_rules::{
    LevelFault, LevelReceipt, Receipt, ReceiptFault, WorkStatus, merkle_proof, merkle_root,
    root_from_proof, verify_level, verify_level_items,
};
use proptest::prelude::*;

use crate::capsule::capsule;
use crate::common::tree;
use crate::receipt::{SEALED, published, unpublished};

fn leaves(count: u8) -> Vec<Hash> {
    (0..count).map(|at| Hash::of(&[at])).collect()
}

/// Two items that began with the same tree, and one that was denied.
fn receipts() -> Vec<Receipt> {
    let base = tree(&[]);
    let one = capsule(&["push"], &base, &tree(&[("a", "1")]));
    let two = capsule(&["push"], &base, &tree(&[("b", "1")]));
    let merged = tree(&[("a", "1"), ("b", "1")]);
    let first = Receipt::seal(published("a", &one), None, SEALED);
    let second = published("b", &two).published(&two, one.after_hash, merged.hash());
    let second = Receipt::seal(second, Some(&first.link()), SEALED);
    let denied = unpublished("c", WorkStatus::Denied, merged.hash());
    let denied = Receipt::seal(denied, Some(&second.link()), SEALED);
    vec![first, second, denied]
}

fn level(receipts: &[Receipt], previous: Option<&LevelReceipt>) -> LevelReceipt {
    let before = receipts[0].outcome.tree_before;
    let number = previous.map_or(0, |it| it.level + 1);
    LevelReceipt::seal("plan-1".into(), number, before, receipts, previous, SEALED)
}

#[test]
fn one_leaf_is_its_own_root_an_odd_one_goes_up_and_none_is_the_empty_text() {
    let four = leaves(4);
    let pair = |a: usize, b: usize| merkle_root(&[four[a], four[b]]);
    assert_eq!(merkle_root(&four[..1]), four[0]);
    assert_eq!(merkle_root(&four), merkle_root(&[pair(0, 1), pair(2, 3)]));
    assert_eq!(merkle_root(&four), merkle_root(&leaves(4)));
    assert_eq!(merkle_root(&four[..3]), merkle_root(&[pair(0, 1), four[2]]));
    assert_eq!(merkle_root(&[]), Hash::of(b""));
    assert_ne!(pair(0, 1), pair(1, 0), "the order counts");
}

#[test]
fn a_level_counts_its_items_and_leads_from_their_common_state_to_the_merged_one() {
    let receipts = receipts();
    let sealed = level(&receipts, None);
    assert_eq!(sealed.items.len(), 3);
    assert_eq!(sealed.tree_before, tree(&[]).hash());
    assert_eq!(sealed.tree_after, tree(&[("a", "1"), ("b", "1")]).hash());
    let hashes: Vec<Hash> = receipts.iter().map(|it| it.receipt_hash).collect();
    assert_eq!(sealed.merkle_root, merkle_root(&hashes));
    let read = verify_level(&sealed.to_json()).expect("it was just sealed");
    assert_eq!(read, sealed);
    assert_eq!(verify_level_items(&read, &receipts), Ok(()));
}

#[test]
fn a_level_begins_with_what_the_one_before_left() {
    let receipts = receipts();
    let first = level(&receipts, None);
    let last = unpublished("d", WorkStatus::Failure, first.tree_after);
    let next = Receipt::seal(last, Some(&receipts[2].link()), SEALED);
    let second = level(std::slice::from_ref(&next), Some(&first));
    assert_eq!(second.tree_before, first.tree_after);
    assert_eq!(second.previous_level_hash, Some(first.receipt_hash));
    assert!(second.sealed_at > first.sealed_at);
    assert_eq!(second.merkle_root, next.receipt_hash);
}

#[test]
fn a_proof_shows_that_a_receipt_is_in_its_level_and_in_no_other() {
    let receipts = receipts();
    let sealed = level(&receipts, None);
    for receipt in &receipts {
        let proof = sealed
            .proof(&receipt.outcome.receipt_id)
            .expect("it is one of them");
        assert_eq!(
            root_from_proof(receipt.receipt_hash, &proof),
            sealed.merkle_root
        );
        assert_ne!(
            root_from_proof(Hash::of(b"other"), &proof),
            sealed.merkle_root
        );
    }
    assert_eq!(sealed.proof("receipt-nobody"), None);
    assert_eq!(merkle_proof(&[], 0), None);
}

#[test]
fn a_level_that_was_changed_or_is_of_other_items_is_found() {
    let receipts = receipts();
    let sealed = level(&receipts, None);
    let text = sealed.to_json().replace("denied", "success");
    assert!(matches!(verify_level(&text), Err(LevelFault::Receipt(_))));
    let fewer = verify_level_items(&sealed, &receipts[..2]);
    assert_eq!(
        fewer,
        Err(LevelFault::OtherNumber {
            expected: 3,
            found: 2
        })
    );
    let mut swapped = receipts;
    swapped.swap(0, 1);
    let found = verify_level_items(&sealed, &swapped);
    assert!(
        matches!(found, Err(LevelFault::OtherReceipt { .. })),
        "{found:?}"
    );

    let mut other_root = sealed;
    other_root.merkle_root = Hash::ZERO;
    let computed = match verify_level(&other_root.to_json()) {
        Err(LevelFault::Receipt(ReceiptFault::HashMismatch { computed, .. })) => Some(computed),
        _ => None,
    };
    let computed = computed.expect("the hash is not right yet");
    other_root.receipt_hash = computed;
    assert_eq!(
        verify_level(&other_root.to_json()),
        Err(LevelFault::WrongRoot)
    );
}

#[test]
fn a_level_receipt_of_the_first_format_can_be_checked_by_every_later_build() {
    let golden = include_str!("../golden/level-receipt-1.json");
    let sealed = verify_level(golden).expect("the golden receipt");
    assert_eq!(format!("{}\n", sealed.to_json()), golden);
    let hash = "d04316fac2057362594c003514ab0a3c756cb76f4105e580289a9db53765f0b3";
    assert_eq!(sealed.receipt_hash.to_string(), hash);
}

proptest! {
    #[test]
    fn every_leaf_has_a_proof_and_no_other_hash_has(count in 1u8..40, at in any::<prop::sample::Index>()) {
        let leaves = leaves(count);
        let at = at.index(leaves.len());
        let proof = merkle_proof(&leaves, at).expect("it is a leaf");
        let root = merkle_root(&leaves);
        prop_assert_eq!(root_from_proof(leaves[at], &proof), root);
        prop_assert!(proof.len() <= 6);
        for other in leaves.iter().filter(|other| **other != leaves[at]) {
            prop_assert_ne!(root_from_proof(*other, &proof), root);
        }
    }
}
