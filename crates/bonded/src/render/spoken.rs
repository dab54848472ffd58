//! What models are saying just now, as lines of JSON among those of the log.
//!
//! A run tells what a model says while it says it; the entry comes when the reply is whole. Both go to stdout as
//! lines, and a reader must be able to tell what belongs to which attempt: so a piece waits until the entry of its
//! attempt is printed. A reader that is slow loses pieces and never entries, because the run does not wait for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_host::{LivePiece, LiveSink};
use bonded_kernel::{Entry, Event, RunId};
use tokio::sync::Notify;

use crate::output;
use bonded_host::shapes::json;

/// What is said faster than it is printed is kept up to here; the rest is lost.
const PENDING_BYTES_MAX: usize = 1 << 20;

/// What was said and is not printed yet.
#[derive(Default)]
pub(crate) struct Spoken {
    pending: Mutex<Pending>,
    news: Notify,
}

/// Bounded by bytes and not by pieces, because a piece may be a letter or a page.
#[derive(Default)]
struct Pending {
    /// In the order in which they were said; pieces of one attempt that follow each other are one.
    pieces: VecDeque<AttemptText>,
    /// Of all texts together.
    bytes: usize,
}

/// Pieces of one attempt that came one after the other.
struct AttemptText {
    run: RunId,
    turn: u32,
    attempt: u32,
    text: String,
}

impl LiveSink for Spoken {
    /// Called by the run: it must neither wait nor fail.
    fn tell(&self, piece: &LivePiece<'_>) {
        let mut pending = self.lock();
        if pending.bytes + piece.text.len() > PENDING_BYTES_MAX {
            return;
        }
        pending.bytes += piece.text.len();
        match pending.pieces.back_mut() {
            Some(last) if last.is_of(piece) => last.text.push_str(piece.text),
            _ => pending.pieces.push_back(AttemptText {
                run: piece.run.clone(),
                turn: piece.turn,
                attempt: piece.attempt,
                text: piece.text.to_owned(),
            }),
        }
        self.news.notify_one();
    }
}

impl AttemptText {
    /// Whether the piece goes on with this text.
    fn is_of(&self, piece: &LivePiece<'_>) -> bool {
        (self.turn, self.attempt) == (piece.turn, piece.attempt) && self.run == *piece.run
    }
}

impl Spoken {
    /// What is not due stays, in its order.
    fn take(&self, is_due: impl Fn(&AttemptText) -> bool) -> Vec<AttemptText> {
        let mut pending = self.lock();
        let (due, kept): (Vec<_>, Vec<_>) = pending.pieces.drain(..).partition(|it| is_due(it));
        pending.bytes = kept.iter().map(|piece| piece.text.len()).sum();
        pending.pieces = kept.into();
        due
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        // A panic elsewhere loses at most a piece.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints the entries of a run as lines of JSON, and between them what is said.
/// Without live pieces it is a printer of entries and nothing else.
#[derive(Default)]
pub(crate) struct JsonLines {
    spoken: Option<Arc<Spoken>>,
    /// The turn and attempt of the last request whose entry was printed.
    asked: (u32, u32),
}

impl JsonLines {
    pub(crate) fn with_live() -> Self {
        Self {
            spoken: Some(Arc::default()),
            ..Self::default()
        }
    }

    pub(crate) fn spoken(&self) -> Option<&Arc<Spoken>> {
        self.spoken.as_ref()
    }

    /// Resolves when something was said since this resolved last.
    pub(crate) async fn news(&self) {
        match &self.spoken {
            Some(spoken) => spoken.news.notified().await,
            None => std::future::pending().await,
        }
    }

    /// What was said before the entry comes before it.
    pub(crate) fn show(&mut self, entry: &Entry) {
        self.speak(&entry.run);
        output::stdout(&json::entry(entry));
        if let Event::AttemptStarted { attempt, .. } = entry.event {
            self.asked = (entry.turn, attempt);
        }
    }

    /// Prints what was said. A piece comes after the entry of its attempt and before the next one; agents that
    /// the run calls have no entries here.
    pub(crate) fn speak(&self, run: &RunId) {
        let Some(spoken) = &self.spoken else { return };
        let is_due =
            |piece: &AttemptText| piece.run != *run || (piece.turn, piece.attempt) <= self.asked;
        for piece in spoken.take(is_due) {
            let live = LivePiece {
                run: &piece.run,
                turn: piece.turn,
                attempt: piece.attempt,
                text: &piece.text,
            };
            output::stdout(&json::live(&live));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(spoken: &Spoken, attempt: u32, text: &str) {
        let run = RunId::new("run").expect("a good id");
        spoken.tell(&LivePiece {
            run: &run,
            turn: 1,
            attempt,
            text,
        });
    }

    fn taken(spoken: &Spoken, is_due: impl Fn(&AttemptText) -> bool) -> Vec<String> {
        let pieces = spoken.take(is_due).into_iter();
        pieces.map(|piece| piece.text).collect()
    }

    #[test]
    fn pieces_of_one_attempt_are_put_together_and_each_is_taken_once() {
        let spoken = Spoken::default();
        for (attempt, text) in [(1, "a"), (1, "b"), (2, "c"), (2, "d")] {
            tell(&spoken, attempt, text);
        }
        assert_eq!(taken(&spoken, |piece| piece.attempt == 1), ["ab"]);
        assert_eq!(taken(&spoken, |piece| piece.attempt == 1), [""; 0]);
        assert_eq!(taken(&spoken, |_| true), ["cd"]);
    }

    #[test]
    fn what_nobody_takes_is_kept_up_to_a_bound_and_there_is_room_again_afterwards() {
        let spoken = Spoken::default();
        let piece = "x".repeat(1000);
        (0..5_000).for_each(|_| tell(&spoken, 1, &piece));
        let kept = taken(&spoken, |_| true).concat();
        assert_eq!(kept.len(), PENDING_BYTES_MAX / 1000 * 1000);
        tell(&spoken, 1, "again");
        assert_eq!(taken(&spoken, |_| true), ["again"]);
    }
}
