//! What a model is writing just now, on its way to the editor.
//!
//! Nothing of it is durable. The driver of the run puts it here and waits for nobody; the session takes it from here when
//! the editor reads. What finds no room is left out: the log has all of it once the reply is accepted, and what the editor
//! lacks is sent then.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bonded_host::{LivePiece, LiveSink};
use bonded_kernel::RunId;
use tokio::sync::Notify;

/// How much may wait for an editor that does not read.
const WAITING_BYTES_MAX: usize = 256 * 1024;

/// A reply that is being written: the turn and the attempt.
pub(super) type ReplyPlace = (u32, u32);

/// Text that came since it was taken last, by reply.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    run: Option<RunId>,
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    pieces: Vec<(ReplyPlace, String)>,
    bytes: usize,
    /// The reply of which a piece found no room: nothing that follows it may be shown without it.
    cut: Option<ReplyPlace>,
}

impl Spoken {
    /// Of this run alone: what agents say that it calls is part of their answer to it.
    pub(super) fn of(run: RunId) -> Self {
        Self {
            run: Some(run),
            ..Self::default()
        }
    }

    /// Resolves when there is something to take.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// What came since, in its order.
    pub(super) fn take(&self) -> Vec<(ReplyPlace, String)> {
        let mut waiting = self.waiting();
        waiting.bytes = 0;
        std::mem::take(&mut waiting.pieces)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveSink for Spoken {
    fn tell(&self, piece: &LivePiece<'_>) {
        if self.run.as_ref() != Some(piece.run) {
            return;
        }
        let place = (piece.turn, piece.attempt);
        let mut waiting = self.waiting();
        if waiting.cut == Some(place) {
            return;
        }
        if waiting.bytes + piece.text.len() > WAITING_BYTES_MAX {
            waiting.cut = Some(place);
            return;
        }
        waiting.bytes += piece.text.len();
        match waiting.pieces.last_mut() {
            Some((last, text)) if *last == place => text.push_str(piece.text),
            _ => waiting.pieces.push((place, piece.text.to_owned())),
        }
        drop(waiting);
        self.news.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(spoken: &Spoken, run: &RunId, attempt: u32, text: &str) {
        spoken.tell(&LivePiece {
            run,
            turn: 1,
            attempt,
            text,
        });
    }

    #[test]
    fn what_finds_no_room_leaves_no_hole() {
        let run = RunId::new("a").expect("an id");
        let spoken = Spoken::of(run.clone());
        tell(&spoken, &run, 1, "one ");
        tell(&spoken, &run, 1, &"x".repeat(WAITING_BYTES_MAX));
        tell(&spoken, &run, 1, "after the hole");
        tell(&spoken, &run, 2, "again");
        let taken = spoken.take();
        assert_eq!(
            taken,
            [((1, 1), "one ".to_owned()), ((1, 2), "again".to_owned())]
        );
        tell(&spoken, &run, 1, "still after it");
        assert_eq!(spoken.take(), []);
    }

    #[test]
    fn other_runs_are_not_heard() {
        let (run, other) = (
            RunId::new("a").expect("an id"),
            RunId::new("b").expect("an id"),
        );
        let spoken = Spoken::of(run);
        tell(&spoken, &other, 1, "of an agent that was called");
        assert_eq!(spoken.take(), []);
    }
}
