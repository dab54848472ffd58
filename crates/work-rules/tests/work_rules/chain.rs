//! The receipts of a tree form a chain in which nothing can be changed, left out, put in or put elsewhere.

use bonded_kernel::Millis;
use bonded_work_rules::{ChainFaultKind, ItemOutcome, Receipt, WorkStatus, verify_chain};
use proptest::prelude::*;

use crate::capsule::capsule;
use crate::common::tree;
use crate::receipt::{SEALED, published, unpublished};

/// Items that each write one file, and one that fails.
fn outcomes() -> Vec<ItemOutcome> {
    let steps = [
        tree(&[]),
        tree(&[("a", "1")]),
        tree(&[("a", "1"), ("b", "1")]),
        tree(&[("a", "2"), ("b", "1")]),
    ];
    let mut outcomes: Vec<ItemOutcome> = steps
        .windows(2)
        .enumerate()
        .map(|(at, pair)| published(&format!("i{at}"), &capsule(&["push"], &pair[0], &pair[1])))
        .collect();
    outcomes.push(unpublished("failed", WorkStatus::Failure, steps[3].hash()));
    outcomes
}

/// Seals them one after the other, at the times given.
fn sealed(outcomes: Vec<ItemOutcome>, times: impl IntoIterator<Item = Millis>) -> Vec<Receipt> {
    let mut receipts: Vec<Receipt> = vec![];
    for (outcome, now) in outcomes.into_iter().zip(times) {
        let previous = receipts.last().map(Receipt::link);
        receipts.push(Receipt::seal(outcome, previous.as_ref(), now));
    }
    receipts
}

fn chain() -> Vec<Receipt> {
    sealed(outcomes(), (0..).map(|at| SEALED.plus(at * 10)))
}

fn texts(receipts: &[Receipt]) -> Vec<String> {
    receipts.iter().map(Receipt::to_json).collect()
}

fn kinds(texts: &[String]) -> Vec<(usize, ChainFaultKind)> {
    match verify_chain(texts.iter().map(String::as_str)) {
        Ok(_) => vec![],
        Err(faults) => faults.into_iter().map(|it| (it.number, it.kind)).collect(),
    }
}

/// A receipt with one thing changed and sealed anew by somebody who knows how.
fn forged(receipt: &Receipt, change: impl FnOnce(&mut Receipt)) -> String {
    let mut forged = receipt.clone();
    change(&mut forged);
    let text = forged.to_json();
    let found = verify_chain([text.as_str()]).expect_err("the hash is not right yet");
    let computed = found.iter().find_map(|fault| match &fault.kind {
        ChainFaultKind::Receipt(bonded_work_rules::ReceiptFault::HashMismatch {
            computed, ..
        }) => Some(*computed),
        _ => None,
    });
    forged.receipt_hash = computed.expect("only the hash is wrong");
    forged.to_json()
}

#[test]
fn receipts_that_follow_each_other_are_a_chain() {
    let receipts = chain();
    assert_eq!(kinds(&texts(&receipts)), []);
    assert_eq!(receipts[0].previous_receipt_hash, None);
    for pair in receipts.windows(2) {
        assert_eq!(pair[1].previous_receipt_hash, Some(pair[0].receipt_hash));
        assert_eq!(pair[1].outcome.tree_before, pair[0].outcome.tree_after);
        assert!(pair[1].sealed_at > pair[0].sealed_at);
        assert!(!pair[1].tree_changed_outside);
    }
}

#[test]
fn time_rises_in_a_chain_even_where_the_clock_stands_or_goes_back() {
    let receipts = sealed(outcomes(), [SEALED, SEALED, Millis(5), SEALED.plus(9)]);
    let times: Vec<u64> = receipts.iter().map(|it| it.sealed_at - SEALED).collect();
    assert_eq!(times, [0, 1, 2, 9]);
    assert_eq!(kinds(&texts(&receipts)), []);
}

#[test]
fn a_chain_that_was_tampered_with_says_where() {
    use ChainFaultKind::{BrokenLink, Empty, Gap, NotTheFirst, SameTime, TimeNotRising};
    let receipts = chain();
    let good = texts(&receipts);
    let with = |at: usize, text: String| {
        let mut texts = good.clone();
        texts[at] = text;
        texts
    };
    let swapped = [&good[0], &good[2], &good[1], &good[3]].map(Clone::clone);
    let older = forged(&receipts[3], |it| it.sealed_at = Millis(7));
    let same_time = forged(&receipts[3], |it| it.sealed_at = receipts[2].sealed_at);
    let other_level = forged(&receipts[1], |it| it.outcome.level = 5);
    let not_linked = forged(&receipts[3], |it| {
        it.previous_receipt_hash = Some(receipts[0].receipt_hash);
    });
    let rows = [
        ("there is none", vec![], vec![(1, Empty)]),
        (
            "the first is missing",
            good[1..].to_vec(),
            vec![(1, NotTheFirst)],
        ),
        (
            "one is left out",
            vec![good[0].clone(), good[2].clone()],
            vec![(2, BrokenLink), (2, Gap)],
        ),
        (
            "one is sealed anew",
            with(1, other_level),
            vec![(3, BrokenLink)],
        ),
        (
            "a link leads elsewhere",
            with(3, not_linked),
            vec![(4, BrokenLink)],
        ),
        ("time goes back", with(3, older), vec![(4, TimeNotRising)]),
        ("time stands still", with(3, same_time), vec![(4, SameTime)]),
    ];
    for (what, texts, expected) in rows {
        let mut found = kinds(&texts);
        found.retain(|(_, kind)| *kind != ChainFaultKind::TreeMismatch);
        assert_eq!(found, expected, "{what}");
    }
    let found = kinds(&swapped);
    let is_there = |kind| found.contains(&(2, kind));
    assert!(
        is_there(BrokenLink) && is_there(ChainFaultKind::TreeMismatch),
        "{found:?}"
    );
    let found = kinds(&[good[0].clone(), good[0].clone()]);
    assert!(
        found.contains(&(2, SameTime)),
        "a receipt that is played again: {found:?}"
    );
}

#[test]
fn a_fault_names_the_receipt() {
    let receipts = chain();
    let text = forged(&receipts[1], |it| it.outcome.level = 5);
    let texts = [receipts[0].to_json(), text, receipts[2].to_json()];
    let faults = verify_chain(texts.iter().map(String::as_str)).expect_err("a broken link");
    assert_eq!(
        faults[0].to_string(),
        "receipt 3 (receipt-i2): its previous_receipt_hash is not that of the receipt before it"
    );
}

#[test]
fn a_tree_that_others_changed_between_two_receipts_is_said_to_be_so() {
    let (one, two, three) = (
        tree(&[]),
        tree(&[("a", "1")]),
        tree(&[("a", "1"), ("person", "1")]),
    );
    let four = tree(&[("a", "2"), ("person", "1")]);
    let outcomes = vec![
        published("i0", &capsule(&[], &one, &two)),
        published("i1", &capsule(&[], &three, &four)),
    ];
    let receipts = sealed(outcomes, [SEALED, SEALED]);
    assert!(receipts[1].tree_changed_outside);
    assert_eq!(kinds(&texts(&receipts)), []);
    let silent = forged(&receipts[1], |it| it.tree_changed_outside = false);
    let found = kinds(&[receipts[0].to_json(), silent]);
    assert_eq!(found, [(2, ChainFaultKind::TreeMismatch)]);
}

#[test]
fn a_tree_that_was_changed_and_changed_back_meanwhile_is_said_to_be_changed_even_by_the_first() {
    let (one, two) = (tree(&[]), tree(&[("a", "1")]));
    let three = tree(&[("a", "2")]);
    let mut outcomes = vec![
        published("i0", &capsule(&[], &one, &two)),
        published("i1", &capsule(&[], &two, &three)),
    ];
    for outcome in &mut outcomes {
        outcome.changed_meanwhile = true;
    }
    let receipts = sealed(outcomes, [SEALED, SEALED]);
    assert!(receipts.iter().all(|it| it.tree_changed_outside));
    assert_eq!(kinds(&texts(&receipts)), []);
    let silent = forged(&receipts[0], |it| it.tree_changed_outside = false);
    let fault = verify_chain([silent.as_str()]).expect_err("it contradicts itself");
    assert!(
        fault[0].to_string().contains("contradicts itself"),
        "{fault:?}"
    );
    let claimed = forged(&receipts[1], |it| it.outcome.changed_meanwhile = false);
    let found = kinds(&[receipts[0].to_json(), claimed]);
    assert_eq!(found, [(2, ChainFaultKind::TreeMismatch)]);
}

proptest! {
    #[test]
    fn any_byte_that_is_changed_in_a_chain_is_found(
        receipt in 0usize..4, place in any::<prop::sample::Index>(), flip in 1u8..
    ) {
        let mut texts: Vec<Vec<u8>> = texts(&chain()).into_iter().map(String::into_bytes).collect();
        let at = place.index(texts[receipt].len());
        texts[receipt][at] ^= flip;
        // Bytes that are no text are no receipt to begin with.
        let read: Result<Vec<&str>, _> = texts.iter().map(|it| std::str::from_utf8(it)).collect();
        if let Ok(read) = read {
            let faults = verify_chain(read).expect_err("a byte was changed");
            prop_assert_eq!(faults[0].number, receipt + 1);
        }
    }

    #[test]
    fn any_other_order_of_a_chain_is_found(order in Just(vec![0usize, 1, 2, 3]).prop_shuffle()) {
        let good = texts(&chain());
        let shuffled: Vec<String> = order.iter().map(|at| good[*at].clone()).collect();
        prop_assert_eq!(kinds(&shuffled).is_empty(), order.is_sorted());
    }
}
