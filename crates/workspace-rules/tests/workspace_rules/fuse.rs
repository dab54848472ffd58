//! What was found by words and what was found by meaning become one list.

use std::collections::BTreeMap;

use bonded_kernel::{Millis, NoteId};
use bonded_workspace_rules::{FusedNote, NoteStanding, ScoredNote, fuse, meaning_text};
use proptest::prelude::*;

fn note(number: u8) -> NoteId {
    NoteId::from_bytes([number; 16])
}

fn list(rows: &[(u8, f64)]) -> Vec<ScoredNote> {
    let scored = |(number, score): &(u8, f64)| ScoredNote {
        note_id: note(*number),
        score: *score,
    };
    rows.iter().map(scored).collect()
}

/// Notes by number, with the time of their last change and how many link to them.
fn standings(rows: &[(u8, u64, u64)]) -> BTreeMap<NoteId, NoteStanding> {
    let standing = |(number, updated_at, backlink_count): &(u8, u64, u64)| {
        let standing = NoteStanding {
            updated_at: Millis(*updated_at),
            backlink_count: *backlink_count,
        };
        (note(*number), standing)
    };
    rows.iter().map(standing).collect()
}

fn order(fused: &[FusedNote]) -> Vec<u8> {
    fused.iter().map(|it| it.note_id.as_bytes()[0]).collect()
}

#[test]
fn what_stands_in_both_lists_is_one_row_and_comes_before_what_leads_one() {
    let known = standings(&[(1, 0, 0), (2, 0, 0), (3, 0, 0)]);
    let lexical = list(&[(1, 9.0), (2, 8.0)]);
    let semantic = list(&[(3, 0.9), (2, 0.8)]);
    let fused = fuse(&lexical, &semantic, &known);
    assert_eq!(order(&fused), [2, 1, 3]);
    assert!((fused[0].score_rrf - 2.0 / 62.0).abs() < 1e-12, "{fused:?}");
    assert!((fused[1].score_rrf - 1.0 / 61.0).abs() < 1e-12, "{fused:?}");
    assert_eq!(
        (fused[0].score_lexical, fused[0].score_semantic),
        (Some(8.0), Some(0.8))
    );
    assert_eq!(
        (fused[1].score_lexical, fused[1].score_semantic),
        (Some(9.0), None)
    );
}

#[test]
fn equal_notes_share_a_place_and_stand_by_time_then_by_id() {
    let known = standings(&[(1, 5, 0), (2, 9, 0), (3, 5, 0), (4, 9, 0)]);
    let semantic = list(&[(4, 0.5), (3, 0.5), (2, 0.5), (1, 0.5)]);
    let fused = fuse(&[], &semantic, &known);
    assert_eq!(order(&fused), [2, 4, 1, 3]);
    assert!((fused[0].score_rrf - 1.0 / 61.0).abs() < 1e-12, "{fused:?}");
    assert!(
        fused
            .iter()
            .all(|it| it.score_final == fused[0].score_final)
    );
}

#[test]
fn a_note_that_many_link_to_comes_before_one_that_is_hardly_better() {
    let known = standings(&[(1, 0, 0), (2, 0, 3), (3, 0, 0)]);
    let semantic = list(&[(1, 0.9), (2, 0.8), (3, 0.7)]);
    let fused = fuse(&[], &semantic, &known);
    assert_eq!(order(&fused), [2, 1, 3]);
    let expected = fused[0].score_rrf * (1.0 + 0.1 * 4.0_f64.ln());
    assert!((fused[0].score_final - expected).abs() < 1e-12, "{fused:?}");
    assert_eq!(
        fused[1].score_final, fused[1].score_rrf,
        "nobody links to it"
    );
}

#[test]
fn what_is_gone_and_what_has_no_score_is_left_out() {
    let known = standings(&[(1, 0, 0), (2, 0, 0)]);
    let lexical = list(&[(1, f64::NAN), (2, 1.0), (9, 5.0)]);
    let fused = fuse(&lexical, &list(&[(1, f64::INFINITY)]), &known);
    assert_eq!(order(&fused), [2]);
    assert!(
        (fused[0].score_rrf - 1.0 / 61.0).abs() < 1e-12,
        "what is left out takes no place: {fused:?}"
    );
}

#[test]
fn a_model_is_shown_the_title_and_the_first_two_thousand_characters() {
    let rows = [
        ("Title", String::new(), "Title".to_owned()),
        ("Title", "text\n".to_owned(), "Title\ntext".to_owned()),
        ("é", "ü".repeat(2001), format!("é\n{}", "ü".repeat(2000))),
        ("T", "x".repeat(2000), format!("T\n{}", "x".repeat(2000))),
    ];
    for (title, markdown, expected) in rows {
        assert_eq!(meaning_text(title, &markdown), expected);
    }
}

fn any_list() -> impl Strategy<Value = Vec<(u8, f64)>> {
    let score = prop_oneof![(0..4_i32).prop_map(f64::from), any::<f64>(),];
    prop::collection::vec((0..12_u8, score), 0..24)
}

proptest! {
    #[test]
    fn fusing_is_total_and_knows_no_order_of_its_lists(
        lexical in any_list(),
        semantic in any_list(),
        known in prop::collection::vec((0..10_u8, 0..3_u64, any::<u64>()), 0..12),
    ) {
        let known = standings(&known);
        let (lexical, semantic) = (list(&lexical), list(&semantic));
        let fused = fuse(&lexical, &semantic, &known);
        let mut ids: Vec<NoteId> = fused.iter().map(|it| it.note_id).collect();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), fused.len(), "one row for each note");
        for pair in fused.windows(2) {
            let key = |it: &FusedNote| (std::cmp::Reverse(it.standing.updated_at), it.note_id);
            let is_better = pair[0].score_final > pair[1].score_final;
            let is_tied = pair[0].score_final == pair[1].score_final;
            prop_assert!(is_better || is_tied && key(&pair[0]) < key(&pair[1]), "{:?}", pair);
        }
        for it in &fused {
            prop_assert!(it.score_final.is_finite() && it.score_final >= it.score_rrf);
            prop_assert!(it.score_rrf > 0.0 && it.score_rrf <= 2.0 / 61.0);
        }
        let reversed = |list: &[ScoredNote]| list.iter().rev().copied().collect::<Vec<_>>();
        prop_assert_eq!(fuse(&reversed(&lexical), &reversed(&semantic), &known), fused);
    }
}
