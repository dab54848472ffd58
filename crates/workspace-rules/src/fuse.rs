//! One ranking out of two: what a search found by words and what it found by meaning.
//!
//! Scores of the two searches cannot be compared, so only the places count. It is pure and its result does not depend
//! on the order of the lists, which makes pages of a search stable.

use std::collections::BTreeMap;

use bonded_kernel::{Millis, NoteId};

/// How little the very first places count more than those after them, in reciprocal rank fusion.
const RANK_OFFSET: f64 = 60.0;

/// How much the logarithm of the notes that link to a note adds to its score.
const BACKLINK_WEIGHT: f64 = 0.1;

/// A note in one of the lists. The higher the score, the better; it means nothing beside those of the other list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredNote {
    /// The note that was found.
    pub note_id: NoteId,
    /// Larger is better, and only within its own list; what is not finite is left out.
    pub score: f64,
}

/// What counts about a note whatever was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteStanding {
    /// The last change, which decides between equal scores.
    pub updated_at: Millis,
    /// How many other notes link to it.
    pub backlink_count: u64,
}

/// A note that was found, once, however often it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FusedNote {
    /// The note that was found.
    pub note_id: NoteId,
    /// What counts about it beside the search.
    pub standing: NoteStanding,
    /// None where words did not find it.
    pub score_lexical: Option<f64>,
    /// None where meaning did not find it.
    pub score_semantic: Option<f64>,
    /// By its places in the lists alone.
    pub score_rrf: f64,
    /// With what the links to it add.
    pub score_final: f64,
}

/// Fuses the lists: each place in a list counts 1 / (60 + place), and a note gains by the notes that link to it. Notes
/// with equal scores share a place. The best is first, equal ones by the time of their last change, the latest first,
/// then by id. The order of the lists does not matter; notes without a standing are left out.
pub fn fuse(
    lexical: &[ScoredNote],
    semantic: &[ScoredNote],
    standings: &BTreeMap<NoteId, NoteStanding>,
) -> Vec<FusedNote> {
    let (lexical, semantic) = (best(lexical, standings), best(semantic, standings));
    let (words, meanings) = (places(&lexical), places(&semantic));
    let found = standings.iter().filter_map(|(note_id, standing)| {
        let places = [words.get(note_id), meanings.get(note_id)];
        let shares = places.into_iter().flatten().copied().map(share);
        let score_rrf: f64 = shares.sum();
        (score_rrf > 0.0).then(|| FusedNote {
            note_id: *note_id,
            standing: *standing,
            score_lexical: lexical.get(note_id).copied(),
            score_semantic: semantic.get(note_id).copied(),
            score_rrf,
            score_final: score_rrf * boost(standing.backlink_count),
        })
    });
    let mut found: Vec<FusedNote> = found.collect();
    found.sort_by(|a, b| {
        let by_score = b.score_final.total_cmp(&a.score_final);
        by_score.then_with(|| later_first(a, b))
    });
    found
}

/// The order of notes that are as good as each other.
pub fn later_first(a: &FusedNote, b: &FusedNote) -> std::cmp::Ordering {
    let by_time = b.standing.updated_at.cmp(&a.standing.updated_at);
    by_time.then(a.note_id.cmp(&b.note_id))
}

/// The classic share of reciprocal rank fusion.
fn share(place: usize) -> f64 {
    1.0 / (RANK_OFFSET + place as f64)
}

/// Grows with the logarithm, so that a note with very many links does not drown what was looked for.
fn boost(backlink_count: u64) -> f64 {
    1.0 + BACKLINK_WEIGHT * (backlink_count as f64).ln_1p()
}

/// The best score of each note. What is no number ranks nowhere.
fn best(list: &[ScoredNote], standings: &BTreeMap<NoteId, NoteStanding>) -> BTreeMap<NoteId, f64> {
    let mut best = BTreeMap::new();
    for ScoredNote { note_id, score } in list {
        if score.is_finite() && standings.contains_key(note_id) {
            let kept = best.entry(*note_id).or_insert(*score);
            *kept = kept.max(*score);
        }
    }
    best
}

/// The place of each note: 1, and one more for each note that is better.
fn places(scores: &BTreeMap<NoteId, f64>) -> BTreeMap<NoteId, usize> {
    let mut sorted: Vec<f64> = scores.values().copied().collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let place = |score: f64| sorted.partition_point(|better| *better > score) + 1;
    scores
        .iter()
        .map(|(id, score)| (*id, place(*score)))
        .collect()
}
